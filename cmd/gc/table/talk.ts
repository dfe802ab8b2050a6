import { type CommandSpec, type GroupSpec, JSON_OPTION, type OptionSpec } from '../cli/spec.ts';

const NUDGE_ARGS = [
  { name: 'session', summary: 'name, alias or id of a session', completes: 'session' },
  { name: 'text', summary: 'what to say; a single - reads it from stdin', variadic: true },
] as const;

const WAIT: OptionSpec = {
  name: 'wait',
  value: 'duration',
  summary: 'how long a busy agent is waited for',
  default: '30s',
};

const NUDGE_DETAILS =
  'The text arrives as one message, of any size, and is submitted once. Success is reported only when the agent was ' +
  'seen taking it; an agent that stays busy is an error and nothing is typed.';

const nudge: CommandSpec = {
  path: 'nudge',
  summary: 'Say something to an agent.',
  details: NUDGE_DETAILS,
  args: NUDGE_ARGS,
  options: [WAIT, JSON_OPTION],
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
  options: [
    {
      name: 'delivery',
      value: 'mode',
      summary: 'wait-idle, or immediate: even into a busy agent',
      default: 'wait-idle',
      completes: ['wait-idle', 'immediate'],
    },
    WAIT,
    JSON_OPTION,
  ],
  examples: [
    {
      command: 'gc session nudge mayor "stop after this file" --delivery immediate',
      explains: 'do not wait',
    },
  ],
  city: true,
  load: async () => (await import('../commands/nudge.ts')).runSessionNudge,
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
  commands: [nudge, explain, events],
};
