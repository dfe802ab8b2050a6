import { type CommandSpec, type GroupSpec, JSON_OPTION } from '../cli/spec.ts';
import { cityResume, citySuspend } from './city-parts.ts';

const CITY_PATH = {
  name: 'path',
  summary: 'the city folder, or a folder inside it',
  optional: true,
  completes: 'path',
} as const;

const init: CommandSpec = {
  path: 'init',
  summary: 'Create a city in a folder.',
  details:
    'Writes city.yaml, the prompt of one agent called mayor, and a .gitignore. Nothing is started. When no agent ' +
    'program is found on the PATH, the city gets a scripted demo agent, so that everything can be tried at once. ' +
    'A folder that holds a city is left as it is. With --from or --file the city is a copy under a new name; comments ' +
    'and keys of its file stay, and a copy that does not load is taken away again.',
  args: [
    { name: 'path', summary: 'the folder; it is created when missing', optional: true, completes: 'path' },
  ],
  options: [
    { name: 'name', value: 'name', summary: 'name of the city (default: name of the folder)' },
    { name: 'provider', value: 'preset', summary: 'agent program: claude, codex, gemini ... or demo' },
    {
      name: 'template',
      value: 'template',
      summary: 'mayor: one agent; team: a mayor and two workers; k8s: a mayor as a pod',
      completes: ['mayor', 'team', 'k8s'],
    },
    {
      name: 'from',
      value: 'folder',
      summary:
        'copy a city: a folder, or an example: gastown, swarm, lifecycle, hyperscale, claude, quickstart, k8s',
      completes: 'path',
    },
    { name: 'file', value: 'file', summary: 'take this city file', completes: 'path' },
    { name: 'skip-provider-readiness', summary: 'nothing is asked of providers here', hidden: true },
  ],
  examples: [
    { command: 'gc init my-city', explains: 'one agent, with the first agent program that is found' },
    { command: 'gc init my-city --provider demo --template team', explains: 'three scripted agents, no key' },
    { command: 'gc init my-city --from gastown', explains: 'an example that comes with the program' },
  ],
  load: async () => (await import('../commands/init.ts')).runInit,
};

const start: CommandSpec = {
  path: 'start',
  summary: 'Bring a city up and keep it up.',
  details:
    'Hands the city to the supervisor, a process of this user that is started when none runs, and shows how each ' +
    'session comes up. It returns when all are up or have failed. Ctrl-C ends the watching only. Agents that run ' +
    'already are kept.',
  args: [CITY_PATH],
  options: [
    {
      name: 'foreground',
      summary: 'run the controller in this process until Ctrl-C, without the supervisor',
    },
    { name: 'dry-run', short: 'n', summary: 'only print what would start' },
    { name: 'no-wait', summary: 'return as soon as the supervisor has taken the city' },
  ],
  examples: [
    { command: 'gc start', explains: 'the city of this folder' },
    { command: 'gc start --dry-run', explains: 'which sessions would start; nothing is touched' },
    { command: 'gc start --foreground', explains: 'under a service manager of your own, or in a container' },
  ],
  exits: [
    { code: 3, when: 'another controller runs this city' },
    { code: 4, when: 'the lease that GC_K8S_LEASE names was lost to another controller' },
  ],
  serves: (input) => input.flag('foreground'),
  city: true,
  load: async () => (await import('../commands/start.ts')).runStart,
};

const stop: CommandSpec = {
  path: 'stop',
  summary: 'End all sessions of a city and take it from the supervisor.',
  details:
    'Agents are asked to end, then ended. It works without a controller too. When something could not be ended it ' +
    'is named and the exit code is 1.',
  args: [CITY_PATH],
  options: [JSON_OPTION],
  examples: [{ command: 'gc stop', explains: 'the city of this folder' }],
  city: true,
  load: async () => (await import('../commands/stop.ts')).runStop,
};

const restart: CommandSpec = {
  path: 'restart',
  summary: 'Stop a city, then start it.',
  args: [CITY_PATH],
  examples: [{ command: 'gc restart', explains: 'every agent ends and starts anew' }],
  city: true,
  load: async () => (await import('../commands/restart.ts')).runRestart,
};

const status: CommandSpec = {
  path: 'status',
  summary: 'Show who works, who waits for you and who is in trouble.',
  args: [CITY_PATH],
  options: [
    { name: 'resources', summary: 'memory and processor time of each session, measured now; the machine' },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc status', explains: 'the board' },
    { command: 'gc status --resources', explains: 'who takes how much of the machine' },
    { command: 'gc status --json', explains: 'the same as data' },
  ],
  city: true,
  load: async () => (await import('../commands/status.ts')).runStatus,
};

const cities: CommandSpec = {
  path: 'cities',
  summary: 'List the cities that the supervisor keeps.',
  options: [JSON_OPTION],
  examples: [{ command: 'gc cities', explains: 'names and folders' }],
  load: async () => (await import('../commands/registry.ts')).runCities,
};

const register: CommandSpec = {
  path: 'register',
  summary: 'Hand a city to the supervisor.',
  details: 'What `gc start` does, without watching the sessions come up.',
  args: [CITY_PATH],
  options: [{ name: 'name', value: 'name', summary: 'name in the list of cities (default: its own)' }],
  examples: [{ command: 'gc register ~/my-city', explains: 'it starts now, and with every supervisor' }],
  city: true,
  load: async () => (await import('../commands/registry.ts')).runRegister,
};

const unregister: CommandSpec = {
  path: 'unregister',
  summary: 'Take a city from the supervisor; its sessions end.',
  details: 'The folder need not exist any more. A folder that is not registered is a success.',
  args: [CITY_PATH],
  examples: [{ command: 'gc unregister ~/my-city', explains: 'the folder itself stays' }],
  city: true,
  load: async () => (await import('../commands/registry.ts')).runUnregister,
};

export const cityGroup: GroupSpec = {
  word: '',
  heading: 'City',
  summary: '',
  bare: 'help',
  commands: [init, start, stop, restart, status, citySuspend, cityResume, cities, register, unregister],
};
