import { type ArgSpec, type CommandSpec, type GroupSpec, JSON_OPTION } from '../cli/spec.ts';

const AGENT: ArgSpec = {
  name: 'agent',
  summary: 'an agent of the city; without it the one of the session this runs in',
  optional: true,
  completes: 'agent',
};

const prime: CommandSpec = {
  path: 'prime',
  summary: 'Print what an agent is told at its start.',
  details:
    'Agents read their prompt with it. With nothing to go by it prints a general one; a suspended agent is told nothing.',
  args: [AGENT],
  options: [{ name: 'hook', summary: 'called by a start hook: notes the session and says which one it is' }],
  examples: [
    { command: 'gc prime', explains: 'inside a session: its own prompt' },
    { command: 'gc prime mayor', explains: 'what the mayor is told' },
  ],
  city: true,
  load: async () => (await import('../commands/prime.ts')).runPrime,
};

const hook: CommandSpec = {
  path: 'hook',
  summary: 'Print the work that waits for an agent.',
  args: [AGENT],
  options: [
    { name: 'inject', summary: 'called by a turn hook: as a reminder for the agent; nothing without work' },
  ],
  examples: [
    { command: 'gc hook', explains: 'inside a session: its own work' },
    { command: 'gc hook mayor && echo busy', explains: 'the exit code says whether there is any' },
  ],
  exits: [{ code: 1, when: 'there is no work (with --inject it is always 0)' }],
  city: true,
  load: async () => (await import('../commands/hook.ts')).runHook,
};

const skillList: CommandSpec = {
  path: 'skill list',
  summary: 'List the skills that agents are given.',
  options: [
    { name: 'agent', value: 'agent', summary: 'with those of this agent alone', completes: 'agent' },
    { name: 'session', value: 'session', summary: 'the same, by one of its sessions', completes: 'session' },
    JSON_OPTION,
  ],
  examples: [{ command: 'gc skill list --agent mayor', explains: 'and where each comes from' }],
  city: true,
  load: async () => (await import('../commands/skill.ts')).runSkillList,
};

const materializeSkills: CommandSpec = {
  path: 'internal materialize-skills',
  summary: "Link an agent's skills into a folder.",
  options: [
    { name: 'agent', value: 'agent', summary: 'an agent of the city', completes: 'agent' },
    { name: 'workdir', value: 'path', summary: 'the folder that its session works in', completes: 'path' },
  ],
  examples: [
    { command: 'gc internal materialize-skills --agent mayor --workdir .', explains: 'before a start' },
  ],
  city: true,
  hidden: true,
  load: async () => (await import('../commands/internal.ts')).runMaterializeSkills,
};

export const agentSideGroup: GroupSpec = {
  word: '',
  heading: 'From inside a session',
  summary: '',
  bare: 'help',
  commands: [prime, hook],
};

export const skillGroup: GroupSpec = {
  word: 'skill',
  heading: 'Skills',
  summary: 'What agents are given to read when they need it.',
  bare: 'help',
  commands: [skillList],
};

export const internalGroup: GroupSpec = {
  word: 'internal',
  heading: 'Internal',
  summary: 'What the program calls by itself.',
  bare: 'error',
  commands: [materializeSkills],
};
