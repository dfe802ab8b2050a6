import { open } from 'node:fs/promises';
import { modifiedAt, resolved } from './files.ts';
import type { ToObserved } from './lines-since.ts';
import type { TranscriptPlace } from './transcript-reader.ts';
import { parseJson } from './values.ts';

/** What the beginning of a file says of its conversation. */
export interface Head {
  /** The folder that the program worked in; `''`: the file does not say. */
  readonly workDir: string;
  /** Milliseconds since the epoch; 0: the file does not say. */
  readonly beganAt: number;
}

/** Files that are looked into for a work dir, those that probably are the newest first. */
const FILES_LOOKED_INTO = 200;
const HEAD_BYTES = 262_144;

export interface HeadReader {
  /** `undefined`: not a conversation, or not yet. */
  head(file: string): Promise<Head | undefined>;
  /** What was said to the agent first; `undefined`: nothing yet. */
  firstPrompt(file: string): Promise<string | undefined>;
}

/**
 * The conversation of a session that has no key: the newest one that began in its folder since the session was started.
 * Where others use the same program in the same folder, only its first prompt proves whose it is.
 */
export async function newestConversation(
  place: TranscriptPlace,
  files: readonly string[],
  reader: HeadReader,
): Promise<string | undefined> {
  const { beacon = '', aloneInWorkDir, since = 0 } = place;
  if (!aloneInWorkDir && beacon === '') return undefined;
  const dirs = new Set([place.workDir, await resolved(place.workDir)]);
  const found: { readonly file: string; readonly at: number }[] = [];
  for (const file of files.slice(0, FILES_LOOKED_INTO)) {
    const at = (await modifiedAt(file)) ?? 0;
    if (at < since) continue;
    const head = await reader.head(file);
    if (head && dirs.has(head.workDir) && head.beganAt >= since) found.push({ file, at });
  }
  found.sort((a, b) => b.at - a.at);
  if (aloneInWorkDir) return found[0]?.file;
  for (const { file } of found) {
    if ((await reader.firstPrompt(file))?.trimStart().startsWith(beacon)) return file;
  }
  return undefined;
}

/** The whole lines among the first bytes of a file of JSON lines; what is damaged is left out. */
export async function firstLines(file: string, bytes = HEAD_BYTES): Promise<readonly unknown[]> {
  const handle = await open(file, 'r').catch(() => undefined); // gone meanwhile, or not ours to read
  if (!handle) return [];
  try {
    const buffer = Buffer.alloc(bytes);
    const { bytesRead } = await handle.read(buffer, 0, bytes, 0);
    const text = buffer.subarray(0, bytesRead).toString('utf8');
    return text
      .split('\n')
      .slice(0, -1)
      .map(parseJson)
      .filter((line) => line !== undefined);
  } finally {
    await handle.close();
  }
}

/** The first prompt among the first lines of a file. */
export async function firstPromptOf(file: string, toObserved: ToObserved): Promise<string | undefined> {
  for (const line of await firstLines(file)) {
    const prompt = toObserved(line, 0).entries.find((entry) => entry.kind === 'prompt');
    if (prompt?.kind === 'prompt') return prompt.text;
  }
  return undefined;
}

/** Heads never change: each file is looked into once. */
export class KnownHeads {
  readonly #known = new Map<string, Head>();
  readonly #read: (file: string) => Promise<Head | undefined>;

  constructor(read: (file: string) => Promise<Head | undefined>) {
    this.#read = read;
  }

  async of(file: string): Promise<Head | undefined> {
    const known = this.#known.get(file);
    if (known) return known;
    const head = await this.#read(file);
    if (head) this.#known.set(file, head);
    return head;
  }
}
