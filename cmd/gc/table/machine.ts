import { type CommandSpec, type GroupSpec, JSON_OPTION } from '../cli/spec.ts';

const doctor: CommandSpec = {
  path: 'doctor',
  summary: 'Check the city, the tools and the processes, and say what to do.',
  options: [{ name: 'verbose', short: 'v', summary: 'details of every check' }, JSON_OPTION],
  examples: [{ command: 'gc doctor', explains: 'exit code 1 when a check failed' }],
  city: true,
  load: async () => (await import('../commands/doctor.ts')).runDoctor,
};

const completion: CommandSpec = {
  path: 'completion',
  summary: 'Print the completion script for a shell.',
  details: 'Completes commands, options and the names of living sessions and agents.',
  args: [{ name: 'shell', summary: 'bash, zsh or fish', completes: ['bash', 'zsh', 'fish'] }],
  examples: [
    { command: 'source <(gc completion bash)', explains: 'in ~/.bashrc' },
    { command: 'source <(gc completion zsh)', explains: 'in ~/.zshrc, after compinit' },
    { command: 'gc completion fish > ~/.config/fish/completions/gc.fish', explains: 'once' },
  ],
  load: async () => (await import('../commands/completion.ts')).runCompletion,
};

const complete: CommandSpec = {
  path: '__complete',
  summary: 'Answer a completion request of a shell.',
  args: [
    {
      name: 'words',
      summary: 'the words so far; the last may be unfinished',
      variadic: true,
      optional: true,
    },
  ],
  examples: [{ command: "gc __complete -- session attach ''", explains: 'names of sessions' }],
  hidden: true,
  load: async () => (await import('../commands/completion.ts')).runComplete,
};

const version: CommandSpec = {
  path: 'version',
  summary: 'Print the version.',
  options: [{ name: 'long', short: 'l', summary: 'with commit and build time' }, JSON_OPTION],
  examples: [{ command: 'gc version --long', explains: 'for bug reports' }],
  load: async () => (await import('../commands/version.ts')).runVersion,
};

const help: CommandSpec = {
  path: 'help',
  summary: 'Print the commands, or how to use one.',
  args: [{ name: 'command', summary: 'its words', optional: true, variadic: true, completes: 'command' }],
  examples: [{ command: 'gc help session attach', explains: 'the same as gc session attach --help' }],
  load: async () => (await import('../commands/help.ts')).runHelp,
};

export const machineGroup: GroupSpec = {
  word: '',
  heading: 'Machine',
  summary: '',
  bare: 'help',
  commands: [doctor, completion, complete, version, help],
};
