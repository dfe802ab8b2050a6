import { createHash } from 'node:crypto';
import { codexApproval, type FoundApproval, opencodeApproval } from './approval-layouts.ts';
import { findMenu, LOOK_BACK_LINES, type Look, type Menu } from './screen.ts';

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
/** What is asked for is indented within its frame: a command that draws one itself never begins in the first column. */
const FRAME_TOP = /^(?:─{8,}|╭─+)/u;
/** A frame within it that has nothing but itself on its line. */
const INNER_FRAME = /^[\s│]*[╭╰][─╌]*[╮╯]?[\s│]*$/u;
/** Around the lines that an edit changes. */
const DIFF_EDGE = /^╌{8,}/u;
const GEMINI_TITLE = /^\s*\?\s+(\S+)\s+(.*)$/;
const TOOL_HEADER = /^\s*[●⏺]\s+(\w+)(?:\((.*)\))?/u;

/** The question that waits for an answer now, `undefined` when there is none. The last one on the screen counts. */
export function parseApproval(look: Look): Approval | undefined {
  for (let at = look.lines.length - 1; at >= 0; at -= 1) {
    const line = look.lines[at] ?? '';
    const menu = BOX_TRIGGER.test(line) ? menuUnder(look, at) : undefined;
    // What a command in the frame says further up is no question.
    if (menu) return boxedApproval(look, at, menu);
    if (CLASSIC_TRIGGER.test(line)) return classicApproval(look, at);
  }
  const found = codexApproval(look) ?? opencodeApproval(look);
  return found && approvalOf(found);
}

function approvalOf({ tool, input, options, keys }: FoundApproval): Approval {
  return { id: approvalId(tool, input), tool, input, prompt: promptOf(tool, input), options, keys };
}

/** Keys for an answer: `approve`, `approve_always`, `approve_accept_edits`, `deny`, an option's number from 1, or its text. */
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
      return approval.keys[Number(action) - 1] ?? approval.keys[approval.options.indexOf(action)];
  }
}

/** Lines between the question and its first option. */
const TRIGGER_TO_MENU_LINES = 3;
const MAX_LINES_BELOW_MENU = 6;

/** The marked choice of a question, with key hints below it and nothing more. */
function menuUnder(look: Look, trigger: number): Menu | undefined {
  const menu = findMenu(look, trigger + 1);
  const first = menu?.options[0];
  const last = menu?.options.at(-1);
  if (!menu || !first || !last || first.index - trigger > TRIGGER_TO_MENU_LINES) return undefined;
  // A program that clears its whole screen puts an answered question above it: nobody can answer it there.
  if (last.index < look.visibleFrom) return undefined;
  const below = look.lines.slice(last.index + 1).filter((line) => line !== '' && !/^\s*[╰─]/u.test(line));
  if (below.length > MAX_LINES_BELOW_MENU || below.some((line) => /^[❯›]/u.test(line))) return undefined;
  return menu;
}

/** The framed layout: a title, what is asked for, the question, a marked choice. */
function boxedApproval(look: Look, trigger: number, menu: Menu): Approval | undefined {
  const top = look.lines.slice(0, trigger).findLastIndex((line) => FRAME_TOP.test(line));
  if (top < 0) return headlessApproval(look, trigger, menu);
  const inside = look.lines.slice(top + 1, trigger);
  const box = textIn(inside);
  const [title, ...body] = box;
  if (title === undefined) return undefined;
  const edge = inside.findIndex((line) => DIFF_EDGE.test(line));
  const { tool, input } =
    edge > 0
      ? { tool: title, input: textIn(inside.slice(0, edge)).slice(1).join('\n') }
      : boxContent(look, top, title, body);
  const approval = build(tool, input, [tool, body.join('\n')], menu);
  return edge > 0
    ? { ...approval, prompt: [`${tool}: ${input}`, ...textIn(inside.slice(edge))].join('\n') }
    : approval;
}

function textIn(lines: readonly string[]): readonly string[] {
  return lines
    .filter((line) => !INNER_FRAME.test(line) && !DIFF_EDGE.test(line))
    .map((line) => line.replace(/^\s*│ ?|│\s*$/gu, '').replace(/^[\s│]+|[\s│]+$/gu, ''))
    .filter((line) => line !== '');
}

/** The frame is so high that its top cannot be seen any more: what is asked for has no name then, and is not whole. */
function headlessApproval(look: Look, trigger: number, menu: Menu): Approval | undefined {
  const above = look.lines.slice(0, trigger);
  if (look.lines.length < LOOK_BACK_LINES || above.some((line) => !/^(?:$|[\s│])/u.test(line)))
    return undefined;
  const shown = textIn(above).join('\n');
  return {
    ...build('', `…\n${shown}`, ['', shown], menu),
    prompt: `the beginning is no longer shown\n…\n${shown}`,
  };
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

/** In one line: a command of several goes on in the next one, and its first is not the whole of it. */
function announcedInput(look: Look, top: number): string {
  for (let at = top - 1; at >= Math.max(0, top - HEADER_LOOK_UP_LINES); at -= 1) {
    const line = look.lines[at] ?? '';
    const next = look.lines[at + 1] ?? '';
    const shell = /^\s*⎿\s+\$ (.*)$/u.exec(line)?.[1];
    if (shell !== undefined) return next === '' || at + 1 === top ? shell : '';
    const header = TOOL_HEADER.exec(line);
    if (header) return /^\s*⎿/u.test(next) ? (header[2] ?? '') : '';
  }
  return '';
}

/** The layout without a frame: the tool is named by the last header above the trigger, else it is only conversation. */
function classicApproval(look: Look, trigger: number): Approval | undefined {
  const above = look.lines.slice(0, trigger);
  const at = above.findLastIndex((line) => TOOL_HEADER.test(line));
  if (at < 0 || isAnswered(look, trigger)) return undefined;
  const line = above[at] ?? '';
  const header = TOOL_HEADER.exec(line);
  const tool = header?.[1] ?? '';
  const input = inputInHeader(line, above.slice(at + 1)) ?? indentedBlock(above.slice(at + 1));
  return build(tool, input, [tool, input], findMenu(look, trigger));
}

/** What stands in the parentheses, also where they end in a later line. */
function inputInHeader(line: string, below: readonly string[]): string | undefined {
  const first = /^[^(]*\((.*)$/.exec(line)?.[1];
  if (first === undefined) return undefined;
  const end = below.findIndex((each) => !/^\s+[^\s⎿│─]/u.test(each));
  const more = below.slice(0, end < 0 ? below.length : end).map((each) => each.trim());
  return [first, ...more].join('\n').replace(/\)$/, '');
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

const promptOf = (tool: string, input: string): string =>
  input === '' ? `Allow ${tool}?` : `${tool}: ${input}`;

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
    prompt: promptOf(tool, input),
    options: menu ? menu.options.map((option) => option.label) : DEFAULT_OPTIONS,
    keys: menu ? menu.options.map((option) => option.digit) : ['1', '2', '3'],
  };
}

/** `tmux-` and 16 hex digits of the SHA-256 of tool, NUL, input. The prefix is the same for every back end. */
export function approvalId(tool: string, input: string): string {
  return `tmux-${createHash('sha256').update(`${tool}\0${input}`).digest('hex').slice(0, 16)}`;
}
