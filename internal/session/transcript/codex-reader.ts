import { open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codexObserved } from './codex-observed.ts';
import { entriesOf, modifiedAt, resolved } from './files.ts';
import { observedSince } from './lines-since.ts';
import type { ObservedChunk, ObservedEntry, TranscriptCursor } from './observed.ts';
import type {
  Transcript,
  TranscriptEntry,
  TranscriptPart,
  TranscriptPlace,
  TranscriptReader,
  TranscriptReadOptions,
} from './transcript-reader.ts';

const SUFFIX = '.jsonl';
const HEAD_BYTES = 262_144;
/** Files that are looked into for a work dir, newest days first. */
const FILES_LOOKED_INTO = 200;
const CONVERSATION = /([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/;

/** Codex's rollouts. Roots are folders like `~/.codex/sessions`, in which each day has its own. */
export class CodexTranscriptReader implements TranscriptReader {
  readonly family = 'codex';
  readonly #roots: readonly string[];
  /** Of files that were looked into; it never changes. */
  readonly #heads = new Map<string, Head>();

  constructor(roots: readonly string[]) {
    this.#roots = roots;
  }

  async locate(place: TranscriptPlace): Promise<string | undefined> {
    const files = await this.#newestDaysFirst();
    for (const key of place.keys) {
      const file = files.find((candidate) => candidate.endsWith(`-${key}${SUFFIX}`));
      if (file) return file;
    }
    if (place.keys.length > 0 || !place.aloneInWorkDir) return undefined;
    const dirs = new Set([place.workDir, await resolved(place.workDir)]);
    let newest: { readonly file: string; readonly at: number } | undefined;
    for (const file of files.slice(0, FILES_LOOKED_INTO)) {
      const at = (await modifiedAt(file)) ?? 0;
      if (at < (place.since ?? 0) || (newest && at <= newest.at)) continue;
      const head = await this.#headOf(file);
      if (head && dirs.has(head.workDir) && head.beganAt >= (place.since ?? 0)) newest = { file, at };
    }
    return newest?.file;
  }

  /** A rollout is one segment: it has no marks at which it could be cut. */
  async read(file: string, _options: TranscriptReadOptions): Promise<Transcript> {
    const entries: TranscriptEntry[] = [];
    let compactions = 0;
    let cursor: TranscriptCursor | undefined;
    for (;;) {
      const chunk = await this.observe(file, cursor);
      for (const { entry, at } of chunk?.entries ?? []) {
        const shown = shownEntry(entry, at);
        if (shown) entries.push(shown);
        if (entry.kind === 'compacted') compactions += 1;
      }
      cursor = chunk?.cursor;
      if (!chunk?.more) break;
    }
    const totalEntries = entries.length;
    return { file, entries, hasOlder: false, totalEntries, compactions, hasBranches: false, badLines: 0 };
  }

  conversationOf(file: string): string {
    const stem = basename(file, SUFFIX);
    return CONVERSATION.exec(stem)?.[1] ?? stem;
  }

  observe(file: string, since: TranscriptCursor | undefined): Promise<ObservedChunk | undefined> {
    const conversation = this.conversationOf(file);
    return observedSince(file, since, (line, offset) => codexObserved(line, conversation, offset));
  }

  async #newestDaysFirst(): Promise<readonly string[]> {
    const files: string[] = [];
    for (const root of this.#roots) {
      for (const year of await newestFirst(root)) {
        for (const month of await newestFirst(join(root, year))) {
          for (const day of await newestFirst(join(root, year, month))) {
            const folder = join(root, year, month, day);
            const names = (await newestFirst(folder)).filter((name) => name.endsWith(SUFFIX));
            files.push(...names.map((name) => join(folder, name)));
          }
        }
      }
    }
    return files;
  }

  /** `undefined` while its first line is not whole. */
  async #headOf(file: string): Promise<Head | undefined> {
    const known = this.#heads.get(file);
    if (known) return known;
    const found = await readHead(file);
    if (found) this.#heads.set(file, found);
    return found;
  }
}

/** What the first line says. */
interface Head {
  readonly workDir: string;
  /** Milliseconds since the epoch. */
  readonly beganAt: number;
}

async function newestFirst(folder: string): Promise<readonly string[]> {
  return [...(await entriesOf(folder))].sort().reverse();
}

async function readHead(file: string): Promise<Head | undefined> {
  const handle = await open(file, 'r');
  try {
    const buffer = Buffer.alloc(HEAD_BYTES);
    const { bytesRead } = await handle.read(buffer, 0, HEAD_BYTES, 0);
    const text = buffer.subarray(0, bytesRead).toString('utf8');
    const line: unknown = JSON.parse(text.slice(0, text.indexOf('\n')));
    if (typeof line !== 'object' || line === null || !('payload' in line)) return undefined;
    const { payload } = line;
    if (typeof payload !== 'object' || payload === null || !('cwd' in payload)) return undefined;
    const began = 'timestamp' in payload ? Date.parse(String(payload.timestamp)) : 0;
    const workDir = typeof payload.cwd === 'string' ? payload.cwd : '';
    return { workDir, beganAt: Number.isNaN(began) ? 0 : began };
  } catch {
    return undefined; // not a rollout, or not yet
  } finally {
    await handle.close();
  }
}

const TYPES = {
  prompt: 'user',
  'tool-result': 'user',
  answer: 'assistant',
  'tool-call': 'assistant',
  failure: 'system',
  compacted: 'system',
} as const;

type ShownEntry = Extract<ObservedEntry, { kind: keyof typeof TYPES }>;

const isShown = (entry: ObservedEntry): entry is ShownEntry => Object.hasOwn(TYPES, entry.kind);

function shownEntry(entry: ObservedEntry, at: number): TranscriptEntry | undefined {
  if (!isShown(entry)) return undefined;
  return {
    id: entry.id,
    type: TYPES[entry.kind],
    at: at === 0 ? '' : new Date(at).toISOString(),
    compactBoundary: entry.kind === 'compacted',
    parts: entry.kind === 'compacted' ? [] : [shownPart(entry)],
  };
}

function shownPart(entry: Exclude<ShownEntry, { kind: 'compacted' }>): TranscriptPart {
  switch (entry.kind) {
    case 'tool-call':
      return { kind: 'tool-use', id: entry.callId, name: entry.name, input: entry.input };
    case 'tool-result':
      return { kind: 'tool-result', id: entry.callId, error: entry.error, text: entry.text };
    case 'prompt':
    case 'answer':
    case 'failure':
      return { kind: 'text', text: entry.text };
  }
}
