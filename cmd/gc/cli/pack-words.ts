import { nearest } from '../../../internal/config/document/nearest.ts';

/** What is needed of a pack's command to find it: `gc <binding> <words>`. */
export interface PackWords {
  readonly binding: string;
  readonly words: readonly string[];
}

export type PackCall<Command extends PackWords> =
  /** No pack of the city is called by this name. */
  | { readonly kind: 'none' }
  | { readonly kind: 'run'; readonly command: Command; readonly args: readonly string[] }
  | { readonly kind: 'help'; readonly command: Command }
  /** The commands below these words. */
  | { readonly kind: 'list'; readonly path: readonly string[]; readonly commands: readonly Command[] }
  | {
      readonly kind: 'unknown';
      readonly path: readonly string[];
      readonly word: string;
      readonly meant: string | undefined;
    };

const HELP_WORDS: ReadonlySet<string> = new Set(['help', '-h', '--help']);

/**
 * Which command of a pack the words mean: the longest one that they begin with. What is behind it is the command's own,
 * also what looks like an option of ours. Pure. Source: Gas City pack commands.
 */
export function packCall<Command extends PackWords>(
  all: readonly Command[],
  binding: string,
  argv: readonly string[],
): PackCall<Command> {
  const commands = all.filter((command) => command.binding === binding);
  if (commands.length === 0) return { kind: 'none' };
  const command = longestMatch(commands, argv);
  if (command) return { kind: 'run', command, args: argv.slice(command.words.length) };
  const [first = ''] = argv;
  return first === 'help' ? helpOn(commands, argv.slice(1)) : listOrUnknown(commands, argv);
}

/** What `gc help <binding> <words>` means. */
export function packHelp<Command extends PackWords>(
  all: readonly Command[],
  binding: string,
  words: readonly string[],
): PackCall<Command> {
  const commands = all.filter((command) => command.binding === binding);
  return commands.length === 0 ? { kind: 'none' } : helpOn(commands, words);
}

function longestMatch<Command extends PackWords>(
  commands: readonly Command[],
  argv: readonly string[],
): Command | undefined {
  let best: Command | undefined;
  for (const command of commands) {
    if (startsWith(argv, command.words) && command.words.length > (best?.words.length ?? -1)) best = command;
  }
  return best;
}

function helpOn<Command extends PackWords>(
  commands: readonly Command[],
  words: readonly string[],
): PackCall<Command> {
  const command = commands.find(
    (each) => each.words.length === words.length && startsWith(words, each.words),
  );
  if (command && words.length > 0) return { kind: 'help', command };
  return listOrUnknown(commands, words);
}

function listOrUnknown<Command extends PackWords>(
  commands: readonly Command[],
  words: readonly string[],
): PackCall<Command> {
  let known = 0;
  while (known < words.length && below(commands, words.slice(0, known + 1)).length > 0) known += 1;
  const path = words.slice(0, known);
  const word = words[known];
  const there = below(commands, path);
  if (word === undefined || HELP_WORDS.has(word)) return { kind: 'list', path, commands: there };
  const next = there.map((command) => command.words[known] ?? '');
  return { kind: 'unknown', path, word, meant: nearest(word, next) };
}

/** The words that can come next, each with the first command that it leads to. */
export function nextPackWords<Command extends PackWords>(
  commands: readonly Command[],
  path: readonly string[],
): ReadonlyMap<string, Command> {
  const next = new Map<string, Command>();
  for (const command of commands) {
    const spelled = [command.binding, ...command.words];
    const word = spelled[path.length];
    if (word !== undefined && startsWith(spelled, path) && !next.has(word)) next.set(word, command);
  }
  return next;
}

const below = <Command extends PackWords>(commands: readonly Command[], path: readonly string[]) =>
  commands.filter(({ words }) => startsWith(words, path));

const startsWith = (words: readonly string[], start: readonly string[]): boolean =>
  start.every((word, index) => words[index] === word);
