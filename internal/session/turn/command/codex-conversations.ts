import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { writeFileAtomic } from '../../../platform/atomic-file.ts';
import { codeOf } from '../../../platform/errors.ts';
import { type Fields, fieldsOf } from '../../../platform/fields.ts';
import { entriesOf } from './conversation-entries.ts';
import type { Conversations, Happened, Place, Tail } from './dialect.ts';
import { CommandError } from './errors.ts';
import { listOf, loggableObject, textIn, textPart, wellFormed } from './lenient-json.ts';
import type { Recorded } from './recorded.ts';

const OWNER_ONLY = 0o600;

/**
 * Codex's rollouts: `sessions/YYYY/MM/DD/rollout-<time>-<conversation>.jsonl` under `$CODEX_HOME` or `~/.codex`. A place in
 * one is the id of a turn that ended, of a message, or of a call's output.
 */
export const codexConversations: Conversations = {
  choose: () => undefined,

  async tail(place, conversation, after) {
    const file = await locate(place, conversation);
    if (file === undefined) return undefined;
    const entries: Fields[] = [];
    let found = after === '';
    let last = '';
    for await (const entry of entriesOf(file)) {
      const id = idOf(entry);
      if (found) entries.push(entry);
      if (id === '') continue;
      last = id;
      found ||= id === after;
    }
    return { ...rolloutTail(entries), last, found };
  },

  align: (happened, recorded) => alignCalls(happened, recorded),

  async branch(place, parent, message, ids) {
    const file = await locate(place, parent);
    const conversation = ids.uuid();
    const text = file && (await upTo(file, message, parent, conversation));
    if (!file || text === undefined) {
      throw new CommandError(
        'conversation-lost',
        `Codex has no conversation ${parent} to branch off from at that place`,
        { next: 'fork at an earlier record, or begin a new session' },
      );
    }
    const copy = join(dirname(file), basename(file).replace(parent, conversation));
    await writeFileAtomic(copy, text, OWNER_ONLY);
    return { kind: 'resume', conversation };
  },
};

async function locate(place: Place, conversation: string): Promise<string | undefined> {
  const home = place.env['CODEX_HOME'] || join(place.env['HOME'] ?? '', '.codex');
  if (!/^[\w-]+$/.test(conversation)) return undefined;
  const root = join(home, 'sessions');
  try {
    const names = await readdir(root, { recursive: true });
    const name = names.find((found) => found.endsWith(`-${conversation}.jsonl`));
    return name === undefined ? undefined : join(root, name);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** What stands for an entry as a place to go on from; '' for entries that are none. */
function idOf(entry: Fields): string {
  const payload = fieldsOf(entry['payload']);
  if (entry['type'] === 'event_msg') {
    return payload['type'] === 'task_complete' ? textIn(payload, 'turn_id') : '';
  }
  if (entry['type'] !== 'response_item') return '';
  if (payload['type'] === 'message') return payload['role'] === 'assistant' ? textIn(payload, 'id') : '';
  return isOutput(payload) ? textIn(payload, 'call_id') : '';
}

const isOutput = (payload: Fields): boolean => textIn(payload, 'type').endsWith('_call_output');
const isCall = (payload: Fields): boolean => textIn(payload, 'type').endsWith('_call');

/** What the entries say that came after the beginning of a turn. */
export function rolloutTail(entries: readonly Fields[]): Pick<Tail, 'happened' | 'complete'> {
  const answered = new Set<string>();
  const shown = new Map<string, Fields>();
  let complete = false;
  for (const entry of entries) {
    const payload = fieldsOf(entry['payload']);
    if (entry['type'] === 'response_item' && isOutput(payload)) answered.add(textIn(payload, 'call_id'));
    const item = fieldsOf(payload['item']);
    if (payload['type'] === 'item_completed') shown.set(textIn(item, 'id'), item);
    if (payload['type'] === 'task_started') complete = false;
    if (payload['type'] === 'task_complete') complete = true;
  }
  return { happened: entries.flatMap((entry) => happenedIn(entry, shown)), complete };
}

function happenedIn(entry: Fields, shown: ReadonlyMap<string, Fields>): readonly Happened[] {
  const payload = fieldsOf(entry['payload']);
  const item = fieldsOf(payload['item']);
  if (payload['type'] === 'item_completed' && item['type'] === 'UserMessage') {
    return [{ kind: 'prompt', at: textIn(item, 'id'), text: contentText(item['content']) }];
  }
  if (entry['type'] !== 'response_item') return [];
  const at = idOf(entry);
  if (payload['type'] === 'message' && payload['role'] === 'assistant') {
    const text = contentText(payload['content']);
    return text === '' ? [] : [{ kind: 'text', at, text }];
  }
  const id = textIn(payload, 'call_id');
  const item_ = shown.get(id) ?? {};
  if (isCall(payload)) {
    const tool = item_['type'] === 'CommandExecution' ? 'command_execution' : textIn(payload, 'name');
    return [{ kind: 'call', at: '', id, tool: wellFormed(tool), args: argsOf(payload, item_) }];
  }
  if (!isOutput(payload)) return [];
  const code = item_['exit_code'];
  const output = textIn(item_, 'aggregated_output') || outputText(payload['output']);
  const isError = (typeof code === 'number' && code !== 0) || item_['status'] === 'failed';
  return [{ kind: 'result', at, id, content: output === '' ? [] : [textPart(output)], isError }];
}

function contentText(content: unknown): string {
  return wellFormed(
    listOf(content)
      .map((block) => textIn(block, 'text'))
      .filter((text) => text !== '')
      .join('\n'),
  );
}

function outputText(output: unknown): string {
  return wellFormed(typeof output === 'string' ? output : contentText(output));
}

function argsOf(payload: Fields, item: Fields) {
  const { command } = item;
  if (Array.isArray(command)) return loggableObject({ command: command.join(' ') });
  const text = textIn(payload, 'arguments') || textIn(payload, 'input');
  try {
    return loggableObject(JSON.parse(text));
  } catch {
    return loggableObject({ input: text }); // a tool of free text
  }
}

/** The live output numbers items, the rollout has the model's ids: the same call is known by what it runs, in order. */
export function alignCalls(happened: readonly Happened[], recorded: Recorded): readonly Happened[] {
  const free = [...recorded.calls].map(([id, call]) => ({ id, key: keyOf(call.args) }));
  const names = new Map<string, string>();
  for (const effect of happened) {
    if (effect.kind !== 'call') continue;
    const key = keyOf(effect.args);
    const index = free.findIndex((call) => key !== '' && call.key.includes(key));
    const found = index === -1 ? undefined : free.splice(index, 1)[0];
    if (found) names.set(effect.id, found.id);
  }
  return happened.map((effect) =>
    effect.kind === 'call' || effect.kind === 'result'
      ? { ...effect, id: names.get(effect.id) ?? effect.id }
      : effect,
  );
}

/** A command without what quoting may change. */
function keyOf(args: Fields): string {
  const text = textIn(args, 'command') || textIn(args, 'cmd') || JSON.stringify(args);
  return text.replace(/["'\\\s]/g, '');
}

async function upTo(
  file: string,
  message: string,
  parent: string,
  conversation: string,
): Promise<string | undefined> {
  const lines: string[] = [];
  for await (const entry of entriesOf(file)) {
    const line = JSON.stringify(entry);
    // The first entry says whose the file is; later ones may name the conversation that they came from.
    lines.push(entry['type'] === 'session_meta' ? line.replaceAll(parent, conversation) : line);
    if (idOf(entry) === message) return `${lines.join('\n')}\n`;
  }
  return undefined;
}
