import { type CommandSpec, type GroupSpec, JSON_OPTION, type OptionSpec } from '../cli/spec.ts';

const TEMPLATE: OptionSpec = {
  name: 'template',
  value: 'agent',
  summary: 'the agent whose sessions are watched',
  completes: 'agent',
};

const SINCE: OptionSpec = { name: 'since', value: 'duration', summary: 'only the last 10m, 2h, 3d ...' };

const start: CommandSpec = {
  path: 'trace start',
  summary: 'Watch what the controller decides about the sessions of an agent, for a while.',
  details:
    'From then on every pass of the controller writes what it saw and decided about them, and what it did. At level detail ' +
    'also of sessions that nothing is done about: why not, with everything that was looked at. It ends by itself, and ' +
    'survives restarts of the controller. The newest 20,000 records of at most 7 days are kept.',
  options: [
    TEMPLATE,
    { name: 'for', value: 'duration', summary: 'how long', default: '15m' },
    {
      name: 'level',
      value: 'level',
      summary: 'detail or baseline',
      default: 'baseline',
      completes: ['baseline', 'detail'],
    },
    { name: 'auto', summary: 'for programs: a person who stops their own trace leaves this one' },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc trace start --template proj/worker', explains: 'for 15 minutes' },
    { command: 'gc trace start --template mayor --level detail --for 1h', explains: 'why nothing happens' },
  ],
  city: true,
  load: async () => (await import('../commands/trace.ts')).runTraceStart,
};

const stop: CommandSpec = {
  path: 'trace stop',
  summary: 'End watching an agent; what was written stays.',
  options: [TEMPLATE, { name: 'all', summary: 'what programs watch of it, too' }, JSON_OPTION],
  examples: [{ command: 'gc trace stop --template mayor', explains: 'before its time is over' }],
  city: true,
  load: async () => (await import('../commands/trace.ts')).runTraceStop,
};

const status: CommandSpec = {
  path: 'trace status',
  summary: 'Show what is watched, and how much was written.',
  options: [JSON_OPTION],
  examples: [{ command: 'gc trace status', explains: 'JSON, unless at a terminal' }],
  city: true,
  load: async () => (await import('../commands/trace.ts')).runTraceStatus,
};

const show: CommandSpec = {
  path: 'trace show',
  summary: 'Show the records, oldest first.',
  options: [
    TEMPLATE,
    SINCE,
    { name: 'trace-id', value: 'id', summary: 'only this pass' },
    { name: 'tick', value: 'number', summary: 'only passes of this number' },
    {
      name: 'type',
      value: 'type',
      summary: 'only this type',
      completes: ['cycle', 'decision', 'change', 'action', 'session'],
    },
    { name: 'reason', value: 'text', summary: 'only with exactly this reason' },
    {
      name: 'json',
      value: 'bool',
      valueOptional: true,
      summary: 'true: an array, as without a terminal; false: one line for each',
    },
  ],
  examples: [
    { command: 'gc trace show --template mayor --since 5m', explains: 'an array of objects' },
    { command: 'gc trace show --type action --json=false', explains: 'one line for each' },
  ],
  city: true,
  load: async () => (await import('../commands/trace.ts')).runTraceShow,
};

const cycle: CommandSpec = {
  path: 'trace cycle',
  summary: 'Show all that was written of one pass of the controller.',
  options: [
    {
      name: 'tick',
      value: 'number',
      summary: 'its number, of the newest controller that has it; without it the last one',
    },
    JSON_OPTION,
  ],
  examples: [{ command: 'gc trace cycle --tick 12', explains: 'as one JSON object, unless at a terminal' }],
  city: true,
  load: async () => (await import('../commands/trace.ts')).runTraceCycle,
};

const reasons: CommandSpec = {
  path: 'trace reasons',
  summary: 'Count how often each reason was given.',
  options: [TEMPLATE, SINCE, JSON_OPTION],
  examples: [{ command: 'gc trace reasons --template mayor', explains: 'what it mostly waits for' }],
  city: true,
  load: async () => (await import('../commands/trace.ts')).runTraceReasons,
};

const tail: CommandSpec = {
  path: 'trace tail',
  summary: 'Print the last 20 records, then those that come, until Ctrl-C.',
  options: [
    TEMPLATE,
    { name: 'type', value: 'type', summary: 'only this type' },
    { name: 'json', summary: 'one JSON object per line, as without a terminal' },
  ],
  examples: [{ command: 'gc trace tail --template mayor', explains: 'none is left out' }],
  city: true,
  load: async () => (await import('../commands/trace.ts')).runTraceTail,
};

export const traceGroup: GroupSpec = {
  word: 'trace',
  heading: 'Agents at work',
  summary: 'Watch, pass by pass, what the controller decides and why.',
  bare: 'help',
  commands: [start, stop, status, show, cycle, reasons, tail],
};
