import { type ArgSpec, type CommandSpec, type GroupSpec, JSON_OPTION, type OptionSpec } from '../cli/spec.ts';

const SESSION: ArgSpec = { name: 'session', summary: 'the uid of a session (sess-…)', optional: true };
const SESSION_OPTION: OptionSpec = {
  name: 'session',
  value: 'uid',
  summary: 'the same as the argument',
  hidden: true,
};

/** How the service is found. */
const SERVER: readonly OptionSpec[] = [
  {
    name: 'server',
    value: 'address',
    summary: 'host:port or unix:path; default: GC_SESSIONS_SERVER, else the city that runs here',
  },
  {
    name: 'journal',
    value: 'file',
    summary: 'no server: this file of logs, with the echo harness alone',
    completes: 'path',
  },
  { name: 'project', value: 'name', summary: "whose sessions; default: the server's own project" },
  {
    name: 'token-file',
    value: 'file',
    summary: 'what the server wants to be shown; default: GC_SERVE_TOKEN',
    completes: 'path',
  },
  JSON_OPTION,
];

const ON_ONE = { args: [SESSION], city: true } as const;
const UID = 'sess-3f2a91…';

const createSession: CommandSpec = {
  path: 'sessions create',
  summary: 'Make a session; prints its uid.',
  options: [
    { name: 'name', value: 'name', summary: 'how lists show it' },
    { name: 'harness', value: 'name', summary: "what runs its turns; default: the server's" },
    { name: 'model', value: 'id', summary: 'kept with the session' },
    { name: 'label', value: 'key=value', summary: 'a label', repeatable: true },
    { name: 'annotation', value: 'key=value', summary: 'an annotation', repeatable: true },
    ...SERVER,
  ],
  examples: [
    { command: 'gc sessions create --harness coder --name "parser"', explains: 'in the city that runs here' },
    { command: 'gc sessions create --server 127.0.0.1:8080', explains: 'at any server of the protocol' },
  ],
  city: true,
  load: async () => (await import('../commands/sessions-make.ts')).runSessionsCreate,
};

const list: CommandSpec = {
  path: 'sessions list',
  summary: 'List the sessions of a server, newest first.',
  options: [{ name: 'page-size', value: 'n', summary: 'how many are asked for at once' }, ...SERVER],
  examples: [{ command: 'gc sessions list --server 127.0.0.1:8080', explains: 'one line each' }],
  city: true,
  load: async () => (await import('../commands/sessions-read.ts')).runSessionsList,
};

const get: CommandSpec = {
  path: 'sessions get',
  summary: 'Show a session, and what it waits for.',
  ...ON_ONE,
  options: [SESSION_OPTION, ...SERVER],
  examples: [{ command: `gc sessions get ${UID}`, explains: 'with the command that answers it' }],
  load: async () => (await import('../commands/sessions-read.ts')).runSessionsGet,
};

const exec: CommandSpec = {
  path: 'sessions exec',
  summary: 'Run one turn and show it as it is committed.',
  details:
    'Without a session a new one is made and named first. With --json one update per line. Leaving with Ctrl-C ends the ' +
    'turn; what was committed stays, and gc sessions resume goes on from there.',
  args: [SESSION, { name: 'text', summary: 'what to say; - reads stdin', variadic: true, optional: true }],
  options: [
    SESSION_OPTION,
    { name: 'input', value: 'text', summary: 'what to say, instead of words; - reads stdin' },
    { name: 'harness', value: 'name', summary: 'what runs this turn, or the new session' },
    { name: 'expect', value: 'n', summary: 'only if this is the last record (0: an empty log)' },
    { name: 'deadline', value: 'duration', summary: 'the turn is ended after this' },
    { name: 'config', value: 'file', summary: 'handed to the harness as it is', completes: 'path' },
    ...SERVER,
  ],
  examples: [
    { command: `gc sessions exec ${UID} "Fix the parser"`, explains: 'exit code 1 when the turn fails' },
    { command: 'gc sessions exec --input hi --journal logs.db', explains: 'a new session, without a server' },
  ],
  city: true,
  load: async () => (await import('../commands/sessions-exec.ts')).runSessionsExec,
};

const replay: CommandSpec = {
  path: 'sessions replay',
  summary: 'Print the records of a session again.',
  ...ON_ONE,
  options: [
    SESSION_OPTION,
    { name: 'from', value: 'n', summary: 'the first record', default: '1' },
    { name: 'to', value: 'n', summary: 'the last record (default: the end)' },
    ...SERVER,
  ],
  examples: [{ command: `gc sessions replay ${UID} --json`, explains: 'one record per line' }],
  load: async () => (await import('../commands/sessions-read.ts')).runSessionsReplay,
};

const fork: CommandSpec = {
  path: 'sessions fork',
  summary: 'Make new sessions that share the log of one up to a record.',
  ...ON_ONE,
  options: [
    SESSION_OPTION,
    { name: 'at', value: 'n', summary: 'the last record that is shared (default: the end)' },
    { name: 'count', value: 'n', summary: 'how many, at most 128 (default: one, or one for each name)' },
    { name: 'names', value: 'a,b', summary: 'their names, one for each' },
    { name: 'label', value: 'key=value', summary: 'a label of all of them', repeatable: true },
    ...SERVER,
  ],
  examples: [{ command: `gc sessions fork ${UID} --at 10 --names left,right`, explains: 'two ways on' }],
  load: async () => (await import('../commands/sessions-make.ts')).runSessionsFork,
};

const suspend: CommandSpec = {
  path: 'sessions suspend',
  summary: 'Let go of what runs a session; its log stays.',
  ...ON_ONE,
  options: [SESSION_OPTION, ...SERVER],
  examples: [{ command: `gc sessions suspend ${UID}`, explains: 'until it is resumed' }],
  load: async () => (await import('../commands/sessions-life.ts')).runSessionsSuspend,
};

const resume: CommandSpec = {
  path: 'sessions resume',
  summary: 'Go on with a session, and with its last turn if that was cut.',
  ...ON_ONE,
  options: [SESSION_OPTION, ...SERVER],
  examples: [{ command: `gc sessions resume ${UID}`, explains: 'nothing that is recorded is done again' }],
  load: async () => (await import('../commands/sessions-life.ts')).runSessionsResume,
};

const cancel: CommandSpec = {
  path: 'sessions cancel',
  summary: 'End the turn that runs or waits.',
  ...ON_ONE,
  options: [
    SESSION_OPTION,
    { name: 'execution', value: 'id', summary: 'only if it is this one' },
    { name: 'reason', value: 'text', summary: 'kept in the log' },
    ...SERVER,
  ],
  examples: [{ command: `gc sessions cancel ${UID} --reason "wrong branch"`, explains: 'the session stays' }],
  load: async () => (await import('../commands/sessions-life.ts')).runSessionsCancel,
};

const deleteSession: CommandSpec = {
  path: 'sessions delete',
  summary: 'Delete a session for good; its log stays readable.',
  ...ON_ONE,
  options: [SESSION_OPTION, ...SERVER],
  examples: [{ command: `gc sessions delete ${UID}`, explains: 'gone from lists, takes no more turns' }],
  load: async () => (await import('../commands/sessions-life.ts')).runSessionsDelete,
};

const verify: CommandSpec = {
  path: 'sessions verify',
  summary: 'Check here that no record was changed, lost or added, whatever the server says.',
  ...ON_ONE,
  options: [SESSION_OPTION, ...SERVER],
  examples: [{ command: `gc sessions verify ${UID}`, explains: 'exit code 1 when the log is damaged' }],
  load: async () => (await import('../commands/sessions-verify.ts')).runSessionsVerify,
};

const ANSWER: readonly OptionSpec[] = [
  SESSION_OPTION,
  { name: 'reason', value: 'text', summary: 'kept with the answer' },
  { name: 'execution', value: 'id', summary: 'the question: execution …' },
  { name: 'tool-call', value: 'id', summary: '… tool call …' },
  { name: 'request-seq', value: 'n', summary: '… and record; all three or none' },
  { name: 'actor', value: 'name', summary: 'who answers; default: USER' },
  { name: 'identity-issuer', value: 'text', summary: 'who vouches for that name' },
  { name: 'identity-subject', value: 'text', summary: 'the name there' },
  ...SERVER,
];

const approve: CommandSpec = {
  path: 'sessions approve',
  summary: 'Say yes to the call that a session waits with, and let it go on.',
  details: 'For people: from inside a session it is refused.',
  ...ON_ONE,
  options: ANSWER,
  examples: [{ command: `gc sessions approve ${UID}`, explains: 'gc sessions get shows what it asks' }],
  load: async () => (await import('../commands/sessions-answer.ts')).runSessionsApprove,
};

const deny: CommandSpec = {
  path: 'sessions deny',
  summary: 'Say no to the call that a session waits with, and let it go on.',
  details: 'For people: from inside a session it is refused.',
  ...ON_ONE,
  options: ANSWER,
  examples: [{ command: `gc sessions deny ${UID} --reason "not on Fridays"`, explains: 'the agent is told' }],
  load: async () => (await import('../commands/sessions-answer.ts')).runSessionsDeny,
};

const ACTIONS = ['register', 'get', 'list', 'retire'];

const harness: CommandSpec = {
  path: 'sessions harness',
  summary: "Register, show, list or retire the harnesses of a server; prints the proto's JSON.",
  details: 'Through the listener for operators, which has an address of its own (gc serve --registry).',
  args: [
    { name: 'action', summary: ACTIONS.join(', '), completes: ACTIONS },
    { name: 'name', summary: 'of the harness', optional: true },
  ],
  options: [
    { name: 'server', value: 'address', summary: 'the listener for operators: host:port or unix:path' },
    { name: 'name', value: 'name', summary: 'the same as the argument', hidden: true },
    { name: 'spec', value: 'file', summary: 'register: the JSON of a HarnessSpec', completes: 'path' },
    { name: 'observe', summary: 'get: ask what answers at its address' },
    { name: 'include-retired', summary: 'list: those too' },
    { name: 'page-size', value: 'n', summary: 'list: how many are asked for at once' },
    { name: 'reason', value: 'text', summary: 'retire: kept with it' },
    {
      name: 'token-file',
      value: 'file',
      summary: 'what the server wants to be shown; default: GC_SERVE_TOKEN',
      completes: 'path',
    },
    JSON_OPTION,
  ],
  examples: [
    {
      command: 'gc sessions harness register coder --spec coder.json --server 127.0.0.1:8081',
      explains: 'new sessions can name it',
    },
    { command: 'gc sessions harness list --server 127.0.0.1:8081', explains: 'the built-in ones too' },
  ],
  load: async () => (await import('../commands/sessions-harness.ts')).runSessionsHarness,
};

export const sessionsGroup: GroupSpec = {
  word: 'sessions',
  heading: 'Sessions',
  summary: 'Use any server of durable sessions (agentsessions.v1).',
  bare: 'error',
  commands: [
    createSession,
    list,
    get,
    exec,
    replay,
    fork,
    suspend,
    resume,
    approve,
    deny,
    cancel,
    deleteSession,
    verify,
    harness,
  ],
};
