/** One worktree as git lists it. */
export interface WorktreeEntry {
  readonly path: string;
  /** `''`: no commit yet, or a bare repository. */
  readonly head: string;
  /** Short name; `''`: detached or bare. */
  readonly branch: string;
  /** Why it is locked, `''` without a reason; `undefined`: it is not. */
  readonly locked: string | undefined;
  readonly bare: boolean;
}

/** Reads `git worktree list --porcelain -z`. */
export function parseWorktreeList(text: string): readonly WorktreeEntry[] {
  return text
    .split('\0\0')
    .map((block) => block.split('\0').filter((line) => line !== ''))
    .filter((lines) => lines.length > 0)
    .map(entryOf);
}

function entryOf(lines: readonly string[]): WorktreeEntry {
  const value = (key: string): string | undefined => {
    const line = lines.find((text) => text === key || text.startsWith(`${key} `));
    return line?.slice(key.length + 1);
  };
  const head = value('HEAD') ?? '';
  return {
    path: value('worktree') ?? '',
    head: /^0+$/.test(head) ? '' : head,
    branch: (value('branch') ?? '').replace(/^refs\/heads\//, ''),
    locked: value('locked'),
    bare: value('bare') !== undefined,
  };
}
