import { type CommandSpec, type GroupSpec, JSON_OPTION } from '../cli/spec.ts';

const provider: CommandSpec = {
  path: 'conformance provider',
  summary: 'Run the provider contract against an implementation.',
  details:
    'Starts real sessions in a private scratch folder (and, for tmux, on a private server) and removes them. The same ' +
    'cases are part of the tests of this program.',
  args: [
    {
      name: 'provider',
      summary: 'tmux, subprocess or fake',
      completes: ['tmux', 'subprocess', 'fake'],
    },
  ],
  options: [
    { name: 'only', value: 'text', summary: 'only cases whose name contains this' },
    { name: 'list', summary: 'print the cases and what each proves; run nothing' },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc conformance provider tmux', explains: 'all cases; exit code 1 when one fails' },
    { command: 'gc conformance provider subprocess --only nudge', explains: 'some of them' },
  ],
  load: async () => (await import('../commands/conformance.ts')).runConformanceProvider,
};

export const conformanceGroup: GroupSpec = {
  word: 'conformance',
  heading: 'Machine',
  summary: 'Check an implementation against the published contract.',
  bare: 'error',
  commands: [provider],
};
