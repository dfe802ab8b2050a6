import { type ArgSpec, type CommandSpec, type GroupSpec, JSON_OPTION, type OptionSpec } from '../cli/spec.ts';

const NUDGE_ARGS = [
  { name: 'session', summary: 'name, alias or id of a session', completes: 'session' },
  { name: 'text', summary: 'what to say; a single - reads it from stdin', variadic: true },
] as const;

const WAIT: OptionSpec = {
  name: 'wait',
  value: 'duration',
  summary: 'how long to stand by while the agent is busy',
  default: '30s',
};

const DELIVERY: OptionSpec = {
  name: 'delivery',
  value: 'mode',
  summary: 'wait-idle; immediate: even into a busy agent, or an error; queue: without standing by',
  default: 'wait-idle',
  completes: ['wait-idle', 'immediate', 'queue'],
};

const NUDGE_DETAILS =
  'The text arrives as one message, of any size, and is submitted once. It says that the agent took it only when that was ' +
  'seen. While the agent is busy, down or held, the message waits in its queue, which outlives every process: it is ' +
  'delivered in order when the agent comes to rest, and given up after 24 hours. An agent that sleeps is woken for it.';

const nudge: CommandSpec = {
  path: 'nudge',
  summary: 'Say something to an agent.',
  details: NUDGE_DETAILS,
  args: NUDGE_ARGS,
  options: [DELIVERY, WAIT, JSON_OPTION],
  examples: [
    { command: 'gc nudge mayor "What is the state of the parser?"', explains: 'one message' },
    { command: 'gc nudge mayor - < notes.md', explains: 'a whole file as one message' },
  ],
  city: true,
  load: async () => (await import('../commands/nudge.ts')).runNudge,
};

export const sessionNudge: CommandSpec = {
  path: 'session nudge',
  summary: 'Say something to an agent (as `gc nudge`).',
  details: NUDGE_DETAILS,
  args: NUDGE_ARGS,
  options: [DELIVERY, WAIT, JSON_OPTION],
  examples: [
    {
      command: 'gc session nudge mayor "stop after this file" --delivery immediate',
      explains: 'do not wait',
    },
  ],
  city: true,
  load: async () => (await import('../commands/nudge.ts')).runNudge,
};

const PENDING = {
  args: [
    {
      name: 'session',
      summary: 'name, alias or id of a session; without it all of them',
      optional: true,
      completes: 'session',
    },
  ],
  options: [JSON_OPTION],
  details:
    'Permissions that agents want and other questions that wait on their screens or in their protocols. What an agent ' +
    'program answers by itself, or is told to, is not among them.',
  exits: [{ code: 1, when: 'some session could not be looked at' }],
  city: true,
  load: async () => (await import('../commands/questions.ts')).runPending,
} satisfies Partial<CommandSpec>;

const pending: CommandSpec = {
  ...PENDING,
  path: 'pending',
  summary: 'Show what agents ask you.',
  examples: [{ command: 'gc pending', explains: 'who waits, for what, and how it is answered' }],
};

export const sessionPending: CommandSpec = {
  ...PENDING,
  path: 'session pending',
  summary: 'Show what agents ask you (as `gc pending`).',
  examples: [{ command: 'gc session pending mayor', explains: 'of one session' }],
};

export const sessionRespond: CommandSpec = {
  path: 'session respond',
  summary: 'Answer what an agent asks.',
  details:
    'The first answer counts; a later one, also of somebody else, is told that it came too late. An agent cannot answer ' +
    'for itself: the command is refused inside a session. The log says who answered. With --for the same is answered so ' +
    'without a person from now on, see `gc rule`.',
  args: [
    {
      name: 'question',
      summary: 'its id as gc pending shows it, or the session that asks',
      completes: 'session',
    },
    {
      name: 'choice',
      summary: 'the number of an option, its words or their beginning; or approve, deny, yes, no',
      variadic: true,
    },
  ],
  options: [
    {
      name: 'for',
      value: 'scope',
      summary: 'how long it holds: once; session; project: in that folder; city; always: for you',
      default: 'once',
      completes: ['once', 'session', 'project', 'city', 'always'],
    },
    { name: 'text', value: 'text', summary: 'what the agent is told besides, as a message' },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc session respond q1 1', explains: 'the first choice' },
    { command: 'gc session respond q1 no --text "use git mv"', explains: 'and what to do instead' },
    { command: 'gc session respond q1 yes --for session', explains: 'the same again needs nobody' },
    { command: 'gc session respond reviewer deny', explains: 'whatever that session asks now' },
  ],
  city: true,
  load: async () => (await import('../commands/questions.ts')).runRespond,
};

const QUEUE_SESSION: ArgSpec = {
  name: 'session',
  summary: 'name, alias or id of a session; without it the one this runs in',
  optional: true,
  completes: 'session',
};

const nudgeStatus: CommandSpec = {
  path: 'nudge status',
  summary: 'Show the messages that wait for a session, are being delivered, or were given up.',
  args: [QUEUE_SESSION],
  options: [{ name: 'all', summary: 'of every session that has any' }, JSON_OPTION],
  examples: [{ command: 'gc nudge status mayor', explains: 'and why each of them still waits' }],
  city: true,
  load: async () => (await import('../commands/nudge-queue.ts')).runNudgeStatus,
};

const nudgeDrain: CommandSpec = {
  path: 'nudge drain',
  summary: 'Tell the messages that wait, and take them out of the queue.',
  args: [QUEUE_SESSION],
  options: [
    {
      name: 'inject',
      summary: 'called by a turn hook: as a reminder for the agent; nothing without messages',
    },
  ],
  examples: [{ command: 'gc nudge drain', explains: 'inside a session: its own messages' }],
  exits: [{ code: 1, when: 'nothing waits (with --inject it is always 0)' }],
  city: true,
  hidden: true,
  load: async () => (await import('../commands/nudge-queue.ts')).runNudgeDrain,
};

const nudgePoll: CommandSpec = {
  path: 'nudge poll',
  summary: 'Try to deliver what waits, once.',
  args: [QUEUE_SESSION],
  options: [
    { name: 'session', value: 'session', summary: 'the same as the argument', completes: 'session' },
    { name: 'follow', summary: 'again and again until the session is gone' },
    { name: 'interval', value: 'duration', summary: 'between two rounds', default: '2s' },
    {
      name: 'quiescence',
      value: 'duration',
      summary: 'accepted; the controller knows when an agent rests',
      default: '3s',
    },
  ],
  examples: [{ command: 'gc nudge poll mayor', explains: 'the controller does it by itself' }],
  city: true,
  hidden: true,
  load: async () => (await import('../commands/nudge-queue.ts')).runNudgePoll,
};

const explain: CommandSpec = {
  path: 'explain',
  summary: 'Show the last decisions about a session, what they saw, and what helps now.',
  args: [{ name: 'session', summary: 'name, alias or id of a session', completes: 'session' }],
  options: [JSON_OPTION],
  examples: [{ command: 'gc explain proj/worker-2', explains: 'why it restarted, or why it does not' }],
  city: true,
  load: async () => (await import('../commands/explain.ts')).runExplain,
};

const events: CommandSpec = {
  path: 'events',
  summary: 'Read what happened in a city, or follow it.',
  options: [
    { name: 'type', value: 'type', summary: 'only this type, e.g. session.crashed' },
    { name: 'since', value: 'duration', summary: 'only the last 10m, 2h, 3d ...' },
    { name: 'after', value: 'seq', summary: 'only events with a higher number' },
    { name: 'seq', summary: 'print the number of the newest event' },
    { name: 'follow', short: 'f', summary: 'print events as JSON lines as they come, until Ctrl-C' },
    { name: 'watch', summary: 'wait for the first matching events, print them and end' },
    { name: 'timeout', value: 'duration', summary: 'how long --watch waits', default: '30s' },
    {
      name: 'payload-match',
      value: 'key=value',
      summary: 'only events whose payload has this; one key twice: either value',
      repeatable: true,
    },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc events --since 1h', explains: 'a table of the last hour' },
    { command: 'gc events --follow', explains: 'one JSON object per line' },
    { command: 'gc events --watch --type session.stopped --after 120', explains: 'block until it happened' },
  ],
  city: true,
  load: async () => (await import('../commands/events.ts')).runEvents,
};

export const talkGroup: GroupSpec = {
  word: '',
  heading: 'Agents at work',
  summary: '',
  bare: 'help',
  commands: [nudge, nudgeStatus, nudgeDrain, nudgePoll, pending, explain, events],
};
