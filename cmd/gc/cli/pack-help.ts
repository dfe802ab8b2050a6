import type { PackWords } from './pack-words.ts';

export interface DescribedCommand extends PackWords {
  readonly packName: string;
  readonly description: string;
}

const INDENT = '  ';
const SHOWN_WORDS = 6;

/** What `gc <binding>` prints: every command with its words and what it does. */
export function packListText(
  binding: string,
  path: readonly string[],
  commands: readonly DescribedCommand[],
): string {
  const packs = [...new Set(commands.map(({ packName }) => packName))].join(', ');
  const called = ['gc', binding, ...path].join(' ');
  return [
    `Usage: ${called} <command> [arguments]`,
    '',
    `Commands of pack ${packs}:`,
    ...columns(commands.map(({ words, description }) => [words.slice(path.length).join(' '), description])),
    '',
    `More about one: gc ${binding} help ${[...path, '<command>'].join(' ')}`,
    '',
  ].join('\n');
}

/** What `gc <binding> help <words>` prints. `help`: the text of its help file, or `''`. */
export function packHelpText(command: DescribedCommand & { readonly run: string }, help: string): string {
  const { binding, words, packName, description, run } = command;
  const parts = [
    `Usage: ${['gc', binding, ...words].join(' ')} [arguments]`,
    ...(description === '' ? [] : [description]),
    ...(help.trim() === '' ? [] : [help.trim()]),
    `It runs ${run} of pack ${packName}; its arguments are its own.`,
  ];
  return `${parts.join('\n\n')}\n`;
}

/** What `gc help` adds inside a city; `''` when its packs bring no commands. */
export function packGroupsText(
  commands: readonly DescribedCommand[],
  title: (text: string) => string = (text) => text,
): string {
  const groups = new Map<string, Set<string>>();
  for (const { binding, words } of commands) {
    const known = groups.get(binding) ?? new Set<string>();
    groups.set(binding, known.add(words[0] ?? ''));
  }
  if (groups.size === 0) return '';
  const rows = [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([binding, words]) => rowOf(binding, words));
  return `\n${title('Packs of this city:')}\n${columns(rows).join('\n')}\n`;
}

function rowOf(binding: string, words: ReadonlySet<string>): readonly [string, string] {
  const all = [...words].filter((word) => word !== '').sort();
  const more = all.length > SHOWN_WORDS ? ', ...' : '';
  return [`${binding} ...`, all.slice(0, SHOWN_WORDS).join(', ') + more];
}

function columns(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(0, ...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `${INDENT}${left.padEnd(width)}${INDENT}${right}`.trimEnd());
}
