import { type FileHandle, open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isShown, toClaudeEntry } from './claude-entry.ts';
import { type ClaudeNode, currentChain, toNode } from './claude-index.ts';
import { claudeObserved } from './claude-observed.ts';
import { entriesOf, isFile, isSafeKey, modifiedAt, resolved } from './files.ts';
import { readJsonl, readLineAt } from './jsonl-lines.ts';
import { observedSince } from './lines-since.ts';
import type { ObservedChunk, TranscriptCursor } from './observed.ts';
import { tailOf } from './shown.ts';
import { tailEntries, unreadable } from './tail-entries.ts';
import type {
  Transcript,
  TranscriptEntry,
  TranscriptPlace,
  TranscriptReader,
  TranscriptReadOptions,
  TranscriptTail,
} from './transcript-reader.ts';

/** What Claude Code calls the last conversation of a folder where it keeps only that one. */
const LATEST = 'latest-session.jsonl';
const SUFFIX = '.jsonl';

/** Claude Code's transcripts. Roots are folders like `~/.claude/projects`, looked through in order. */
export class ClaudeTranscriptReader implements TranscriptReader {
  readonly family = 'claude';
  readonly #roots: readonly string[];

  constructor(roots: readonly string[]) {
    this.#roots = roots;
  }

  async locate(place: TranscriptPlace): Promise<string | undefined> {
    const folders = await this.#projectFolders(place.workDir);
    const keys = place.keys.filter(isSafeKey);
    for (const key of keys) {
      for (const folder of folders) {
        const file = join(folder, key + SUFFIX);
        if (await isFile(file)) return file;
      }
      const elsewhere = await this.#findKey(key);
      if (elsewhere) return elsewhere;
    }
    for (const folder of folders) {
      const latest = join(folder, LATEST);
      if (keys.length > 0 && (await isFile(latest))) return latest;
    }
    return place.aloneInWorkDir && keys.length === 0 ? newestIn(folders, place.since ?? 0) : undefined;
  }

  conversationOf(file: string): string {
    return basename(file, SUFFIX);
  }

  observe(file: string, since: TranscriptCursor | undefined): Promise<ObservedChunk | undefined> {
    return observedSince(file, since, claudeObserved);
  }

  async tail(file: string): Promise<TranscriptTail | undefined> {
    const entries = await tailEntries(file, claudeObserved);
    return entries && { entries };
  }

  async read(file: string, options: TranscriptReadOptions): Promise<Transcript> {
    let handle: FileHandle | undefined;
    try {
      handle = await open(file, 'r');
      return await readFrom(handle, file, options);
    } catch (error) {
      throw unreadable(file, error);
    } finally {
      await handle?.close();
    }
  }

  /** Every folder name that some version of the program gives to this work dir. */
  async #projectFolders(workDir: string): Promise<readonly string[]> {
    const dirs = new Set([workDir, await resolved(workDir)]);
    const slugs = new Set([...dirs].flatMap(projectSlugs));
    return this.#roots.flatMap((root) => [...slugs].map((slug) => join(root, slug)));
  }

  /** The agent may have been started in another folder than the record says: keys are unique, so any folder will do. */
  async #findKey(key: string): Promise<string | undefined> {
    for (const root of this.#roots) {
      for (const folder of await entriesOf(root)) {
        const file = join(root, folder, key + SUFFIX);
        if (await isFile(file)) return file;
      }
    }
    return undefined;
  }
}

/** Claude Code's folder names for a work dir: `/` and `.` become `-`; newer versions turn every other sign into one too. */
export function projectSlugs(workDir: string): readonly string[] {
  return [workDir.replace(/[/.]/g, '-'), workDir.replace(/[^A-Za-z0-9]/g, '-')];
}

async function readFrom(
  handle: FileHandle,
  file: string,
  options: TranscriptReadOptions,
): Promise<Transcript> {
  const nodes: ClaudeNode[] = [];
  let badLines = 0;
  for await (const line of readJsonl(handle)) {
    if (line.kind === 'bad') {
      badLines += 1;
      continue;
    }
    const node = toNode(line.value, line.offset, line.length);
    if (node) nodes.push(node);
  }
  const chain = currentChain(nodes);
  const shown = chain.nodes.filter(isShown);
  const wanted = tailOf(shown, options.tail);
  const entries: TranscriptEntry[] = [];
  for (const node of wanted) {
    const entry = toClaudeEntry(node, await readLineAt(handle, node.offset, node.length));
    if (entry) entries.push(entry);
  }
  return {
    file,
    entries,
    hasOlder: wanted.length < shown.length,
    totalEntries: shown.length,
    compactions: shown.filter((node) => node.compactBoundary).length,
    hasBranches: chain.hasBranches,
    badLines,
  };
}

async function newestIn(folders: readonly string[], since: number): Promise<string | undefined> {
  let newest: { readonly file: string; readonly at: number } | undefined;
  for (const folder of folders) {
    for (const name of await entriesOf(folder)) {
      if (!name.endsWith(SUFFIX)) continue;
      const file = join(folder, name);
      const at = await modifiedAt(file);
      if (at !== undefined && at >= since && (!newest || at > newest.at)) newest = { file, at };
    }
  }
  return newest?.file;
}
