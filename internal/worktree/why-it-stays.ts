/** What is known of one worktree. */
export interface WorktreeState {
  readonly path: string;
  readonly rig: string;
  /** What people call the session that has it, or had it last. */
  readonly session: string;
  /** What is checked out; `''`: a commit without a branch. */
  readonly branch: string;
  /** This city made it, proven by git's own folder for it. */
  readonly ours: boolean;
  /** `gone`: git still knows it, its folder is not there. */
  readonly folder: 'there' | 'gone';
  readonly making: boolean;
  /** The reason that git was given, `''` without one; `undefined`: not locked. */
  readonly locked: string | undefined;
  /** Changed, added or deleted files that are not committed, without what was put there by us. */
  readonly uncommitted: readonly string[];
  /** Commits that are on no remote, on no other branch and not in the base. */
  readonly unpushed: number;
  /** `rebase`, `merge` ... that somebody began and did not end. */
  readonly underWay: string | undefined;
  /** Other repositories inside that git does not look into. */
  readonly nested: readonly string[];
  /** The session that lives in it. */
  readonly usedBy: string | undefined;
  /** It could not be looked at, and why. */
  readonly unreadable: string | undefined;
}

export type StateWord =
  | 'in use'
  | 'free'
  | 'foreign'
  | 'making'
  | 'unreadable'
  | 'locked'
  | 'uncommitted'
  | 'unpushed'
  | 'gone';

interface Stay {
  readonly word: StateWord;
  readonly why: string;
}

/** Why it may not be removed; `undefined`: it may. */
export function whyItStays(state: WorktreeState): string | undefined {
  return stay(state)?.why;
}

/** One word for a list: the first reason, or that nothing keeps it. */
export function stateWord(state: WorktreeState): StateWord {
  return stay(state)?.word ?? (state.folder === 'gone' ? 'gone' : 'free');
}

/** Most telling first: who has it, whose it is, then what would be lost. */
function stay(state: WorktreeState): Stay | undefined {
  const { usedBy, ours, making, unreadable, locked, underWay, nested } = state;
  if (usedBy !== undefined) return { word: 'in use', why: `session ${usedBy} lives in it` };
  if (!ours) return { word: 'foreign', why: 'it was not made by this city' };
  if (making) return { word: 'making', why: 'it is being made, or its making was interrupted' };
  if (unreadable !== undefined) return { word: 'unreadable', why: `could not tell: ${unreadable}` };
  if (locked !== undefined) {
    return { word: 'locked', why: locked === '' ? 'it is locked' : `it is locked: ${locked}` };
  }
  if (underWay !== undefined) return { word: 'uncommitted', why: `a ${underWay} is under way in it` };
  const lost = [uncommittedText(state.uncommitted), unpushedText(state.unpushed)].filter(
    (text) => text !== '',
  );
  if (lost.length > 0) {
    const word = state.uncommitted.length > 0 ? 'uncommitted' : 'unpushed';
    return { word, why: lost.join(', ') };
  }
  if (nested.length > 0)
    return { word: 'uncommitted', why: `another repository is in it: ${nested.join(', ')}` };
  return undefined;
}

const SHOWN_FILES = 2;

function uncommittedText(files: readonly string[]): string {
  if (files.length === 0) return '';
  const more = files.length > SHOWN_FILES ? ', ...' : '';
  const count = files.length === 1 ? '1 uncommitted file' : `${files.length} uncommitted files`;
  return `${count} (${files.slice(0, SHOWN_FILES).join(', ')}${more})`;
}

function unpushedText(commits: number): string {
  if (commits === 0) return '';
  return commits === 1 ? '1 unpushed commit' : `${commits} unpushed commits`;
}
