/** Looks like `-x`, `--long` or `--long=value`; anything else that starts with a dash and has a blank is prose. */
const OPTION_WORD = /^--?[A-Za-z][\w-]*(=|$)/;

/**
 * Hides words that start with a dash but are prose ("- fix the parser first") from the option parser.
 * `restore` puts them back into whatever came out of it.
 */
export function shieldTexts(argv: readonly string[]): {
  readonly words: readonly string[];
  readonly restore: (text: string) => string;
} {
  const hidden: string[] = [];
  const words = argv.map((word) => {
    if (!word.startsWith('-') || !/\s/.test(word) || OPTION_WORD.test(word)) return word;
    hidden.push(word);
    return `\u0000text${hidden.length - 1}\u0000`;
  });
  if (hidden.length === 0) return { words, restore: (text) => text };
  return {
    words,
    restore: (text) =>
      text.replace(/\u0000text(\d+)\u0000/g, (_, index: string) => hidden[Number(index)] ?? ''),
  };
}
