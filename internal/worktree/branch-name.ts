/** Longest part between two slashes, in UTF-8 bytes: git adds `.lock` to it, and file names end at 255. */
const PART_BYTES = 200;

/** What `git check-ref-format` refuses anywhere in a name, and halves of characters. */
const FORBIDDEN = /[\p{Cc}\p{Cs} ~^:?*[\\]+/gu;

/**
 * The nearest name that git takes as a branch; `''` when nothing of it is left.
 * Source: the rules of `git check-ref-format`.
 */
export function legalBranch(wanted: string): string {
  const parts = wanted
    .replace(FORBIDDEN, '-')
    .replaceAll('@{', '@-{')
    .split('/')
    .map(legalPart)
    .filter((part) => part !== '');
  const name = parts.join('/').replace(/^-+/, '');
  // Without its dashes the first part may be a word that git keeps for itself.
  const clean = parts.length > 0 && name !== parts.join('/') ? legalBranch(name) : name;
  return clean === '@' || clean === 'HEAD' ? '' : clean;
}

/** The branch of an agent that names none. */
export function defaultBranch(rig: string, instance: string): string {
  return legalBranch(`gc/${rig}/${instance}`);
}

function legalPart(part: string): string {
  const dotted = shorten(part)
    .replace(/\.{2,}/g, '.')
    .replace(/^\.+|\.+$/g, '');
  return dotted.endsWith('.lock') ? legalPart(`${dotted.slice(0, -'.lock'.length)}-lock`) : dotted;
}

function shorten(part: string): string {
  let bytes = 0;
  let kept = '';
  for (const character of part) {
    bytes += Buffer.byteLength(character);
    if (bytes > PART_BYTES) break;
    kept += character;
  }
  return kept;
}
