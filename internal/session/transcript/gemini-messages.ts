import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { codeOf, GcError } from '../../platform/errors.ts';
import { fieldsOf } from '../../platform/fields.ts';
import { contentText, geminiObserved } from './gemini-observed.ts';
import { MAX_LINE_BYTES, readJsonl } from './jsonl-lines.ts';
import type { ObservedChunk, PlacedEntry, TranscriptCursor } from './observed.ts';
import { shownEntries } from './shown.ts';
import { unreadable } from './tail-entries.ts';
import type { TranscriptEntry } from './transcript-reader.ts';
import { parseJson, textOf, timeOf } from './values.ts';

/** The messages of a conversation as it stands, oldest first. */
export interface GeminiMessages {
  readonly messages: readonly unknown[];
  readonly badLines: number;
}

/** What is left when everything in the file was done: messages written again, taken back, put in the place of others. */
export async function messagesInLines(file: string): Promise<GeminiMessages> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, 'r');
    const messages = new Map<string, unknown>();
    let badLines = 0;
    for await (const line of readJsonl(handle)) {
      if (line.kind === 'bad') badLines += 1;
      else apply(messages, line.value);
    }
    return { messages: [...messages.values()], badLines };
  } catch (error) {
    throw unreadable(file, error);
  } finally {
    await handle?.close();
  }
}

function apply(messages: Map<string, unknown>, value: unknown): void {
  const record = fieldsOf(value);
  const rewindTo = textOf(record['$rewindTo']);
  const set = fieldsOf(record['$set'])['messages'];
  if (rewindTo !== '') {
    const ids = [...messages.keys()];
    const from = Math.max(0, ids.indexOf(rewindTo));
    for (const id of ids.slice(from)) messages.delete(id);
  } else if (Array.isArray(set)) {
    messages.clear();
    for (const message of set) add(messages, message);
  } else add(messages, record);
}

function add(messages: Map<string, unknown>, message: unknown): void {
  const id = textOf(fieldsOf(message)['id']);
  if (id !== '') messages.set(id, message);
}

/**
 * The messages of a file that is written anew, whole, with each message. `undefined`: there is no such file.
 * @throws GcError `transcript-unreadable` damaged, or longer than is read
 */
export async function messagesInWhole(file: string): Promise<readonly unknown[] | undefined> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, 'r');
    const { size } = await handle.stat();
    if (size > MAX_LINE_BYTES) throw damaged(file, `it is longer than ${MAX_LINE_BYTES} bytes`);
    const { messages } = fieldsOf(parseJson(await handle.readFile('utf8')));
    if (!Array.isArray(messages)) throw damaged(file, 'it is no conversation of Gemini CLI');
    return messages;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw unreadable(file, error);
  } finally {
    await handle?.close();
  }
}

function damaged(file: string, why: string): GcError {
  return new GcError('transcript-unreadable', `cannot read ${file}: ${why}`, {
    next: 'gc session peek shows the screen',
  });
}

/**
 * What is new in a file that is written anew with each message. The last message may still change: it is told again when
 * it has.
 */
export function observedMessages(
  messages: readonly unknown[],
  since: TranscriptCursor | undefined,
): ObservedChunk {
  const [prefix = '', last = ''] = since?.anchor.split(' ') ?? [];
  const isSame =
    since !== undefined &&
    since.offset <= messages.length &&
    digest(messages.slice(0, since.offset).map(idOf)) === prefix;
  const from = isSame ? since.offset : 0;
  const settled = Math.max(0, messages.length - 1);
  const anchor = `${digest(messages.slice(0, settled).map(idOf))} ${digest(messages[settled])}`;
  const cursor = { offset: settled, anchor };
  const restarted = since !== undefined && !isSame;
  const isUnchanged = isSame && from === settled && last === digest(messages[settled]);
  const entries = isUnchanged ? [] : placedMessages(messages.slice(from), from);
  return { entries, cursor, restarted, more: false };
}

export function placedMessages(messages: readonly unknown[], from = 0): readonly PlacedEntry[] {
  return messages.flatMap((message, index) => {
    const { entries, at } = geminiObserved(message);
    return entries.map((entry) => ({ entry, at, offset: from + index }));
  });
}

/** What is shown: also what the program itself noted for whoever sits at it. */
export function shownMessages(messages: readonly unknown[]): readonly TranscriptEntry[] {
  return messages.flatMap((message) => {
    const fields = fieldsOf(message);
    const text = contentText(fields['content']);
    if (fields['type'] !== 'info' && fields['type'] !== 'warning')
      return shownEntries(placedMessages([message]));
    const at = timeOf(textOf(fields['timestamp']));
    const stamp = at === 0 ? '' : new Date(at).toISOString();
    const note: TranscriptEntry = {
      id: idOf(message),
      type: 'system',
      at: stamp,
      compactBoundary: false,
      parts: [{ kind: 'text', text }],
    };
    return text === '' ? [] : [note];
  });
}

const idOf = (message: unknown): string => textOf(fieldsOf(message)['id']);

function digest(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('hex')
    .slice(0, 16);
}
