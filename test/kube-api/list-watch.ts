import { randomUUID } from 'node:crypto';
import type { ResponseStream } from './open-streams.ts';
import type { ApiRequest } from './request.ts';
import { type Matches, selectorOf } from './selectors.ts';
import type { KubeObject } from './shapes.ts';
import { badRequest, expired, StatusError } from './status-error.ts';
import type { Collection, EventType, StoreEvent } from './store.ts';

export interface Kind {
  readonly apiVersion: string;
  readonly kind: string;
}

const SECOND_MS = 1_000;
const MAX_SNAPSHOTS = 20;
/** What is left of lists that are read page by page. */
const snapshots = new Map<string, { readonly version: number; readonly rest: readonly KubeObject[] }>();

/** @throws StatusError 400, 410, 504 */
export function listOf<T extends KubeObject>(
  collection: Collection<T>,
  request: ApiRequest,
  kind: Kind,
): object {
  const { query } = request;
  const limit = Number(query.get('limit') ?? 0);
  const token = query.get('continue') ?? '';
  const wanted = versionOf(query);
  if (wanted !== undefined && wanted > collection.version) {
    throw new StatusError(
      504,
      'Timeout',
      `Too large resource version: ${wanted}, current: ${collection.version}`,
      {
        retryAfterSeconds: 1,
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      },
    );
  }
  const page = token === '' ? firstPage(collection, request) : nextPage(collection, token);
  const items = limit > 0 ? page.objects.slice(0, limit) : page.objects;
  const rest = page.objects.slice(items.length);
  const metadata: Record<string, unknown> = { resourceVersion: String(page.version) };
  if (rest.length > 0) {
    const id = randomUUID();
    snapshots.set(id, { version: page.version, rest });
    for (const old of [...snapshots.keys()].slice(0, -MAX_SNAPSHOTS)) snapshots.delete(old);
    metadata['continue'] = id;
    metadata['remainingItemCount'] = rest.length;
  }
  return {
    kind: `${kind.kind}List`,
    apiVersion: kind.apiVersion,
    metadata,
    items: items.map(({ kind: _kind, apiVersion: _version, ...object }) => object),
  };
}

interface Page {
  readonly version: number;
  readonly objects: readonly KubeObject[];
}

function firstPage<T extends KubeObject>(collection: Collection<T>, request: ApiRequest): Page {
  const matches = selectorOf(request.query);
  return { version: collection.version, objects: collection.list(request.namespace).filter(matches) };
}

function nextPage<T extends KubeObject>(collection: Collection<T>, token: string): Page {
  const snapshot = snapshots.get(token);
  if (!snapshot)
    throw new StatusError(
      410,
      'Expired',
      'The provided continue parameter is too old to display a consistent list result.',
    );
  collection.since(snapshot.version);
  return { version: snapshot.version, objects: snapshot.rest };
}

function versionOf(query: URLSearchParams): number | undefined {
  const text = query.get('resourceVersion') ?? '';
  if (text === '') return undefined;
  if (!/^\d+$/.test(text)) throw badRequest(`resourceVersion: Invalid value: "${text}": must be a number`);
  return Number(text);
}

/** Serves a watch until it times out or the client goes. @throws StatusError 400 before anything was sent */
export function serveWatch<T extends KubeObject>(
  collection: Collection<T>,
  request: ApiRequest,
  stream: ResponseStream,
  kind: Kind,
  bookmarkMs: number,
): void {
  const { query, namespace } = request;
  const matches = selectorOf(query);
  const from = versionOf(query);
  const withInitial = query.get('sendInitialEvents') === 'true';
  const bookmarks = query.get('allowWatchBookmarks') === 'true';
  const send = (line: string) => stream.write(`${line}\n`);
  const bookmark = (annotations?: Record<string, string>) => {
    const metadata = { resourceVersion: String(collection.version), creationTimestamp: null };
    const object = { ...kind, metadata: { ...metadata, ...(annotations ? { annotations } : {}) } };
    send(JSON.stringify({ type: 'BOOKMARK', object }));
  };
  const tell = (event: StoreEvent<T>) => {
    if (namespace !== undefined && event.object.metadata.namespace !== namespace) return;
    const type = typeFor(event, matches);
    if (type) send(lineOf(event, type));
  };
  stream.open('application/json');
  if (from === undefined || from === 0 || withInitial) {
    const all = collection.list(namespace).filter(matches);
    for (const object of all) send(JSON.stringify({ type: 'ADDED', object }));
    if (withInitial) bookmark({ 'k8s.io/initial-events-end': 'true' });
  } else {
    const missed = missedSince(collection, from);
    if (missed instanceof StatusError) {
      endWithError(stream, missed);
      return;
    }
    for (const event of missed) tell(event);
  }
  stream.onClose(collection.onEvent(tell));
  if (bookmarks) {
    const timer = setInterval(bookmark, bookmarkMs);
    stream.onClose(() => clearInterval(timer));
  }
  const seconds = Number(query.get('timeoutSeconds') ?? 0);
  if (seconds <= 0) return;
  const timer = setTimeout(() => {
    if (bookmarks) bookmark();
    stream.end();
  }, seconds * SECOND_MS);
  stream.onClose(() => clearTimeout(timer));
}

/** A real server opens the watch and says this in it. */
function missedSince<T extends KubeObject>(
  collection: Collection<T>,
  from: number,
): readonly StoreEvent<T>[] | StatusError {
  try {
    return collection.since(from);
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
}

/** The end of an open watch with a reason, as an event. */
export function endWithError(stream: ResponseStream, error: StatusError): void {
  stream.write(`${JSON.stringify({ type: 'ERROR', object: error.body() })}\n`);
  stream.end();
}

export const goneNow = (): StatusError => expired(1, 2);

/** What an event is to a watch with a selector; `undefined` for nothing. */
function typeFor<T extends KubeObject>(event: StoreEvent<T>, matches: Matches): EventType | undefined {
  const now = event.type !== 'DELETED' && matches(event.object);
  const before = event.before !== undefined && matches(event.before);
  if (now && before) return 'MODIFIED';
  if (now) return 'ADDED';
  return before ? 'DELETED' : undefined;
}

/** All watches send the same text: it is made once. */
const lines = new WeakMap<object, Map<EventType, string>>();
function lineOf<T extends KubeObject>(event: StoreEvent<T>, type: EventType): string {
  const known = lines.get(event) ?? new Map<EventType, string>();
  lines.set(event, known);
  const line = known.get(type) ?? JSON.stringify({ type, object: event.object });
  known.set(type, line);
  return line;
}
