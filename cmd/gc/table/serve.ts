import { type CommandSpec, type GroupSpec, JSON_OPTION } from '../cli/spec.ts';

const serve: CommandSpec = {
  path: 'serve',
  summary: 'Serve durable sessions to programs: gRPC, gRPC-Web and JSON on one address.',
  details:
    'The agentsessions.v1 service over one file of session logs, in this process until Ctrl-C or TERM. On loopback and on ' +
    'an owner-only socket nobody is asked for a token unless there is one; any other address needs one, from --token-file ' +
    'or GC_SERVE_TOKEN. The key of the model comes from MODEL_API_KEY or OPENAI_API_KEY. A running city serves its own ' +
    'logs already, on .gc/sessions.sock.',
  options: [
    {
      name: 'grpc',
      value: 'address',
      summary: 'host:port or unix:path of the Sessions service',
      default: '127.0.0.1:8080',
    },
    { name: 'addr', value: 'address', summary: 'the same as --grpc', hidden: true },
    {
      name: 'registry',
      value: 'address',
      summary: 'also serve HarnessRegistry there: a loopback IP and port',
    },
    { name: 'registry-addr', value: 'address', summary: 'the same as --registry', hidden: true },
    {
      name: 'journal',
      value: 'path',
      summary:
        'the file of the logs, or a folder/ for JSON lines; in a city its own, else ./agentsessions.db',
      completes: 'path',
    },
    { name: 'project', value: 'name', summary: "of sessions that name none; the city's name, else default" },
    {
      name: 'harness',
      value: 'name=address',
      summary: 'a harness that runs elsewhere: host:port, dns:///host:port, unix:path; needs --model',
      repeatable: true,
    },
    {
      name: 'command',
      value: 'name=kind:program',
      summary: 'a program that runs the turns; kind is claude, codex or shell',
      repeatable: true,
    },
    {
      name: 'work-dir',
      value: 'folder',
      summary: 'where --command programs work; default: here',
      completes: 'path',
    },
    { name: 'model', value: 'id', summary: 'a model behind an OpenAI-compatible endpoint; serves chat' },
    {
      name: 'model-base-url',
      value: 'url',
      summary: 'of that endpoint',
      default: 'https://api.openai.com/v1',
    },
    { name: 'model-path', value: 'path', summary: 'below it', default: '/chat/completions' },
    {
      name: 'model-auth-header',
      value: 'name',
      summary: 'header that carries the key',
      default: 'Authorization',
    },
    { name: 'token-file', value: 'file', summary: 'what callers must show; first line', completes: 'path' },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc serve', explains: 'on 127.0.0.1:8080, with the echo harness' },
    {
      command: 'gc serve --command coder=claude:claude',
      explains: 'Claude Code runs the turns, in this folder',
    },
    { command: 'gc serve --grpc 0.0.0.0:8080 --token-file token', explains: 'for other machines' },
  ],
  city: true,
  serves: () => true,
  load: async () => (await import('../commands/serve-sessions.ts')).runServe,
};

const serveHarness: CommandSpec = {
  path: 'serve harness',
  summary: 'Offer a harness to session hosts elsewhere.',
  details:
    'The Harness protocol of agentsessions.v1. Whoever reaches the address can drive it; the protocol knows no token, so ' +
    'another address than loopback or a socket needs --allow-wider.',
  args: [{ name: 'harness', summary: 'echo, chat, or the name of a --command', completes: ['echo', 'chat'] }],
  options: [
    { name: 'addr', value: 'address', summary: 'host:port or unix:path; 127.0.0.1:8082 unless told' },
    {
      name: 'command',
      value: 'name=kind:program',
      summary: 'the program behind that name',
      repeatable: true,
    },
    { name: 'work-dir', value: 'folder', summary: 'where it works; default: here', completes: 'path' },
    { name: 'model', value: 'id', summary: 'of the chat harness' },
    { name: 'allow-wider', summary: 'other machines may drive it' },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc serve harness echo', explains: 'for trying out a host' },
    {
      command: 'gc serve harness coder --command coder=claude:claude --addr unix:/run/me/coder.sock',
      explains: 'an agent program behind a socket',
    },
  ],
  serves: () => true,
  load: async () => (await import('../commands/serve-harness.ts')).runServeHarness,
};

export const serveGroup: GroupSpec = {
  word: '',
  heading: 'Machine',
  summary: '',
  bare: 'help',
  commands: [serve, serveHarness],
};
