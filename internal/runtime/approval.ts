import { createHash } from 'node:crypto';
import { findMenu, type Look, type Menu } from './screen.ts';

/** A permission question of an agent, read from its screen. */
export interface Approval {
  /** The same question has the same id. Source: Gas City approval ids. */
  readonly id: string;
  readonly tool: string;
  readonly input: string;
  /** `TOOL: INPUT`, or `Allow TOOL?`. */
  readonly prompt: string;
  readonly options: readonly string[];
  /** The key of each option, same order. */
  readonly keys: readonly string[];
}

const DEFAULT_OPTIONS = ['Yes', "Yes, and don't ask again", 'No'] as const;
const INPUT_LIMIT_BYTES = 500;
const CLASSIC_TRIGGER = /This command requires approval|Approve edits\?/;
const BOX_TRIGGER = /^[\s│]*(Do you want to (?!use this API key).*\?|Allow .*\?|Apply this change\?)[\s│]*$/u;
const RULE = /^\s*[─╌]{8,}/u;
const BOX_TOP = /^\s*╭─+/u;
const GEMINI_TITLE = /^\s*\?\s+(\S+)\s+(.*)$/;
const TOOL_HEADER = /^\s*[●⏺]\s+(\w+)(?:\((.*)\))?/u;

/** The question that waits for an answer now, `undefined` when there is none. The last one on the screen counts. */
export function parseApproval(look: Look): Approval | undefined {
  for (let at = look.lines.length - 1; at >= 0; at -= 1) {
    const line = look.lines[at] ?? '';
    if (BOX_TRIGGER.test(line)) {
      const boxed = boxedApproval(look, at);
      if (boxed) return boxed;
    }
    if (CLASSIC_TRIGGER.test(line)) return classicApproval(look, at);
  }
  return undefined;
}

/** Keys for an answer: `approve`, `approve_always`, `approve_accept_edits`, `deny`, a number, or an option's text. */
export function approvalKey(approval: Approval, action: string): string | undefined {
  const keyOf = (pattern: RegExp) => approval.keys[approval.options.findIndex((o) => pattern.test(o))];
  switch (action) {
    case 'approve':
      return keyOf(/^(yes|allow|apply|approve)\b/i);
    case 'approve_always':
    case 'approve_accept_edits':
      return keyOf(/\b(always|don't ask again|this session|allow all|auto-accept)/i);
    case 'deny':
      return keyOf(/^(no|deny|reject|cancel)\b/i);
    default:
      return approval.keys.find((key) => key === action) ?? approval.keys[approval.options.indexOf(action)];
  }
}

/** Lines between the question and its first option. */
const TRIGGER_TO_MENU_LINES = 3;
const MAX_LINES_BELOW_MENU = 6;

/** The framed layout: a title, what is asked for, the question, a marked choice, key hints and nothing more. */
function boxedApproval(look: Look, trigger: number): Approval | undefined {
  const menu = findMenu(look, trigger + 1);
  const first = menu?.options[0];
  const last = menu?.options.at(-1);
  if (!menu || !first || !last || first.index - trigger > TRIGGER_TO_MENU_LINES) return undefined;
  // A program that clears its whole screen puts an answered question above it: nobody can answer it there.
  if (last.index < look.visibleFrom) return undefined;
  const below = look.lines.slice(last.index + 1).filter((line) => line !== '' && !/^\s*[╰─]/u.test(line));
  if (below.length > MAX_LINES_BELOW_MENU || below.some((line) => /^[❯›]/u.test(line))) return undefined;
  const top = look.lines.slice(0, trigger).findLastIndex((line) => RULE.test(line) || BOX_TOP.test(line));
  if (top < 0) return undefined;
  const box = look.lines
    .slice(top + 1, trigger)
    .filter((line) => !/^[\s│]*[╭╰]/u.test(line))
    .map((line) => line.replace(/^\s*│ ?|│\s*$/gu, '').replace(/^[\s│]+|[\s│]+$/gu, ''))
    .filter((line) => line !== '');
  const [title, ...body] = box;
  if (title === undefined) return undefined;
  const { tool, input } = boxContent(look, top, title, body);
  return build(tool, input, [tool, body.join('\n')], menu);
}

function boxContent(
  look: Look,
  top: number,
  title: string,
  body: readonly string[],
): { tool: string; input: string } {
  const gemini = GEMINI_TITLE.exec(title);
  if (gemini?.[1]) return { tool: gemini[1], input: body.join('\n') || (gemini[2] ?? '') };
  const tool = /^(\S+) command$/.exec(title)?.[1] ?? title;
  const whole = body.join('\n');
  // The box puts a description under the command; only the header above the box tells where the command ends.
  const announced = announcedInput(look, top);
  const isPrefix = announced !== '' && whole.startsWith(`${announced}\n`);
  return { tool, input: isPrefix ? announced : whole };
}

const HEADER_LOOK_UP_LINES = 6;

function announcedInput(look: Look, top: number): string {
  const above = look.lines.slice(Math.max(0, top - HEADER_LOOK_UP_LINES), top);
  for (const line of [...above].reverse()) {
    const shell = /^\s*⎿\s+\$ (.*)$/u.exec(line)?.[1];
    if (shell !== undefined) return shell;
    const header = TOOL_HEADER.exec(line);
    if (header) return header[2] ?? '';
  }
  return '';
}

/** The layout without a frame: the tool is named by the last header above the trigger, else it is only conversation. */
function classicApproval(look: Look, trigger: number): Approval | undefined {
  const above = look.lines.slice(0, trigger);
  const at = above.findLastIndex((line) => TOOL_HEADER.test(line));
  if (at < 0 || isAnswered(look, trigger)) return undefined;
  const header = TOOL_HEADER.exec(above[at] ?? '');
  const tool = header?.[1] ?? '';
  const input = header?.[2] ?? indentedBlock(above.slice(at + 1));
  return build(tool, input, [tool, input], findMenu(look, trigger));
}

/** An input box below means that the question was answered. */
function isAnswered(look: Look, trigger: number): boolean {
  return look.lines
    .slice(trigger)
    .some((line, i, below) => /^❯(?: |$)/u.test(line) && RULE.test(below[i - 1] ?? ''));
}

function indentedBlock(lines: readonly string[]): string {
  const block: string[] = [];
  for (const line of lines) {
    const text = line.trim();
    if (text === '') break;
    if (/^(⎿|───|│)/u.test(text) || text === 'Running…') continue;
    if (/^( {2}|\t)/.test(line)) block.push(text);
  }
  return cut(block.join('\n'));
}

function cut(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= INPUT_LIMIT_BYTES) return text;
  let end = INPUT_LIMIT_BYTES;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return `${bytes.subarray(0, end).toString('utf8')}…`;
}

function build(
  tool: string,
  input: string,
  identity: readonly [string, string],
  menu: Menu | undefined,
): Approval {
  return {
    id: approvalId(...identity),
    tool,
    input,
    prompt: input === '' ? `Allow ${tool}?` : `${tool}: ${input}`,
    options: menu ? menu.options.map((option) => option.label) : DEFAULT_OPTIONS,
    keys: menu ? menu.options.map((option) => option.digit) : ['1', '2', '3'],
  };
}

/** `tmux-` and 16 hex digits of the SHA-256 of tool, NUL, input. The prefix is the same for every back end. */
export function approvalId(tool: string, input: string): string {
  return `tmux-${createHash('sha256').update(`${tool}\0${input}`).digest('hex').slice(0, 16)}`;
}
