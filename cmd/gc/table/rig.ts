import { type ArgSpec, type CommandSpec, type GroupSpec, JSON_OPTION } from '../cli/spec.ts';

const RIG: ArgSpec = { name: 'rig', summary: 'name of a rig' };

const add: CommandSpec = {
  path: 'rig add',
  summary: 'Add a project folder to the city.',
  details:
    'Writes the rig into the city file; comments and layout of the file stay. The whole city is checked with it, and ' +
    'nothing is changed when something is wrong. The folder is created when it is missing. The same rig once more is fine.',
  args: [{ name: 'path', summary: 'the project folder', completes: 'path' }],
  options: [
    { name: 'name', value: 'name', summary: 'name of the rig (default: name of the folder)' },
    { name: 'prefix', value: 'letters', summary: 'prefix of its bead ids (default: derived from the name)' },
    {
      name: 'include',
      value: 'pack',
      summary: 'a pack for the rig; may be repeated (default: default_rig_includes of the city)',
      repeatable: true,
      completes: 'path',
    },
    { name: 'adopt', summary: 'keep the beads database that the folder has' },
    { name: 'start-suspended', summary: 'add it, but start nothing' },
  ],
  examples: [
    { command: 'gc rig add ../shop', explains: 'agents of the city can work there' },
    { command: 'gc rig add ../shop --include packs/gastown', explains: "with a pack's agents" },
  ],
  city: true,
  load: async () => (await import('../commands/rig-add.ts')).runRigAdd,
};

const list: CommandSpec = {
  path: 'rig list',
  summary: 'List the rigs of the city.',
  options: [JSON_OPTION],
  examples: [{ command: 'gc rig list', explains: 'the city itself comes first' }],
  city: true,
  load: async () => (await import('../commands/rig.ts')).runRigList,
};

const status: CommandSpec = {
  path: 'rig status',
  summary: 'Show a rig and its agents.',
  args: [{ ...RIG, summary: 'name of a rig (default: the one of this folder)', optional: true }],
  examples: [{ command: 'gc rig status shop', explains: 'which of its agents run' }],
  city: true,
  load: async () => (await import('../commands/rig.ts')).runRigStatus,
};

const remove: CommandSpec = {
  path: 'rig remove',
  summary: 'Take a rig out of the city file; its folder stays.',
  args: [RIG],
  examples: [{ command: 'gc rig remove shop', explains: 'its sessions end' }],
  city: true,
  load: async () => (await import('../commands/rig.ts')).runRigRemove,
};

const suspend: CommandSpec = {
  path: 'rig suspend',
  summary: 'Keep all sessions of a rig down; written into the city file.',
  args: [RIG],
  examples: [{ command: 'gc rig suspend shop', explains: 'comments and layout of the file stay' }],
  city: true,
  load: async () => (await import('../commands/rig.ts')).runRigSuspend,
};

const resume: CommandSpec = {
  path: 'rig resume',
  summary: 'Undo `gc rig suspend`.',
  args: [RIG],
  examples: [{ command: 'gc rig resume shop', explains: 'its sessions come up again' }],
  city: true,
  load: async () => (await import('../commands/rig.ts')).runRigResume,
};

const restart: CommandSpec = {
  path: 'rig restart',
  summary: 'End the sessions of a rig, dependents first; the controller starts them again.',
  args: [RIG],
  examples: [{ command: 'gc rig restart shop', explains: 'other rigs go on' }],
  city: true,
  load: async () => (await import('../commands/rig.ts')).runRigRestart,
};

const setDefault: CommandSpec = {
  path: 'rig default',
  summary: 'Say which city `gc rig` commands mean in the folder of a rig.',
  details: 'For a project that several cities share. The first city that adds a rig is its default.',
  args: [RIG],
  examples: [{ command: 'gc rig default shop --city ~/my-city', explains: 'from now on' }],
  city: true,
  load: async () => (await import('../commands/rig.ts')).runRigDefault,
};

export const rigGroup: GroupSpec = {
  word: 'rig',
  heading: 'Configuration',
  summary: 'Add, list, suspend and restart project folders.',
  bare: 'error',
  commands: [add, setDefault, list, remove, restart, resume, status, suspend],
};
