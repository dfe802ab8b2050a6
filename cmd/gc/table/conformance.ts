import { type CommandSpec, type GroupSpec, JSON_OPTION } from '../cli/spec.ts';

const provider: CommandSpec = {
  path: 'conformance provider',
  summary: 'Run the provider contract against an implementation.',
  details:
    'Starts real sessions in a private scratch folder (for tmux, on a private server; for k8s, in the namespace and with ' +
    'the image of the environment) and removes them. What a provider does not offer is not applicable and no failure; ' +
    'docs/capabilities.md says who offers what, docs/conformance.md how to judge a provider of your own.',
  args: [
    {
      name: 'provider',
      summary: 'tmux, subprocess, acp, k8s, exec:<script> or fake',
      completes: ['tmux', 'subprocess', 'acp', 'k8s', 'exec:', 'fake'],
    },
  ],
  options: [
    { name: 'only', value: 'text', summary: 'only cases whose name contains this' },
    { name: 'list', summary: 'print the cases, what each needs and proves; run nothing' },
    { name: 'requires', value: 'abilities', summary: 'fail when one of these is not offered: attach,watch' },
    { name: 'without', value: 'abilities', summary: 'do not judge by these' },
    { name: 'at-once', value: 'count', summary: 'cases at the same time', default: '4' },
    {
      name: 'junit',
      value: 'file',
      summary: 'also write a JUnit report; -: to stdout, and nothing else',
      completes: 'path',
    },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc conformance provider tmux', explains: 'all cases; exit code 1 when one fails' },
    { command: 'gc conformance provider subprocess --only nudge', explains: 'some of them' },
    {
      command: 'gc conformance provider exec:./my-sessions --requires messages',
      explains: 'a script of your own',
    },
  ],
  tidies: true,
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
    {
      name: 'junit',
      value: 'file',
      summary: 'also write a JUnit report; -: to stdout, and nothing else',
      completes: 'path',
    },
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
  tidies: true,
  load: async () => (await import('../commands/conformance-sessions.ts')).runConformanceSessions,
};

export const conformanceGroup: GroupSpec = {
  word: 'conformance',
  heading: 'Machine',
  summary: 'Check an implementation against a published contract.',
  bare: 'error',
  commands: [provider, sessions],
};
