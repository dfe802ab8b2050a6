import { randomUUID } from 'node:crypto';
import { type KubeObject, timestamp } from './shapes.ts';
import { alreadyExists, conflict, expired, notFound, STALE } from './status-error.ts';

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

export interface StoreEvent<T extends KubeObject> {
  readonly type: EventType;
  readonly version: number;
  readonly object: T;
  /** What it was before, to tell whether it left a selector. */
  readonly before: T | undefined;
}

/** One counter for all kinds, as etcd's revision is. */
export class Versions {
  #last = 1;
  get last(): number {
    return this.#last;
  }
  next(): number {
    this.#last += 1;
    return this.#last;
  }
}

export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** The objects of one kind. Every object in it is frozen in meaning: a change makes a new one. */
export class Collection<T extends KubeObject> {
  readonly resource: string;
  readonly group: string;
  readonly #versions: Versions;
  readonly #window: () => number;
  readonly #objects = new Map<string, T>();
  readonly #listeners = new Set<(event: StoreEvent<T>) => void>();
  #history: StoreEvent<T>[] = [];
  /** The oldest version from which a watch can still be told everything. */
  #oldest: number;

  constructor(resource: string, group: string, versions: Versions, window: () => number) {
    this.resource = resource;
    this.group = group;
    this.#versions = versions;
    this.#window = window;
    this.#oldest = versions.last;
  }

  get version(): number {
    return this.#versions.last;
  }

  find(namespace: string, name: string): T | undefined {
    return this.#objects.get(`${namespace}/${name}`);
  }

  /** In whatever namespace. */
  findByName(name: string): T | undefined {
    for (const object of this.#objects.values()) if (object.metadata.name === name) return object;
    return undefined;
  }

  /** @throws StatusError 404 */
  get(namespace: string, name: string): T {
    const object = this.find(namespace, name);
    if (!object) throw notFound(this.resource, this.group, name);
    return object;
  }

  /** In the order of their names. */
  list(namespace: string | undefined): T[] {
    const all = [...this.#objects.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
    return namespace === undefined ? all : all.filter((object) => object.metadata.namespace === namespace);
  }

  /** @throws StatusError 409 */
  create(object: T): T {
    const { namespace, name } = object.metadata;
    if (this.find(namespace, name)) throw alreadyExists(this.resource, this.group, name);
    const created = {
      ...object,
      metadata: { ...object.metadata, uid: randomUUID(), creationTimestamp: timestamp() },
    };
    return this.#commit('ADDED', created, undefined);
  }

  /** A change that alters nothing makes no new version. @throws StatusError 404, 409 */
  update(namespace: string, name: string, change: (current: T) => T, preconditions: Preconditions = {}): T {
    const current = this.get(namespace, name);
    this.check(current, preconditions);
    const { uid, creationTimestamp, resourceVersion } = current.metadata;
    const changed = change(current);
    const next = { ...changed, metadata: { ...changed.metadata, name, namespace, uid, creationTimestamp } };
    const same = { ...next, metadata: { ...next.metadata, resourceVersion } };
    if (JSON.stringify(same) === JSON.stringify(current)) return current;
    return this.#commit('MODIFIED', next, current);
  }

  /** @throws StatusError 404, 409 */
  remove(namespace: string, name: string, preconditions: Preconditions = {}): T {
    const current = this.get(namespace, name);
    this.check(current, preconditions);
    return this.#commit('DELETED', current, current);
  }

  check(current: T, preconditions: Preconditions): void {
    const { name, uid, resourceVersion } = current.metadata;
    const { uid: wantedUid, resourceVersion: wanted } = preconditions;
    if (wantedUid !== undefined && wantedUid !== uid) {
      const why = `Precondition failed: UID in precondition: ${wantedUid}, UID in object meta: ${uid}`;
      throw conflict(this.resource, this.group, name, why);
    }
    if (wanted !== undefined && wanted !== '' && wanted !== resourceVersion) {
      throw conflict(this.resource, this.group, name, STALE);
    }
  }

  /** What happened after a version. @throws StatusError 410 */
  since(version: number): readonly StoreEvent<T>[] {
    if (version < this.#oldest) throw expired(version, this.#oldest);
    return this.#history.filter((event) => event.version > version);
  }

  /** Forgets what happened so far, as a compaction does: a watch from an older version is told 410. */
  compact(): void {
    this.#history = [];
    this.#oldest = this.#versions.last;
  }

  onEvent(listener: (event: StoreEvent<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #commit(type: EventType, object: T, before: T | undefined): T {
    const version = this.#versions.next();
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    const key = `${object.metadata.namespace}/${object.metadata.name}`;
    if (type === 'DELETED') this.#objects.delete(key);
    else this.#objects.set(key, stored);
    const event = { type, version, object: stored, before };
    this.#history.push(event);
    const excess = this.#history.length - this.#window();
    if (excess > 0) {
      const dropped = this.#history.splice(0, excess);
      this.#oldest = dropped.at(-1)?.version ?? this.#oldest;
    }
    for (const listener of [...this.#listeners]) listener(event);
    return stored;
  }
}
