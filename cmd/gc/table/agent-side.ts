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

const SESSION: ArgSpec = {
  name: 'session',
  summary: 'name, alias or id of a session',
  optional: true,
  completes: 'session',
};

const OWN_SESSION: ArgSpec = { ...SESSION, summary: 'a session; without it the one that this runs in' };

const handoff: CommandSpec = {
  path: 'handoff',
  summary: 'Send mail to yourself, then start again without this conversation.',
  details:
    'It does not return: the controller ends the session and starts it again. With --target the mail goes to another session, which is ended and started again; one that is down finds the mail when it starts.',
  args: [
    { name: 'subject', summary: 'what it is about' },
    { name: 'message', summary: 'what the next life must know', optional: true },
  ],
  options: [
    {
      name: 'target',
      value: 'session',
      summary: 'another session instead of this one',
      completes: 'session',
    },
  ],
  examples: [
    { command: 'gc handoff "parser half done" "tests in parse.test.ts fail"', explains: 'inside a session' },
    { command: 'gc handoff --target mayor "new plan" "see p-19"', explains: 'from anywhere' },
  ],
  city: true,
  load: async () => (await import('../commands/handoff.ts')).runHandoff,
};

const drain: CommandSpec = {
  path: 'runtime drain',
  summary: 'Ask an agent to end its work and stop.',
  details:
    'The agent sees it with drain-check and answers with drain-ack. After its drain_timeout it is stopped all the same. It stays down until it is woken, or new work calls it.',
  args: [SESSION],
  examples: [{ command: 'gc runtime drain worker-1', explains: 'gc status shows it as draining' }],
  city: true,
  load: async () => (await import('../commands/runtime.ts')).runRuntimeDrain,
};

const undrain: CommandSpec = {
  path: 'runtime undrain',
  summary: 'Take a drain back.',
  args: [SESSION],
  examples: [{ command: 'gc runtime undrain worker-1', explains: 'it goes on as before' }],
  city: true,
  load: async () => (await import('../commands/runtime.ts')).runRuntimeUndrain,
};

const drainCheck: CommandSpec = {
  path: 'runtime drain-check',
  summary: 'Tell by the exit code whether a session is asked to stop.',
  args: [OWN_SESSION],
  examples: [
    { command: 'gc runtime drain-check && gc runtime drain-ack', explains: 'between two pieces of work' },
  ],
  exits: [{ code: 1, when: 'it is not asked to stop, or that cannot be told' }],
  city: true,
  load: async () => (await import('../commands/runtime.ts')).runRuntimeDrainCheck,
};

const drainAck: CommandSpec = {
  path: 'runtime drain-ack',
  summary: 'Say that an agent is done: the controller stops its session.',
  args: [OWN_SESSION],
  examples: [{ command: 'gc runtime drain-ack', explains: 'inside a session, when nothing is left to do' }],
  city: true,
  load: async () => (await import('../commands/runtime.ts')).runRuntimeDrainAck,
};

const requestRestart: CommandSpec = {
  path: 'runtime request-restart',
  summary: 'Ask for a new start of the session that this runs in.',
  details: 'It does not return: the controller ends the session and starts it again.',
  examples: [{ command: 'gc runtime request-restart', explains: 'inside a session' }],
  city: true,
  load: async () => (await import('../commands/runtime.ts')).runRuntimeRequestRestart,
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
  commands: [prime, hook, handoff],
};

export const runtimeGroup: GroupSpec = {
  word: 'runtime',
  heading: 'Ends and restarts',
  summary: 'Ask agents to end, and end or restart from inside a session.',
  bare: 'error',
  commands: [drain, undrain, drainCheck, drainAck, requestRestart],
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
