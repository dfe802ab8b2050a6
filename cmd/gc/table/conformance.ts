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

const sessions: CommandSpec = {
  path: 'conformance sessions',
  summary: 'Run the cases of agentsessions.v1 against any server of sessions.',
  details:
    'Black-box: through its Sessions service and, with --registry, with harnesses that this program plays and the server ' +
    'calls back on loopback. Makes sessions in projects of their own and leaves them there. Without --server our own is ' +
    'started for it, over logs that go with it, and its logs are cut as crashes would.',
  options: [
    { name: 'server', value: 'address', summary: 'host:port or unix:path of the Sessions service' },
    { name: 'registry', value: 'address', summary: 'its listener for operators' },
    { name: 'only', value: 'text', summary: 'only cases whose name contains this' },
    { name: 'list', summary: 'print the cases and what each proves; run nothing' },
    { name: 'junit', value: 'file', summary: 'also write a JUnit report', completes: 'path' },
    {
      name: 'token-file',
      value: 'file',
      summary: 'what the server wants to be shown; default: GC_SERVE_TOKEN',
      completes: 'path',
    },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc conformance sessions', explains: 'all cases, on our own server' },
    {
      command: 'gc conformance sessions --server 127.0.0.1:8080 --registry 127.0.0.1:8081',
      explains: 'exit code 1 when a case fails',
    },
  ],
  load: async () => (await import('../commands/conformance-sessions.ts')).runConformanceSessions,
};

export const conformanceGroup: GroupSpec = {
  word: 'conformance',
  heading: 'Machine',
  summary: 'Check an implementation against a published contract.',
  bare: 'error',
  commands: [provider, sessions],
};
