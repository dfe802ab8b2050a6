import { type CommandSpec, type GroupSpec, JSON_OPTION } from '../cli/spec.ts';

const list: CommandSpec = {
  path: 'worktree list',
  summary: 'List the worktrees of sessions, and why each of them stays.',
  options: [JSON_OPTION],
  examples: [{ command: 'gc worktree list', explains: 'which hold work that is nowhere else' }],
  city: true,
  load: async () => (await import('../commands/worktree.ts')).runWorktreeList,
};

const prune: CommandSpec = {
  path: 'worktree prune',
  summary: 'Remove the worktrees that nothing keeps, and say why the others stay.',
  details:
    'Only worktrees that this city made, that no session lives in, and whose work is all committed and pushed or merged. ' +
    'Their archive commands run first; a branch goes too when all of it is in its base.',
  args: [{ name: 'name', summary: 'a session, branch, folder name or path (default: all)', optional: true }],
  options: [{ name: 'dry-run', short: 'n', summary: 'only say what would be removed' }, JSON_OPTION],
  examples: [
    { command: 'gc worktree prune --dry-run', explains: 'nothing is touched' },
    { command: 'gc worktree prune proj/worker-3', explains: 'exit code 1 when it stays' },
  ],
  exits: [{ code: 1, when: 'the named worktree stays' }],
  city: true,
  load: async () => (await import('../commands/worktree.ts')).runWorktreePrune,
};

export const worktreeGroup: GroupSpec = {
  word: 'worktree',
  heading: 'Configuration',
  summary: 'List and remove the git worktrees of sessions.',
  bare: 'error',
  commands: [list, prune],
};
