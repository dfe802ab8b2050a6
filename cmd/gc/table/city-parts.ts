import { type ArgSpec, type CommandSpec, type GroupSpec, JSON_OPTION } from '../cli/spec.ts';

/** Optional for the parser: the command says what is missing. */
const words = (summary: string): ArgSpec => ({ name: 'words', summary, optional: true, variadic: true });

const emit: CommandSpec = {
  path: 'event emit',
  summary: 'Add an event of your own to what happened in the city.',
  details: 'It never fails: what cannot be recorded is said on stderr.',
  args: [{ name: 'type', summary: 'any word, e.g. deploy.done' }],
  options: [
    { name: 'subject', value: 'what', summary: 'what it is about' },
    { name: 'message', value: 'text', summary: 'one line for people' },
    { name: 'actor', value: 'who', summary: 'who did it (default: whoever runs this)' },
    { name: 'payload', value: 'json', summary: 'data for programs' },
  ],
  examples: [
    { command: 'gc event emit deploy.done --message "release 2"', explains: 'gc events shows it' },
    {
      command: `gc event emit build.failed --payload '{"job": 7}'`,
      explains: 'for gc events --payload-match',
    },
  ],
  city: true,
  load: async () => (await import('../commands/event.ts')).runEventEmit,
};

export const eventGroup: GroupSpec = {
  word: 'event',
  heading: 'Agents at work',
  summary: 'Add to what happened.',
  bare: 'error',
  commands: [emit],
};

const health: CommandSpec = {
  path: 'beads health',
  summary: 'Say whether the store of the work can be used.',
  options: [{ name: 'quiet', summary: 'only the exit code' }],
  examples: [{ command: 'gc beads health', explains: 'which store it is, and whether it answers' }],
  exits: [{ code: 1, when: 'it does not answer' }],
  city: true,
  load: async () => (await import('../commands/beads-health.ts')).runBeadsHealth,
};

const beadsCity: CommandSpec = {
  path: 'beads city',
  summary: 'Choose a Dolt server for the work: not in this program.',
  args: [words('use-managed or use-external')],
  options: [
    { name: 'dry-run', summary: 'accepted' },
    { name: 'host', value: 'host', summary: 'accepted' },
    { name: 'port', value: 'port', summary: 'accepted' },
    { name: 'user', value: 'user', summary: 'accepted' },
    { name: 'adopt-unverified', summary: 'accepted' },
  ],
  examples: [{ command: 'gc beads city use-managed', explains: 'says what there is instead' }],
  load: async () => (await import('../commands/not-built.ts')).runBeadsCity,
};

export const beadsGroup: GroupSpec = {
  word: 'beads',
  heading: 'Work',
  summary: 'The store of the work.',
  bare: 'error',
  commands: [beadsCity, health],
};

const SERVICE = words('a service of the city file');

const serviceList: CommandSpec = {
  path: 'service list',
  summary: 'List the services of the city file.',
  options: [JSON_OPTION],
  examples: [{ command: 'gc service list', explains: 'they are checked, and not run by this program' }],
  city: true,
  load: async () => (await import('../commands/service.ts')).runServiceList,
};

const serviceDoctor: CommandSpec = {
  path: 'service doctor',
  summary: 'Show what the city file says about a service.',
  args: [SERVICE],
  examples: [{ command: 'gc service doctor hooks', explains: 'as it was read' }],
  city: true,
  load: async () => (await import('../commands/service.ts')).runServiceDoctor,
};

const serviceRestart: CommandSpec = {
  path: 'service restart',
  summary: 'Start a service anew: not in this program.',
  args: [SERVICE],
  examples: [{ command: 'gc service restart hooks', explains: 'says that services are not run' }],
  load: async () => (await import('../commands/not-built.ts')).runServiceRestart,
};

export const serviceGroup: GroupSpec = {
  word: 'service',
  heading: 'Configuration',
  summary: 'Services that the city file names.',
  bare: 'error',
  commands: [serviceList, serviceDoctor, serviceRestart],
};

const convergeList: CommandSpec = {
  path: 'converge list',
  summary: 'List the refinement loops: there are none in this program.',
  options: [
    { name: 'all', summary: 'the ended ones, too' },
    { name: 'state', value: 'state', summary: 'active, waiting_manual or terminated' },
    JSON_OPTION,
  ],
  examples: [{ command: 'gc converge list', explains: 'an empty list' }],
  city: true,
  load: async () => (await import('../commands/not-built.ts')).runConvergeList,
};

const CONVERGE_WORDS = ['create', 'status', 'approve', 'iterate', 'stop', 'retry', 'test-gate'] as const;

const convergeOthers = CONVERGE_WORDS.map(
  (word): CommandSpec => ({
    path: `converge ${word}`,
    summary: 'Of a refinement loop: not in this program.',
    args: [words('a loop')],
    options: ['formula', 'target', 'title', 'max-iterations', 'gate', 'gate-condition', 'gate-timeout'].map(
      (name) => ({ name, value: 'value', summary: 'accepted', hidden: true }),
    ),
    examples: [{ command: `gc converge ${word}`, explains: 'says that there are none' }],
    hidden: true,
    load: async () => (await import('../commands/not-built.ts')).runConverge,
  }),
);

export const convergeGroup: GroupSpec = {
  word: 'converge',
  heading: 'Work',
  summary: 'Refinement loops of Gas City; there are none here.',
  bare: 'help',
  commands: [convergeList, ...convergeOthers],
};

export const graph: CommandSpec = {
  path: 'graph',
  summary: 'Show what waits for what.',
  args: [
    { name: 'ids', summary: 'beads; a convoy stands for the work in it', optional: true, variadic: true },
  ],
  options: [
    { name: 'tree', summary: 'each with what it waits for below it' },
    { name: 'mermaid', summary: 'as a Mermaid diagram' },
  ],
  examples: [
    { command: 'gc graph gc-12', explains: 'a table of the convoy' },
    { command: 'gc graph app-3 app-4 --mermaid', explains: 'for a page that draws it' },
  ],
  city: true,
  load: async () => (await import('../commands/graph.ts')).runGraph,
};

const CITY: ArgSpec = {
  name: 'path',
  summary: 'the folder of a city (default: the one of this folder)',
  optional: true,
  completes: 'path',
};

export const citySuspend: CommandSpec = {
  path: 'suspend',
  summary: 'Let all agents of a city rest, and start none.',
  details: 'Written into the city file. What runs is asked to end; the controller stays.',
  args: [CITY],
  examples: [{ command: 'gc suspend', explains: 'until gc resume' }],
  city: true,
  load: async () => (await import('../commands/city-suspend.ts')).runCitySuspend,
};

export const cityResume: CommandSpec = {
  path: 'resume',
  summary: 'Have the agents of a suspended city work again.',
  args: [CITY],
  examples: [{ command: 'gc resume', explains: 'those that are wanted start at once' }],
  city: true,
  load: async () => (await import('../commands/city-suspend.ts')).runCityResume,
};
