import { isCoreWord } from './first-word.ts';
import type { DescribedCommand } from './pack-help.ts';
import { nextPackWords } from './pack-words.ts';
import type { ArgSpec, CommandSpec, Completes, GroupSpec, OptionSpec } from './spec.ts';

/** What is not in the table, asked for only when a word of that kind is being completed. */
export interface LiveNames {
  /** The commands that packs of the city bring. */
  packs(): Promise<readonly DescribedCommand[]>;
  of(kind: 'session' | 'agent' | 'template' | 'city'): Promise<readonly string[]>;
}

export interface Completion {
  readonly value: string;
  readonly explains: string;
}

export type CompletionAnswer =
  | { readonly kind: 'words'; readonly words: readonly Completion[] }
  /** The shell completes paths itself. */
  | { readonly kind: 'paths' };

const CITY_OPTION: OptionSpec = {
  name: 'city',
  value: 'path',
  summary: 'the city to work on',
  completes: 'path',
};
const HELP_OPTION: OptionSpec = { name: 'help', short: 'h', summary: 'print help' };

/** What the last of `words`, which may be unfinished or empty, can become. */
export async function complete(
  groups: readonly GroupSpec[],
  words: readonly string[],
  names: LiveNames,
): Promise<CompletionAnswer> {
  const done = words.slice(0, -1);
  const current = words.at(-1) ?? '';
  const { command, level, words: said, positionals, openOption } = walk(groups, done);
  if (openOption) return valuesOf(openOption.completes, groups, current, names);
  const optionWithValue = /^--([\w-]+)=(.*)$/s.exec(current);
  if (optionWithValue) {
    const option = optionsOf(command).find((each) => each.name === optionWithValue[1]);
    const answer = await valuesOf(option?.completes, groups, optionWithValue[2] ?? '', names);
    return answer.kind === 'paths' ? answer : prefixed(answer.words, `--${optionWithValue[1]}=`);
  }
  if (current.startsWith('-')) return matching(optionsOf(command).flatMap(optionWords), current);
  if (!command) return matching([...level, ...(await packLevel(groups, said, names))], current);
  const arg = argAt(command, positionals);
  return valuesOf(arg?.completes, groups, current, names);
}

interface Walked {
  readonly command: CommandSpec | undefined;
  /** The words that can come next while no command is chosen. */
  readonly level: readonly Completion[];
  /** The words so far, without options, while no command is chosen. */
  readonly words: readonly string[];
  /** How many arguments of the command stand there already. */
  readonly positionals: number;
  /** An option that still waits for its value. */
  readonly openOption: OptionSpec | undefined;
}

function walk(groups: readonly GroupSpec[], done: readonly string[]): Walked {
  const words: string[] = [];
  let command: CommandSpec | undefined;
  let positionals = 0;
  let openOption: OptionSpec | undefined;
  for (const word of done) {
    if (openOption) {
      openOption = undefined;
    } else if (word.startsWith('-') && word !== '-') {
      openOption = optionsOf(command).find((each) => takesValue(each, word));
    } else if (command) {
      const deeper = positionals === 0 ? specAt(groups, `${command.path} ${word}`) : undefined;
      if (deeper) command = deeper;
      else positionals += 1;
    } else {
      words.push(word);
      command = specAt(groups, words.join(' '));
    }
  }
  const level = command ? [] : nextWords(groups, words.join(' '));
  return { command, level, words, positionals, openOption };
}

const specAt = (groups: readonly GroupSpec[], path: string): CommandSpec | undefined =>
  groups.flatMap((group) => group.commands).find((spec) => spec.path === path);

/** `nudge status` is a word of `nudge`, which is a command itself. */
const isDirectlyUnder = (path: string, spec: CommandSpec): boolean =>
  spec.path.split(' ').length === path.split(' ').filter((word) => word !== '').length + 1;

async function packLevel(
  groups: readonly GroupSpec[],
  said: readonly string[],
  names: LiveNames,
): Promise<readonly Completion[]> {
  const [first] = said;
  if (first !== undefined && isCoreWord(groups, first)) return [];
  const next = [...nextPackWords(await names.packs(), said)];
  return next
    .filter(([word]) => said.length > 0 || !isCoreWord(groups, word))
    .map(([value, { binding, words, description }]) => ({
      value,
      explains:
        said.length === 0 ? `commands of ${binding}` : words.length === said.length ? description : '',
    }));
}

const takesValue = (option: OptionSpec, word: string): boolean =>
  option.value !== undefined && (word === `--${option.name}` || word === `-${option.short}`);

function nextWords(groups: readonly GroupSpec[], path: string): readonly Completion[] {
  const words: Completion[] = [];
  for (const group of groups) {
    if (group.word !== path) {
      if (path === '' && group.word !== '') words.push({ value: group.word, explains: group.summary });
      continue;
    }
    for (const spec of group.commands) {
      if (spec.hidden || !isDirectlyUnder(path, spec)) continue;
      words.push({ value: spec.path.split(' ').at(-1) ?? '', explains: spec.summary });
    }
  }
  return words;
}

function optionsOf(command: CommandSpec | undefined): readonly OptionSpec[] {
  const own = (command?.options ?? []).filter((option) => !option.hidden);
  return !command || command.city ? [...own, CITY_OPTION, HELP_OPTION] : [...own, HELP_OPTION];
}

const optionWords = (option: OptionSpec): readonly Completion[] => [
  { value: `--${option.name}`, explains: option.summary },
];

function argAt(command: CommandSpec, index: number): ArgSpec | undefined {
  const args = command.args ?? [];
  const last = args.at(-1);
  return args[index] ?? (last?.variadic ? last : undefined);
}

async function valuesOf(
  kind: Completes | undefined,
  groups: readonly GroupSpec[],
  current: string,
  names: LiveNames,
): Promise<CompletionAnswer> {
  if (kind === undefined) return { kind: 'words', words: [] };
  if (kind === 'path') return { kind: 'paths' };
  if (kind === 'command') return matching(nextWords(groups, ''), current);
  const values = typeof kind === 'string' ? await names.of(kind) : kind;
  return matching(
    values.map((value) => ({ value, explains: '' })),
    current,
  );
}

function matching(words: readonly Completion[], current: string): CompletionAnswer {
  return { kind: 'words', words: words.filter(({ value }) => value.startsWith(current)) };
}

function prefixed(words: readonly Completion[], prefix: string): CompletionAnswer {
  return { kind: 'words', words: words.map((word) => ({ ...word, value: prefix + word.value })) };
}
