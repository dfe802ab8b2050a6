/** A word that holds one of these, or white space, or nothing, is quoted when words are joined. Source: Gas City. */
const NEEDS_QUOTES = /^$|[\s"'\\|&;$!(){}[\]<>?*~#`]/;

/** The word in single quotes, whatever it holds. */
export function quoteWord(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** One command line; only words that need it are quoted. */
export function joinWords(words: readonly string[]): string {
  return words.map((word) => (NEEDS_QUOTES.test(word) ? quoteWord(word) : word)).join(' ');
}

/**
 * Splits a command line into words as a POSIX shell would quote them, without expansion. An unclosed quote runs to
 * the end.
 */
export function splitWords(line: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  let at = 0;
  while (at < line.length) {
    const character = line[at] ?? '';
    if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
      at += 1;
    } else if (character === "'") {
      const close = line.indexOf("'", at + 1);
      const end = close === -1 ? line.length : close;
      word = (word ?? '') + line.slice(at + 1, end);
      at = end + 1;
    } else if (character === '"') {
      const quoted = doubleQuoted(line, at + 1);
      word = (word ?? '') + quoted.text;
      at = quoted.next;
    } else if (character === '\\' && at + 1 < line.length) {
      if (line[at + 1] !== '\n') word = (word ?? '') + line[at + 1];
      at += 2;
    } else {
      word = (word ?? '') + character;
      at += 1;
    }
  }
  if (word !== undefined) words.push(word);
  return words;
}

function doubleQuoted(line: string, start: number): { readonly text: string; readonly next: number } {
  let text = '';
  let at = start;
  while (at < line.length && line[at] !== '"') {
    const following = line[at + 1];
    if (line[at] === '\\' && following !== undefined && '"\\$`\n'.includes(following)) {
      if (following !== '\n') text += following;
      at += 2;
    } else {
      text += line[at];
      at += 1;
    }
  }
  return { text, next: at + 1 };
}
