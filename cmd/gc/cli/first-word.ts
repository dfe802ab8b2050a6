import type { GroupSpec } from './spec.ts';

/** What is called, read without a parser: the words behind it may be for another program. */
export interface Called {
  readonly word: string;
  /** Everything behind the word, as typed. */
  readonly rest: readonly string[];
  /** `--city`. */
  readonly city: string | undefined;
}

/** `undefined`: nothing is called, or an option of the program itself comes first. */
export function firstWord(argv: readonly string[]): Called | undefined {
  let city: string | undefined;
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? '';
    if (word === '--city') {
      index += 1;
      city = argv[index];
    } else if (word.startsWith('--city=')) {
      city = word.slice('--city='.length);
    } else {
      return word === '' || word.startsWith('-') ? undefined : { word, rest: argv.slice(index + 1), city };
    }
  }
  return undefined;
}

/** The program's own word: no pack can take it. */
export function isCoreWord(groups: readonly GroupSpec[], word: string): boolean {
  return groups.some((group) =>
    group.word === '' ? group.commands.some(({ path }) => path === word) : group.word === word,
  );
}
