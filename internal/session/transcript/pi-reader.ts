import { type FileHandle, open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fieldsOf } from '../../platform/fields.ts';
import { entriesOf, isFile, isSafeKey, resolved } from './files.ts';
import { readJsonl } from './jsonl-lines.ts';
import { observedSince } from './lines-since.ts';
import {
  firstLines,
  firstPromptOf,
  type Head,
  KnownHeads,
  newestConversation,
} from './newest-conversation.ts';
import type { ObservedChunk, PlacedEntry, TranscriptCursor } from './observed.ts';
import { piObserved } from './pi-observed.ts';
import { shownEntries, transcriptOf } from './shown.ts';
import { tailEntries, unreadable } from './tail-entries.ts';
import type {
  Transcript,
  TranscriptPlace,
  TranscriptReader,
  TranscriptReadOptions,
  TranscriptTail,
} from './transcript-reader.ts';
import { textOf, timeOf } from './values.ts';

const SUFFIX = '.jsonl';
const CONVERSATION = /_([^_]+)$/;

/** pi's sessions. Roots are folders like `~/.pi/agent/sessions`, in which each work dir has its own. */
export class PiTranscriptReader implements TranscriptReader {
  readonly family = 'pi';
  readonly #roots: readonly string[];
  readonly #heads = new KnownHeads(readHead);

  constructor(roots: readonly string[]) {
    this.#roots = roots;
  }

  async locate(place: TranscriptPlace): Promise<string | undefined> {
    const dirs = [...new Set([place.workDir, await resolved(place.workDir)])];
    // A session folder that a person chose has no folders for work dirs.
    const folders = this.#roots.flatMap((root) => [...dirs.map((dir) => join(root, piSlug(dir))), root]);
    const files = (await Promise.all(folders.map(conversationsIn))).flat();
    for (const key of place.keys.filter(isOwnKey)) {
      const file = files.find((each) => each.endsWith(`_${key}${SUFFIX}`)) ?? (await this.#elsewhere(key));
      if (file !== undefined) return file;
    }
    if (place.keys.length > 0) return undefined;
    return newestConversation(place, files, {
      head: (file) => this.#heads.of(file),
      firstPrompt: (file) => firstPromptOf(file, (line, offset) => piObserved(line, '', offset)),
    });
  }

  conversationOf(file: string): string {
    const stem = basename(file, SUFFIX);
    return CONVERSATION.exec(stem)?.[1] ?? stem;
  }

  observe(file: string, since: TranscriptCursor | undefined): Promise<ObservedChunk | undefined> {
    const conversation = this.conversationOf(file);
    return observedSince(file, since, (line, offset) => piObserved(line, conversation, offset));
  }

  async tail(file: string): Promise<TranscriptTail | undefined> {
    const conversation = this.conversationOf(file);
    const entries = await tailEntries(file, (line, offset) => piObserved(line, conversation, offset));
    return entries && { entries };
  }

  async read(file: string, options: TranscriptReadOptions): Promise<Transcript> {
    let handle: FileHandle | undefined;
    try {
      handle = await open(file, 'r');
      return await this.#readFrom(handle, file, options);
    } catch (error) {
      throw unreadable(file, error);
    } finally {
      await handle?.close();
    }
  }

  async #readFrom(handle: FileHandle, file: string, options: TranscriptReadOptions): Promise<Transcript> {
    const conversation = this.conversationOf(file);
    const nodes: Node[] = [];
    let badLines = 0;
    for await (const line of readJsonl(handle)) {
      if (line.kind === 'bad') badLines += 1;
      else nodes.push(nodeOf(line.value, conversation, line.offset));
    }
    const { branch, hasBranches } = currentBranch(nodes);
    const all = shownEntries(branch.flatMap(({ placed }) => placed));
    return transcriptOf(file, all, { tail: options.tail, hasBranches, badLines });
  }

  async #elsewhere(key: string): Promise<string | undefined> {
    for (const root of this.#roots) {
      for (const folder of await entriesOf(root)) {
        const found = (await conversationsIn(join(root, folder))).find((f) => f.endsWith(`_${key}${SUFFIX}`));
        if (found !== undefined && (await isFile(found))) return found;
      }
    }
    return undefined;
  }
}

/** pi's folder name for a work dir. */
function piSlug(workDir: string): string {
  return `--${workDir.replace(/^[/\\]/, '').replace(/[/\\:]/g, '-')}--`;
}

/** What comes before the key in a name ends with the sign that the key may not have. */
const isOwnKey = (key: string): boolean => isSafeKey(key) && !key.includes('_');

/** Their names begin with their time. */
async function conversationsIn(folder: string): Promise<readonly string[]> {
  const names = (await entriesOf(folder)).filter((name) => name.endsWith(SUFFIX));
  return names
    .sort()
    .reverse()
    .map((name) => join(folder, name));
}

async function readHead(file: string): Promise<Head | undefined> {
  const [first] = await firstLines(file);
  const head = fieldsOf(first);
  if (head['type'] !== 'session') return undefined;
  return { workDir: textOf(head['cwd']), beganAt: timeOf(head['timestamp']) };
}

interface Node {
  readonly id: string;
  readonly parent: string;
  readonly placed: readonly PlacedEntry[];
}

function nodeOf(value: unknown, conversation: string, offset: number): Node {
  const fields = fieldsOf(value);
  const { entries, at } = piObserved(value, conversation, offset);
  return {
    // The head has an id too, and is no entry.
    id: fields['type'] === 'session' ? '' : textOf(fields['id']),
    parent: textOf(fields['parentId']),
    placed: entries.map((entry) => ({ entry, at, offset })),
  };
}

/** What was written last is where the conversation stands. Files without ids have one branch. */
function currentBranch(nodes: readonly Node[]): { branch: readonly Node[]; hasBranches: boolean } {
  const leaf = nodes.findLast(({ id }) => id !== '');
  if (!leaf) return { branch: nodes, hasBranches: false };
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const branch = new Set<Node>();
  for (let node: Node | undefined = leaf; node && !branch.has(node); node = byId.get(node.parent))
    branch.add(node);
  const parents = new Set(nodes.map(({ parent }) => parent));
  const tips = nodes.filter(({ id }) => id !== '' && !parents.has(id));
  return { branch: [...branch].reverse(), hasBranches: tips.length > 1 };
}
