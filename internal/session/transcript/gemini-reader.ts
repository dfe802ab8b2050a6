import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fieldsOf } from '../../platform/fields.ts';
import { entriesOf, isSafeKey, modifiedAt, resolved } from './files.ts';
import {
  messagesInLines,
  messagesInWhole,
  observedMessages,
  placedMessages,
  shownMessages,
} from './gemini-messages.ts';
import { geminiObserved } from './gemini-observed.ts';
import { observedSince } from './lines-since.ts';
import { firstPromptOf, newestConversation } from './newest-conversation.ts';
import type { ObservedChunk, TranscriptCursor } from './observed.ts';
import { transcriptOf } from './shown.ts';
import { tailEntries } from './tail-entries.ts';
import type {
  Transcript,
  TranscriptPlace,
  TranscriptReader,
  TranscriptReadOptions,
  TranscriptTail,
} from './transcript-reader.ts';
import { parseJson, timeOf } from './values.ts';

const CONVERSATION_FILE = /^session-.*\.jsonl?$/;
/** Id and beginning of a conversation stand among its first bytes. */
const HEAD_BYTES = 4_096;
const SHORT_KEY = 8;

/** Gemini CLI's conversations. Roots are folders like `~/.gemini/tmp`, in which each project has its own. */
export class GeminiTranscriptReader implements TranscriptReader {
  readonly family = 'gemini';
  readonly ordered = true;
  readonly #roots: readonly string[];

  constructor(roots: readonly string[]) {
    this.#roots = roots;
  }

  async locate(place: TranscriptPlace): Promise<string | undefined> {
    const own = await this.#projectFolders(place.workDir);
    for (const key of place.keys.filter(isSafeKey)) {
      const found = (await withKey(key, own)) ?? (await withKey(key, await this.#allFolders()));
      if (found !== undefined) return found;
    }
    if (place.keys.length > 0) return undefined;
    return newestConversation(place, (await Promise.all(own.map(conversationsIn))).flat(), {
      // Its folder is the project's: the file itself does not say.
      head: async (file) => ({ workDir: place.workDir, beganAt: headOf(file).beganAt }),
      firstPrompt: firstPrompt,
    });
  }

  /** The name holds the beginning of the id only. */
  conversationOf(file: string): string {
    return headOf(file).id || basename(file).replace(/\.jsonl?$/, '');
  }

  async observe(file: string, since: TranscriptCursor | undefined): Promise<ObservedChunk | undefined> {
    if (!isWhole(file)) return observedSince(file, since, geminiObserved);
    const messages = await messagesInWhole(file);
    return messages && observedMessages(messages, since);
  }

  async tail(file: string): Promise<TranscriptTail | undefined> {
    if (!isWhole(file)) {
      const entries = await tailEntries(file, geminiObserved);
      return entries && { entries, answersEnd: true };
    }
    const messages = await messagesInWhole(file);
    return messages && { entries: placedMessages(messages.slice(-LAST_MESSAGES)), answersEnd: true };
  }

  /** A conversation is one segment: it has no marks at which it could be cut. */
  async read(file: string, _options: TranscriptReadOptions): Promise<Transcript> {
    const { messages, badLines } = isWhole(file)
      ? { messages: (await messagesInWhole(file)) ?? [], badLines: 0 }
      : await messagesInLines(file);
    return transcriptOf(file, shownMessages(messages), { tail: 0, badLines });
  }

  /** By the program's own list, by the hash that older versions used, else by the mark in each project's folder. */
  async #projectFolders(workDir: string): Promise<readonly string[]> {
    const dirs = [...new Set([workDir, await resolved(workDir)])];
    const folders: string[] = [];
    for (const root of this.#roots) {
      const projects = fieldsOf(fieldsOf(await jsonIn(join(root, '..', 'projects.json')))['projects']);
      const names = dirs.flatMap((dir) => [projects[dir], createHash('sha256').update(dir).digest('hex')]);
      const listed = names.filter((name) => typeof name === 'string' && isSafeKey(name));
      const isListed = listed.length > dirs.length;
      const found = isListed ? listed : [...listed, ...(await markedFolders(root, dirs))];
      folders.push(...found.map((name) => join(root, String(name))));
    }
    return folders;
  }

  async #allFolders(): Promise<readonly string[]> {
    const all = this.#roots.map(async (root) => (await entriesOf(root)).map((name) => join(root, name)));
    return (await Promise.all(all)).flat();
  }
}

/** Of a file that is read whole, so many messages are its end. */
const LAST_MESSAGES = 50;

const isWhole = (file: string): boolean => file.endsWith('.json');

/** Names begin with their time. */
async function conversationsIn(project: string): Promise<readonly string[]> {
  const chats = join(project, 'chats');
  const names = (await entriesOf(chats)).filter((name) => CONVERSATION_FILE.test(name));
  return names
    .sort()
    .reverse()
    .map((name) => join(chats, name));
}

async function withKey(key: string, projects: readonly string[]): Promise<string | undefined> {
  const short = `-${key.slice(0, SHORT_KEY)}.json`;
  for (const project of projects) {
    const files = (await conversationsIn(project)).filter((file) => file.includes(short));
    const found = await newestOf(files.filter((file) => headOf(file).id === key));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Each life that goes on with a conversation leaves an empty file of the same name, and writes into the old one. */
async function newestOf(files: readonly string[]): Promise<string | undefined> {
  let newest: { readonly file: string; readonly at: number } | undefined;
  for (const file of files) {
    const at = (await modifiedAt(file)) ?? 0;
    if (!newest || at > newest.at) newest = { file, at };
  }
  return newest?.file;
}

async function markedFolders(root: string, dirs: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of await entriesOf(root)) {
    const mark = await readFile(join(root, name, '.project_root'), 'utf8').catch(() => ''); // another kind of folder
    if (dirs.includes(mark.trim())) found.push(name);
  }
  return found;
}

async function jsonIn(file: string): Promise<unknown> {
  return parseJson(await readFile(file, 'utf8').catch(() => '')); // an older version has none
}

async function firstPrompt(file: string): Promise<string | undefined> {
  if (!isWhole(file)) return firstPromptOf(file, geminiObserved);
  const messages = (await messagesInWhole(file).catch(() => undefined)) ?? []; // damaged: nobody's
  const prompt = placedMessages(messages).find(({ entry }) => entry.kind === 'prompt')?.entry;
  return prompt?.kind === 'prompt' ? prompt.text : undefined;
}

interface GeminiHead {
  readonly id: string;
  readonly beganAt: number;
}

/** The first fields, in either form, without reading the rest. */
function headOf(file: string): GeminiHead {
  const text = firstBytes(file);
  const field = (name: string): string => new RegExp(`"${name}"\\s*:\\s*"([^"]*)"`).exec(text)?.[1] ?? '';
  return { id: field('sessionId'), beganAt: timeOf(field('startTime')) };
}

function firstBytes(file: string): string {
  let fd: number | undefined;
  try {
    fd = openSync(file, 'r');
    const buffer = Buffer.alloc(HEAD_BYTES);
    return buffer.toString('utf8', 0, readSync(fd, buffer, 0, HEAD_BYTES, 0));
  } catch {
    return ''; // gone meanwhile, or not ours to read
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
