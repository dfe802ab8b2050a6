import { type ArgSpec, type CommandSpec, type GroupSpec, JSON_OPTION } from '../cli/spec.ts';

export const sessionWait: CommandSpec = {
  path: 'session wait',
  summary: 'Have a session told when work, a time or another session has come; it may sleep until then.',
  details:
    'The wait is kept in the city and outlives every process. When what it names has come, the session is woken if it sleeps ' +
    'and gets the note once, in the conversation that it was registered in. Without --sleep it works on meanwhile.',
  args: [
    {
      name: 'session',
      summary: 'name, alias or id of a session; without it the one this runs in',
      optional: true,
      completes: 'session',
    },
  ],
  options: [
    {
      name: 'on-beads',
      value: 'ids',
      summary: 'until these beads are closed, comma-separated',
      repeatable: true,
    },
    {
      name: 'on-session',
      value: 'session',
      summary: 'until this session is idle, asleep or closed',
      repeatable: true,
      completes: 'session',
    },
    { name: 'until', value: 'time', summary: 'until this time: 2026-01-31T14:00:00Z, or 14:00' },
    { name: 'for', value: 'duration', summary: 'until so long from now' },
    { name: 'any', summary: 'one of them is enough' },
    { name: 'note', value: 'text', summary: 'what the session is told then' },
    { name: 'sleep', summary: 'let it go to sleep meanwhile; a controller must run' },
    { name: 'expires', value: 'duration', summary: 'give up after so long, and tell it so' },
    JSON_OPTION,
  ],
  examples: [
    {
      command: 'gc session wait worker-3 --on-beads p-19,p-20 --note "merge both" --sleep',
      explains: 'asleep until both are closed',
    },
    {
      command: 'gc session wait --on-session reviewer --for 1h --any --note "look at the review"',
      explains: 'inside a session: one of both is enough',
    },
  ],
  city: true,
  load: async () => (await import('../commands/session-wait.ts')).runSessionWait,
};

const WAIT: ArgSpec = { name: 'wait', summary: 'id of a wait' };

const list: CommandSpec = {
  path: 'wait list',
  summary: 'List waits that are not over.',
  options: [
    {
      name: 'state',
      value: 'state',
      summary: 'pending, ready, closed, canceled, expired, failed or all; a comma list is fine',
      completes: ['pending', 'ready', 'closed', 'canceled', 'expired', 'failed', 'all'],
    },
    { name: 'session', value: 'session', summary: 'only of this session', completes: 'session' },
    JSON_OPTION,
  ],
  examples: [{ command: 'gc wait list --session worker-3', explains: 'why it sleeps' }],
  city: true,
  load: async () => (await import('../commands/wait.ts')).runWaitList,
};

const inspect: CommandSpec = {
  path: 'wait inspect',
  summary: 'Show one wait: what it waits for, how it stands, what became of its message.',
  args: [WAIT],
  options: [JSON_OPTION],
  examples: [{ command: 'gc wait inspect gc-12', explains: 'also of one that is over' }],
  city: true,
  load: async () => (await import('../commands/wait.ts')).runWaitInspect,
};

const cancel: CommandSpec = {
  path: 'wait cancel',
  summary: 'End a wait without telling its session; one that sleeps for nothing else is free again.',
  args: [WAIT],
  options: [JSON_OPTION],
  examples: [{ command: 'gc wait cancel gc-12', explains: 'its message is taken back' }],
  city: true,
  load: async () => (await import('../commands/wait.ts')).runWaitCancel,
};

const ready: CommandSpec = {
  path: 'wait ready',
  summary: 'Take a wait as satisfied; one that is over is tried anew as another one.',
  args: [WAIT],
  options: [JSON_OPTION],
  examples: [{ command: 'gc wait ready gc-12', explains: 'the session is woken and told now' }],
  city: true,
  load: async () => (await import('../commands/wait.ts')).runWaitReady,
};

export const waitGroup: GroupSpec = {
  word: 'wait',
  heading: 'Waits',
  summary: 'See and steer what sessions wait for.',
  bare: 'help',
  commands: [list, inspect, cancel, ready],
};
