import { findMenu, type Look } from './screen.ts';

/** What is asked for and how it is answered, before it has an id. */
export interface FoundApproval {
  readonly tool: string;
  readonly input: string;
  readonly options: readonly string[];
  /** One key in tmux spelling per option. */
  readonly keys: readonly string[];
}

const CODEX_TRIGGER = /^\s*Would you like to (run the following command|make the following edits)\?$/;
const CODEX_FOOTER = /^\s*Press enter to confirm or esc to cancel$/;
const CODEX_COMMAND = /^\s+\$ (.*)$/;

/**
 * Codex 0.171.0: no frame, a heading, what is asked for, a marked choice, and the key hints as the very last line: what
 * was answered is taken off the screen, so anything below means that it is only text.
 */
export function codexApproval(look: Look): FoundApproval | undefined {
  if (!CODEX_FOOTER.test(look.lines.at(-1) ?? '')) return undefined;
  const menu = findMenu(look);
  const [first] = menu?.options ?? [];
  if (!menu || !first || first.index < look.visibleFrom) return undefined;
  // All of it is indented: the first heading below what is not is the program's own, a later one stands in the command.
  const begin = look.lines.findLastIndex((line, index) => index < first.index && /^\S/.test(line)) + 1;
  const trigger = look.lines.findIndex((line, index) => index >= begin && CODEX_TRIGGER.test(line));
  if (trigger < 0 || trigger > first.index) return undefined;
  const between = look.lines.slice(trigger + 1, first.index);
  const isCommand = /command/.test(look.lines[trigger] ?? '');
  return {
    tool: isCommand ? 'Shell' : 'Edit',
    input: isCommand
      ? commandIn(between)
      : between
          .map((line) => line.trim())
          .join('\n')
          .trim(),
    options: menu.options.map(({ label }) => label),
    keys: menu.options.map(({ digit }) => digit),
  };
}

/** From the line with the prompt sign to the choices: a command may have empty lines. */
function commandIn(lines: readonly string[]): string {
  const at = lines.findIndex((line) => CODEX_COMMAND.test(line));
  const command = CODEX_COMMAND.exec(lines[at] ?? '')?.[1];
  if (command === undefined) return '';
  return [command, ...lines.slice(at + 1).map((line) => line.trim())].join('\n').trim();
}

const OPENCODE_BAR = /^\s*┃ ?/u;
const OPENCODE_TRIGGER = /^\s*┃\s+△ Permission required$/u;
const OPENCODE_BUTTONS = /^\s*┃\s+Allow once\s+Allow always\s+Reject\b/u;

/**
 * opencode 1.18.33: a bar at the left, and the choices side by side. Which of them is marked shows by colour alone. The
 * first one is, until somebody moves the mark; so `Enter` allows once, or at worst rejects or opens a further question,
 * and `Escape` rejects wherever the mark is. What it would allow for longer has no key that is safe.
 */
export function opencodeApproval(look: Look): FoundApproval | undefined {
  const buttons = look.lines.findLastIndex((line) => OPENCODE_BUTTONS.test(line));
  if (buttons < look.visibleFrom || buttons < 0) return undefined;
  if (look.lines.slice(buttons + 1).some((line) => line.replace(OPENCODE_BAR, '').trim() !== ''))
    return undefined;
  // The first heading beside the bar is the program's own, a later one stands in the command.
  const begin = look.lines.findLastIndex((line, index) => index < buttons && !OPENCODE_BAR.test(line)) + 1;
  const trigger = look.lines.findIndex((line, index) => index >= begin && OPENCODE_TRIGGER.test(line));
  if (trigger < 0 || trigger > buttons) return undefined;
  const box = look.lines
    .slice(trigger + 1, buttons)
    .map((line) => line.replace(OPENCODE_BAR, '').trim())
    .filter((line) => line !== '');
  const [title = '', ...body] = box;
  const [first = '', ...more] = body;
  const named = title.replace(/^[^\p{L}\p{N}]+/u, '');
  const [word = '', ...rest] = named.split(' ');
  const asked = first.startsWith('$ ')
    ? { tool: 'Shell', input: [first.slice(2), ...more].join('\n') }
    : {
        tool: word || 'permission',
        input: [rest.join(' '), ...body].filter((line) => line !== '').join('\n'),
      };
  return { ...asked, options: ['Allow once', 'Reject'], keys: ['Enter', 'Escape'] };
}
