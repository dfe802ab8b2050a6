/** The worktree that one session is to have, templates expanded. */
export interface WorktreeSpec {
  /** Absolute. */
  readonly path: string;
  readonly rig: { readonly name: string; readonly path: string };
  /** What people call the session. */
  readonly session: string;
  /** A legal branch name, see branch-name.ts. For a new worktree only. */
  readonly branch: string;
  /** What a new branch starts from; `''`: the rig's commit. */
  readonly base: string;
  readonly setup: readonly string[];
  readonly archive: readonly string[];
  readonly copy: readonly string[];
  /** 0: none. */
  readonly ports: number;
  /** Of the set-up commands; an empty value means unset. */
  readonly env: Readonly<Record<string, string>>;
  /** The part of it that is kept for the archive commands: no secrets. */
  readonly facts: Readonly<Record<string, string>>;
}

/** A worktree that a session can begin in. */
export interface ReadyWorktree {
  readonly path: string;
  /** What is checked out now; `''`: a commit without a branch. */
  readonly branch: string;
  /** It was made just now. */
  readonly made: boolean;
  /** GC_WORKTREE, GC_BRANCH, and with ports GC_PORT and GC_PORT_COUNT. */
  readonly env: Readonly<Record<string, string>>;
  /** What people should know: files that were left out or kept elsewhere. */
  readonly notes: readonly string[];
}
