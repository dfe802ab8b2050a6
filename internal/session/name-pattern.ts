import type { ConfiguredName } from './names.ts';
import type { SessionRecord } from './record.ts';

/** What a pattern names. */
export interface PatternMatch {
  /** The bead id, or the identity where there is no record: it means this one and no other. */
  readonly target: string;
  /** What people call it. */
  readonly name: string;
  /** The config has the name, and it never had a session. */
  readonly reserved?: true;
}

export interface PatternQuestion {
  readonly pattern: string;
  /** The open sessions of the city. */
  readonly records: readonly SessionRecord[];
  readonly configured: readonly ConfiguredName[];
  /** The rig in whose folder the command runs, `''` for none. */
  readonly rig: string;
}

/** A word that stands for several names: none of these characters can be in a name. */
export function isNamePattern(word: string): boolean {
  return /[*?]/.test(word);
}

/**
 * The sessions whose display name, alias or session name fits: `*` is any number of characters, `?` is one. A pattern
 * without a folder means the sessions of the own rig when any of them fits without the rig's name before it.
 */
export function matchingSessions(question: PatternQuestion): readonly PatternMatch[] {
  const { pattern, rig } = question;
  const fits = matcher(pattern);
  const candidates = candidatesOf(question);
  const prefix = `${rig}/`;
  const own =
    rig === '' || pattern.includes('/')
      ? []
      : candidates.filter(({ names, near }) =>
          names.some((name) =>
            name.startsWith(prefix) ? fits(name.slice(prefix.length)) : near && fits(name),
          ),
        );
  const found = own.length > 0 ? own : candidates.filter(({ names }) => names.some(fits));
  return found
    .map(({ target, name, reserved }) => ({ target, name, ...(reserved ? { reserved } : {}) }))
    .toSorted((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
}

interface Candidate extends PatternMatch {
  readonly names: readonly string[];
  /** Of an agent of the own rig, whatever its own name is. */
  readonly near: boolean;
}

function candidatesOf({ records, configured, rig }: PatternQuestion): readonly Candidate[] {
  const live = records.filter((record) => !record.closed);
  const taken = new Set(live.map(identityOf));
  return [
    ...live.map((record): Candidate => {
      const names = [identityOf(record), record.alias, record.sessionName].filter((name) => name !== '');
      const near = rig !== '' && record.template.startsWith(`${rig}/`);
      return { target: record.id, name: names[0] ?? record.id, names, near };
    }),
    ...configured
      .filter(({ identity }) => !taken.has(identity))
      .map(
        ({ identity, sessionName }): Candidate => ({
          target: identity,
          name: identity,
          names: [identity, sessionName],
          near: false,
          reserved: true,
        }),
      ),
  ];
}

/** A retired record remembers the identity that it had, and no longer answers to it. */
const identityOf = (record: SessionRecord): string =>
  record.metadata['continuity_eligible'] === 'false' ? '' : record.namedIdentity;

/** Only the last star is tried anew: no pattern can make this slow. */
function matcher(pattern: string): (name: string) => boolean {
  return (name) => {
    let at = 0;
    let star = -1;
    let from = 0;
    for (let n = 0; n < name.length; ) {
      const wanted = pattern[at];
      if (wanted !== '*' && (wanted === '?' || wanted === name[n])) {
        n += 1;
        at += 1;
      } else if (wanted === '*') {
        star = at;
        from = n;
        at += 1;
      } else if (star >= 0) {
        at = star + 1;
        from += 1;
        n = from;
      } else return false;
    }
    return [...pattern.slice(at)].every((left) => left === '*');
  };
}
