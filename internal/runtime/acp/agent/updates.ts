import { fieldsOf } from '../../../platform/fields.ts';
import { cut, oneLine } from './plain-text.ts';

/** What an agent tells while it works, as far as somebody here needs it. Everything else is `other`. */
export type Update =
  | {
      readonly kind: 'text';
      readonly who: Speaker;
      readonly text: string;
      readonly message: string | undefined;
    }
  | { readonly kind: 'tool'; readonly call: ToolChange }
  | { readonly kind: 'plan'; readonly done: number; readonly steps: number; readonly current: string }
  | { readonly kind: 'mode'; readonly mode: string }
  | { readonly kind: 'notice'; readonly text: string }
  | { readonly kind: 'other' };

export type Speaker = 'user' | 'agent' | 'thought';
export type ToolStatus = 'pending' | 'in_progress' | 'completed' | 'failed';

/** What is new about a tool call; absent fields stay as they were. */
export interface ToolChange {
  readonly id: string;
  readonly title?: string;
  readonly tool?: string;
  readonly status?: ToolStatus;
  /** JSON, cut. */
  readonly input?: string;
  /** Text, cut. */
  readonly output?: string;
}

const TITLE_CHARS = 300;
const ID_CHARS = 256;
/** Of a tool's input or output, kept for those who read along. */
export const TOOL_TEXT_CHARS = 16_384;
const STATUSES: ReadonlySet<unknown> = new Set(['pending', 'in_progress', 'completed', 'failed']);
const SPEAKERS: Readonly<Record<string, Speaker>> = {
  user_message_chunk: 'user',
  agent_message_chunk: 'agent',
  agent_thought_chunk: 'thought',
};

/** Never throws: agents are newer and older than this program, and one odd update ends no conversation. */
export function readUpdate(value: unknown): Update {
  const update = fieldsOf(value);
  const kind = update['sessionUpdate'];
  const who = typeof kind === 'string' && Object.hasOwn(SPEAKERS, kind) ? SPEAKERS[kind] : undefined;
  if (who) return readChunk(update, who);
  switch (kind) {
    case 'tool_call':
    case 'tool_call_update': {
      const call = readTool(update);
      return call ? { kind: 'tool', call } : { kind: 'other' };
    }
    case 'plan':
      return readPlan(update['entries']);
    case 'current_mode_update':
      return typeof update['currentModeId'] === 'string'
        ? { kind: 'mode', mode: oneLine(update['currentModeId'], TITLE_CHARS) }
        : { kind: 'other' };
    case 'notice':
      return typeof update['title'] === 'string'
        ? { kind: 'notice', text: oneLine(update['title'], TITLE_CHARS) }
        : { kind: 'other' };
    default:
      return { kind: 'other' };
  }
}

function readChunk(update: Readonly<Record<string, unknown>>, who: Speaker): Update {
  const text = textOf(update['content']);
  const message = update['messageId'];
  return {
    kind: 'text',
    who,
    text,
    message: typeof message === 'string' ? cut(message, ID_CHARS) : undefined,
  };
}

/** `undefined` when it has no id. */
export function readTool(value: unknown): ToolChange | undefined {
  const { toolCallId, title, kind, status, rawInput, rawOutput, content } = fieldsOf(value);
  if (typeof toolCallId !== 'string' || toolCallId === '') return undefined;
  const output = toolOutput(content, rawOutput);
  return {
    id: cut(toolCallId, ID_CHARS),
    ...(typeof title === 'string' && title !== '' && { title: oneLine(title, TITLE_CHARS) }),
    ...(typeof kind === 'string' && { tool: oneLine(kind, TITLE_CHARS) }),
    ...(isStatus(status) && { status }),
    ...(isWorthKeeping(rawInput) && { input: cut(JSON.stringify(rawInput), TOOL_TEXT_CHARS) }),
    ...(output !== '' && { output }),
  };
}

/** What a content block says, files by their name. */
export function textOf(block: unknown): string {
  const { type, text, name, uri, resource } = fieldsOf(block);
  if (type === 'text') return typeof text === 'string' ? text : '';
  const inner = fieldsOf(resource);
  const title = [name, uri, inner['uri']].find((value) => typeof value === 'string' && value !== '');
  return typeof type === 'string' ? `[${type}${title === undefined ? '' : ` ${title}`}]` : '';
}

function toolOutput(content: unknown, rawOutput: unknown): string {
  const parts = Array.isArray(content) ? content.map(contentText).filter((part) => part !== '') : [];
  if (parts.length > 0) return cut(parts.join('\n'), TOOL_TEXT_CHARS);
  if (typeof rawOutput === 'string') return cut(rawOutput, TOOL_TEXT_CHARS);
  return isWorthKeeping(rawOutput) ? cut(JSON.stringify(rawOutput), TOOL_TEXT_CHARS) : '';
}

function contentText(value: unknown): string {
  const { type, content, path, oldText, newText } = fieldsOf(value);
  if (type === 'content') return textOf(content);
  if (type !== 'diff' || typeof path !== 'string' || typeof newText !== 'string') return '';
  return `${path}\n${marked('-', oldText)}${marked('+', newText)}`;
}

function marked(mark: string, text: unknown): string {
  if (typeof text !== 'string' || text === '') return '';
  const shown = cut(text, TOOL_TEXT_CHARS).replace(/\n$/, '');
  return `${shown.replaceAll(/^/gm, mark)}\n`;
}

function readPlan(entries: unknown): Update {
  if (!Array.isArray(entries)) return { kind: 'other' };
  const steps = entries.map(fieldsOf);
  const current = steps.find(({ status }) => status === 'in_progress')?.['content'];
  return {
    kind: 'plan',
    steps: steps.length,
    done: steps.filter(({ status }) => status === 'completed').length,
    current: typeof current === 'string' ? oneLine(current, TITLE_CHARS) : '',
  };
}

const isStatus = (value: unknown): value is ToolStatus => STATUSES.has(value);
const isWorthKeeping = (value: unknown): boolean =>
  value !== undefined && value !== null && !(typeof value === 'object' && Object.keys(value).length === 0);
