import { GcError } from '../../platform/errors.ts';

/** One tmux command: its name and its arguments, nothing quoted. */
export type Command = readonly string[];

/** Words that the command language leaves as they are. */
const BARE_WORD = /^[A-Za-z0-9_./:@+,-]+$/;
/** What means something between double quotes, and every control character: a raw newline would end the command. */
const SPECIAL = /["\\$~\x01-\x1f\x7f]/g;

/**
 * One line of tmux's command language that runs `commands` as one group: when one fails, the rest is skipped.
 * @throws GcError `tmux-argument` for a NUL character, which the language cannot carry.
 */
export function commandLine(commands: readonly Command[]): string {
  return commands.map((command) => command.map(quoteWord).join(' ')).join(' ; ');
}

/** The same group as arguments of the tmux program. A last `;` of a word would separate commands, so it is escaped. */
export function commandArguments(commands: readonly Command[]): readonly string[] {
  return commands.flatMap((command, index) => [
    ...(index > 0 ? [';'] : []),
    ...command.map(escapeLastSemicolon),
  ]);
}

/** What `unlessDead` prints instead of acting. */
const DEAD = 'gc-pane-is-dead';

/**
 * `command` on a pane, decided by the server in the same breath: on a dead pane nothing is done, and the output says
 * so. tmux 3.3a itself crashes, with every session in it, when text is pasted into a pane whose program just ended.
 */
export function unlessDead(paneId: string, command: Command): Command {
  return [
    'if-shell',
    '-F',
    '-t',
    paneId,
    '#{pane_dead}',
    `display-message -p ${DEAD}`,
    commandLine([command]),
  ];
}

/** Whether an `unlessDead` command found its pane dead. */
export function wasDead(output: string | undefined): boolean {
  return output === DEAD;
}

/** How many answers a command gives over a control connection: a conditional one gives its own and its branch's. */
export function answersOf(command: Command): number {
  return command[0] === 'if-shell' ? 2 : 1;
}

/** `text` as a literal inside a tmux format. */
export function literalInFormat(text: string): string {
  return text.replaceAll('#', '##');
}

function quoteWord(word: string): string {
  if (word.includes('\0')) {
    throw new GcError('tmux-argument', 'a tmux argument cannot hold a NUL character');
  }
  if (BARE_WORD.test(word)) return word;
  return `"${word.replace(SPECIAL, (c) => `\\${c.charCodeAt(0).toString(8).padStart(3, '0')}`)}"`;
}

function escapeLastSemicolon(word: string): string {
  return word.endsWith(';') ? `${word.slice(0, -1)}\\;` : word;
}
