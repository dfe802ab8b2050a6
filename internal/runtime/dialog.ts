import type { Composer } from './composer.ts';
import { findMenu, isMenuLine, type Look, type Menu } from './screen.ts';

/**
 * Questions that agent programs ask before they can work, and how they are answered: data. Texts and answers are
 * Gas City's; the order is whatever the program shows.
 */
export interface DialogRule {
  /** For people: "answered: folder trust". */
  readonly id: string;
  /** Any of these, case-sensitive. */
  readonly needles: readonly string[];
  /** The option to take when the choice can be read from the screen. */
  readonly wanted: RegExp;
  /** Pressed when the choice cannot be read; `undefined`: then it is no such question. */
  readonly blindKeys: readonly string[] | undefined;
}

const FOLDER_TRUST = 'folder trust';

const CLAUDE_TRUST: DialogRule = {
  id: FOLDER_TRUST,
  needles: ['trust this folder', 'Quick safety check'],
  wanted: /^yes\b/i,
  blindKeys: ['Enter'],
};
const CODEX_TRUST: DialogRule = {
  id: FOLDER_TRUST,
  needles: ['Do you trust the contents of this directory?', 'Trust this folder?'],
  wanted: /^(yes|trust and continue)\b/i,
  blindKeys: ['Enter'],
};
/** The hooks of its city are among them; without them it would not be told its prompt. */
const CODEX_HOOKS: DialogRule = {
  id: 'hook trust',
  needles: ['Hooks need review'],
  wanted: /^trust all\b/i,
  blindKeys: undefined,
};
const GEMINI_TRUST: DialogRule = {
  id: FOLDER_TRUST,
  needles: ['Do you trust the files in this folder?'],
  wanted: /^(trust folder|yes)\b/i,
  blindKeys: ['Enter'],
};
const BYPASS: DialogRule = {
  id: 'bypass permissions',
  needles: ['Bypass Permissions mode'],
  wanted: /^yes\b/i,
  blindKeys: ['Down', 'Enter'],
};
const API_KEY: DialogRule = {
  id: 'custom API key',
  needles: ['Detected a custom API key in your environment', 'Do you want to use this API key?'],
  wanted: /^yes\b/i,
  blindKeys: ['Up', 'Enter'],
};
/** Stopping lets the session end, to be tried again later. The words alone are ordinary text: the choice must be there. */
const RATE_LIMIT: DialogRule = {
  id: 'rate limit',
  needles: ['Usage limit reached', 'rate limit', 'Rate limit'],
  wanted: /\bstop\b/i,
  blindKeys: undefined,
};

const RULES: Readonly<Record<string, readonly DialogRule[]>> = {
  claude: [CLAUDE_TRUST, BYPASS, API_KEY, RATE_LIMIT],
  codex: [CODEX_TRUST, CODEX_HOOKS, RATE_LIMIT],
  gemini: [GEMINI_TRUST, RATE_LIMIT],
};
const ALL_RULES: readonly DialogRule[] = [
  CLAUDE_TRUST,
  CODEX_TRUST,
  CODEX_HOOKS,
  GEMINI_TRUST,
  BYPASS,
  API_KEY,
  RATE_LIMIT,
];

/** The rules of a preset kind; a kind we do not know may be a wrapper around any program, so it has them all. */
export function dialogRulesFor(kind: string): readonly DialogRule[] {
  return RULES[kind] ?? ALL_RULES;
}

export interface FoundDialog {
  readonly rule: DialogRule;
  readonly menu: Menu | undefined;
}

/** What was done about dialogs so far in one start: rule id -> times answered. */
export type AnsweredDialogs = ReadonlyMap<string, number>;

/** A question printed line by line stays on the screen above the prompt that asks for its answer: this close counts. */
const DIALOG_TO_ITS_PROMPT_LINES = 4;

/**
 * The known question that waits now. Text above the agent's input box is history and never matches, save for a
 * question that was not answered yet and whose answer is typed at that very prompt.
 */
export function findDialog(
  look: Look,
  rules: readonly DialogRule[],
  composer: Composer | undefined,
  answered: AnsweredDialogs,
): FoundDialog | undefined {
  let best: { found: FoundDialog; at: number } | undefined;
  const lastMenu = findMenu(look);
  for (const rule of rules) {
    const at = lastIndexOfAny(look, rule.needles);
    if (at < 0 || (best && at <= best.at)) continue;
    const menu = lastMenu && belongsTogether(look, at, lastMenu) ? lastMenu : undefined;
    // A choice that stands below and is not this question's: the words above it are history.
    if (lastMenu && !menu && (lastMenu.options.at(-1)?.index ?? 0) > at) continue;
    if (!rule.blindKeys && !menu?.options.some((option) => rule.wanted.test(option.label))) continue;
    if (!isLive(look, at, composer, (answered.get(rule.id) ?? 0) > 0)) continue;
    best = { found: { rule, menu }, at };
  }
  return best?.found;
}

/** Lines between the words of a question and its first option. */
const MAX_TEXT_TO_MENU_LINES = 20;

/** The words stand in the menu or shortly above it, with no other question in between. */
function belongsTogether(look: Look, at: number, menu: Menu): boolean {
  const first = menu.options[0]?.index ?? 0;
  const last = menu.options.at(-1)?.index ?? 0;
  if (at > last || first - at > MAX_TEXT_TO_MENU_LINES) return false;
  return !look.lines.slice(at + 1, first).some((line) => /\?[\s│]*$/u.test(line));
}

function isLive(look: Look, at: number, composer: Composer | undefined, answered: boolean): boolean {
  if (composer && composer.index > at) {
    return !answered && composer.index - at <= DIALOG_TO_ITS_PROMPT_LINES && composer.text === '';
  }
  if (!answered) return true;
  const last = look.lines.at(-1) ?? '';
  return !(look.lines.length - 1 > at && isPromptIndicator(last));
}

/** A line that looks like a prompt of anything: it ends in one of `>` `$` `%` `#` `❯`. A menu entry does not count. */
export function isPromptIndicator(line: string): boolean {
  return /[>$%#❯]$/u.test(line) && !isMenuLine(line);
}

export interface DialogStep {
  readonly keys: readonly string[];
  /** The question should go away after these keys; otherwise only the mark moves. */
  readonly final: boolean;
}

/**
 * The next keys for a question: move the mark to the wanted option, and only when it is seen there, Enter. So a
 * swallowed arrow key never confirms the wrong answer.
 */
export function nextDialogStep(found: FoundDialog): DialogStep {
  const { rule, menu } = found;
  const wanted = menu ? menu.options.findIndex((option) => rule.wanted.test(option.label)) : -1;
  if (!menu || wanted < 0) return { keys: rule.blindKeys ?? [], final: true };
  const distance = wanted - menu.marked;
  if (distance === 0) return { keys: ['Enter'], final: true };
  return { keys: Array<string>(Math.abs(distance)).fill(distance > 0 ? 'Down' : 'Up'), final: false };
}

export interface Question {
  /** The sentence that asks. */
  readonly text: string;
  /** What stands between it and the choice, such as the command to be run; `''`: nothing. */
  readonly body: string;
  /** A choice, or words that only a question has; otherwise the screen just ends in a question mark. */
  readonly sure: boolean;
  readonly options: readonly string[];
}

/** Lines that may stand below the last option of a choice: key hints and a frame. */
const MAX_LINES_BELOW_MENU = 8;
const ASKING_LAST_LINE = [
  /[([]\s*y(es)?\s*[/|]\s*n(o)?\s*[)\]]\s*[:?>]?$/i,
  /\bpress (enter|return|any key|space)\b/i,
  /\b(password|passphrase|api key|token|code|username|email)\b[^:]*:$/i,
];
const MAYBE_ASKING = /\?\s*[:>]?$/;

/** A question of any program: a marked choice at the end of the screen, or a last line that asks. */
export function findQuestion(look: Look, composer: Composer | undefined): Question | undefined {
  const menu = findMenu(look);
  const first = menu?.options[0];
  const end = menu?.options.at(-1);
  const below = end ? look.lines.slice(end.index + 1).filter((line) => line !== '').length : 0;
  if (menu && first && end && below <= MAX_LINES_BELOW_MENU && !(composer && composer.index > end.index)) {
    const options = menu.options.map((option) => option.label);
    return { ...headingAbove(look, first.index), options, sure: true };
  }
  if (composer) return undefined;
  const last = (look.lines.at(-1) ?? '').trim();
  const sure = ASKING_LAST_LINE.some((pattern) => pattern.test(last));
  return sure || MAYBE_ASKING.test(last) ? { text: last, body: '', options: [], sure } : undefined;
}

const HEADING_LOOK_UP_LINES = 14;

/** The sentence that a choice belongs to: the nearest above that ends in `?` or `:`, wrapped lines joined, else the nearest line. */
function headingAbove(look: Look, index: number): Pick<Question, 'text' | 'body'> {
  const above = look.lines
    .slice(Math.max(0, index - HEADING_LOOK_UP_LINES), index)
    .map((line) => line.replace(/[│╭╮╰╯─]/gu, ' ').trim());
  const end = above.findLastIndex((line) => /[?:]$/.test(line));
  if (end < 0) return { text: above.findLast((line) => line !== '') ?? '', body: '' };
  const start = above.slice(0, end).lastIndexOf('') + 1;
  const paragraph = above.slice(start, end + 1).join(' ');
  const text = /[^.!?]*[?:]$/.exec(paragraph)?.[0].trim() ?? paragraph;
  const body = above.slice(end + 1).filter((line) => line !== '');
  return { text, body: body.join('\n') };
}

function lastIndexOfAny(look: Look, needles: readonly string[]): number {
  return look.lines.findLastIndex((line) => needles.some((needle) => line.includes(needle)));
}
