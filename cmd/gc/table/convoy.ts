import { type ArgSpec, type CommandSpec, type GroupSpec, JSON_OPTION } from '../cli/spec.ts';

/** Optional for the parser: the command says what is missing. */
const words = (summary: string): ArgSpec => ({ name: 'words', summary, optional: true, variadic: true });

const CONVOY = words('a convoy, as gc convoy list shows it');

const create: CommandSpec = {
  path: 'convoy create',
  summary: 'Put beads together, to see when all of them are done.',
  args: [words('the name, then the beads in it')],
  options: [
    { name: 'owner', value: 'who', summary: 'who answers for it' },
    { name: 'notify', value: 'who', summary: 'who is to know when it is done' },
    {
      name: 'merge',
      value: 'how',
      summary: 'how its changes go back: direct, mr or local',
      completes: ['direct', 'mr', 'local'],
    },
    { name: 'target', value: 'branch', summary: 'where its changes go' },
    { name: 'owned', summary: 'it ends by gc convoy land alone' },
    JSON_OPTION,
  ],
  examples: [{ command: 'gc convoy create "release 2" app-3 app-4', explains: 'prints its id' }],
  city: true,
  load: async () => (await import('../commands/convoy.ts')).runConvoyCreate,
};

const list: CommandSpec = {
  path: 'convoy list',
  summary: 'List the open convoys, and how far each is.',
  options: [JSON_OPTION],
  examples: [{ command: 'gc convoy list', explains: 'of the whole city' }],
  city: true,
  load: async () => (await import('../commands/convoy.ts')).runConvoyList,
};

const status: CommandSpec = {
  path: 'convoy status',
  summary: 'Show a convoy and the work in it.',
  args: [CONVOY],
  options: [JSON_OPTION],
  examples: [{ command: 'gc convoy status gc-12', explains: 'what is done, and who has the rest' }],
  city: true,
  load: async () => (await import('../commands/convoy.ts')).runConvoyStatus,
};

const target: CommandSpec = {
  path: 'convoy target',
  summary: 'Say where the changes of a convoy go.',
  args: [words('a convoy and a branch')],
  examples: [{ command: 'gc convoy target gc-12 release/2', explains: 'a branch' }],
  city: true,
  load: async () => (await import('../commands/convoy.ts')).runConvoyTarget,
};

const add: CommandSpec = {
  path: 'convoy add',
  summary: 'Put one more bead into a convoy.',
  details: 'A bead that belongs to an open bead stays there.',
  args: [words('a convoy and a bead')],
  examples: [{ command: 'gc convoy add gc-12 app-5', explains: 'it becomes its parent' }],
  city: true,
  load: async () => (await import('../commands/convoy.ts')).runConvoyAdd,
};

const close: CommandSpec = {
  path: 'convoy close',
  summary: 'Close a convoy, whatever is open in it.',
  args: [CONVOY],
  examples: [{ command: 'gc convoy close gc-12', explains: 'the beads in it stay as they are' }],
  city: true,
  load: async () => (await import('../commands/convoy.ts')).runConvoyClose,
};

const check: CommandSpec = {
  path: 'convoy check',
  summary: 'Close the convoys of which all work is closed.',
  details: '`gc bd close` does it for the convoy of what it closes. Owned ones wait for gc convoy land.',
  examples: [{ command: 'gc convoy check', explains: 'after work was closed by other tools' }],
  city: true,
  load: async () => (await import('../commands/convoy.ts')).runConvoyCheck,
};

const land: CommandSpec = {
  path: 'convoy land',
  summary: 'End an owned convoy.',
  args: [CONVOY],
  options: [
    { name: 'force', summary: 'with open work in it, too' },
    { name: 'dry-run', summary: 'only say what would happen' },
  ],
  examples: [{ command: 'gc convoy land gc-12', explains: 'lists what is still open, if anything is' }],
  city: true,
  load: async () => (await import('../commands/convoy.ts')).runConvoyLand,
};

const stranded: CommandSpec = {
  path: 'convoy stranded',
  summary: 'List work of open convoys that could be done and that nobody has.',
  options: [JSON_OPTION],
  examples: [{ command: 'gc convoy stranded', explains: 'what to hand out: gc sling' }],
  city: true,
  load: async () => (await import('../commands/convoy.ts')).runConvoyStranded,
};

const autoclose: CommandSpec = {
  path: 'convoy autoclose',
  summary: 'Close the convoy of a bead, when all of it is closed.',
  args: [words('the bead that was closed')],
  examples: [{ command: 'gc convoy autoclose app-3', explains: 'called by hooks of other tools' }],
  city: true,
  hidden: true,
  load: async () => (await import('../commands/convoy.ts')).runConvoyAutoclose,
};

export const convoyGroup: GroupSpec = {
  word: 'convoy',
  heading: 'Work',
  summary: 'Work that belongs together, and when all of it is done.',
  bare: 'error',
  commands: [create, list, status, target, add, close, check, stranded, land, autoclose],
};
