/** Whether a `*` may stand for the character at that place, too. */
export type Absorbs = (text: string, index: number) => boolean;

export const anything: Absorbs = () => true;

/**
 * What `*` stands for in a permission never reaches beyond one simple command, nor out of a folder that the pattern names:
 * `git status*` does not allow `git status; rm -rf /`, and `src/*` not `src/../x`. Whoever wants that writes it himself.
 */
export const oneCommand: Absorbs = (text, index) => {
  const character = text[index] ?? '';
  // Either half of `$(` may stand in the pattern.
  const isSubstitution =
    (character === '$' && text[index + 1] === '(') || (character === '(' && text[index - 1] === '$');
  return !SEPARATORS.has(character) && !isSubstitution && !isUpwards(text, index);
};

/** A slash, and then the folder above; a quote or a blank is the end of the path. */
const UPWARDS = /^\/\.\.(?![^/\s"'])/;

/** The character is one of the two dots. */
const isUpwards = (text: string, index: number): boolean =>
  [index - 1, index - 2].some((at) => at >= 0 && UPWARDS.test(text.slice(at, at + 4)));

const SEPARATORS = new Set([';', '&', '|', '<', '>', '`', '\n', '\r']);

type Part = { readonly kind: 'star' } | { readonly kind: 'character'; readonly character: string };

/** Whether the pattern means the whole text; `*` is a run of characters, `\*` a star. Takes at most length x length steps. */
export function globMatches(pattern: string, text: string, absorbs: Absorbs): boolean {
  const parts = partsOf(pattern);
  let [at, read] = [0, 0];
  let star: { readonly after: number; read: number } | undefined;
  while (read < text.length) {
    const part = parts[at];
    if (part?.kind === 'star') {
      star = { after: at + 1, read };
      at += 1;
    } else if (part?.character === text[read]) {
      at += 1;
      read += 1;
    } else {
      // The shortest run that fits is as good as any longer one: what it leaves out the next star would meet.
      if (!star || !absorbs(text, star.read)) return false;
      star.read += 1;
      at = star.after;
      read = star.read;
    }
  }
  return parts.slice(at).every(({ kind }) => kind === 'star');
}

function partsOf(pattern: string): readonly Part[] {
  const parts: Part[] = [];
  for (let index = 0; index < pattern.length; index += 1) {
    const character = pattern[index] ?? '';
    if (character === '*') {
      parts.push({ kind: 'star' });
    } else if (character === '\\' && pattern[index + 1] === '*') {
      parts.push({ kind: 'character', character: '*' });
      index += 1;
    } else {
      parts.push({ kind: 'character', character });
    }
  }
  return parts;
}

/** The pattern that means exactly this text. */
export function literalPattern(text: string): string {
  return text.replaceAll('*', '\\*');
}
