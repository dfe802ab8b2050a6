import { realpathSync } from 'node:fs';
import { type Lock, readLock } from '../remote/lock-file.ts';
import { resolveNamedPack, resolveSource, type SourceContext } from '../remote/resolve-source.ts';
import type { RawPackSource } from '../schema/schema-import.ts';
import type { Entry } from './entry.ts';
import type { LocatedPack, PackRequest } from './expand-pack.ts';
import type { Guard } from './guard.ts';
import type { ReadLog } from './pack-shelf.ts';

export interface LocatorOptions {
  readonly root: string;
  readonly home: string;
  readonly packSources: ReadonlyMap<string, Entry<RawPackSource>>;
  /** Learns which folders belong to packs. */
  readonly guard: Guard;
  /** The repository that a pack's folder is in, by folder; a pack of the user's own folders has none. */
  readonly repositories: Map<string, string>;
  readonly log: ReadLog;
}

/** Finds the folders of packs for one load, with one reading of the lock files. */
export class PackLocator {
  readonly #options: LocatorOptions;
  /** The path that a folder was found by first: one folder is one pack, whatever links lead to it. */
  readonly #found = new Map<string, string>();
  #lock: Promise<Lock> | undefined;

  constructor(options: LocatorOptions) {
    this.#options = options;
  }

  async locate({ source, version, baseDir }: PackRequest): Promise<LocatedPack> {
    const { root, home, packSources, guard, repositories } = this.#options;
    this.#lock ??= this.#readLock();
    const context: SourceContext = {
      cityRoot: root,
      home,
      baseDir,
      lock: await this.#lock,
      version,
      root: repositories.get(baseDir),
    };
    const named = packSources.get(source);
    const found = named
      ? await resolveNamedPack(source, named.value, context)
      : await resolveSource(source, context);
    if (found.kind === 'missing') return found;
    const real = realpathSync.native(found.dir);
    const dir = this.#found.get(real) ?? found.dir;
    this.#found.set(real, dir);
    const repository = found.root ?? repositories.get(dir);
    if (repository !== undefined) repositories.set(dir, repository);
    guard.allow(repository ?? dir);
    return { kind: 'dir', dir };
  }

  /** Another pin is another city: the lock files count as read. */
  async #readLock(): Promise<Lock> {
    const { root, log } = this.#options;
    const lock = await readLock(root);
    for (const { file } of [lock.packs, lock.named])
      if (log.look.kind(file) === 'file') log.sources.add(file);
    return lock;
  }
}
