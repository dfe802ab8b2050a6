import { type ArgSpec, type CommandSpec, type GroupSpec, JSON_OPTION } from '../cli/spec.ts';

const AGENT: ArgSpec = { name: 'agent', summary: 'name of an agent of the city file', completes: 'agent' };

const agentList: CommandSpec = {
  path: 'agent list',
  summary: 'List the agents of the city file.',
  options: [JSON_OPTION],
  examples: [{ command: 'gc agent list', explains: 'which of them run' }],
  city: true,
  load: async () => (await import('../commands/agent.ts')).runAgentList,
};

const agentAdd: CommandSpec = {
  path: 'agent add',
  summary: 'Add an agent as a folder of the city.',
  details:
    'Writes agents/<name>/prompt.template.md, and a manifest when there is something to say in one. The city file is not touched.',
  options: [
    { name: 'name', value: 'name', summary: 'name of the agent; <rig>/<name> works in that rig' },
    { name: 'dir', value: 'rig', summary: 'the rig that it works in (default: the city)' },
    { name: 'prompt-template', value: 'file', summary: 'copy this as its prompt', completes: 'path' },
    { name: 'suspended', summary: 'keep it down until gc agent resume' },
  ],
  examples: [{ command: 'gc agent add --name reviewer', explains: 'then write its prompt' }],
  city: true,
  load: async () => (await import('../commands/agent-add.ts')).runAgentAdd,
};

const agentSuspend: CommandSpec = {
  path: 'agent suspend',
  summary: 'Keep all sessions of an agent down; written into the city file.',
  args: [AGENT],
  examples: [{ command: 'gc agent suspend worker', explains: 'comments and layout of the file stay' }],
  city: true,
  load: async () => (await import('../commands/agent.ts')).runAgentSuspend,
};

const agentResume: CommandSpec = {
  path: 'agent resume',
  summary: 'Undo `gc agent suspend`.',
  args: [AGENT],
  examples: [{ command: 'gc agent resume worker', explains: 'its sessions come up again' }],
  city: true,
  load: async () => (await import('../commands/agent.ts')).runAgentResume,
};

const agentScale: CommandSpec = {
  path: 'agent scale',
  summary: 'Change how many sessions an agent may have; written where the agent is declared.',
  args: [AGENT],
  options: [
    { name: 'min', value: 'n', summary: 'so many are up without any work' },
    { name: 'max', value: 'n', summary: 'at most so many; unlimited takes its own limit away' },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc agent scale worker --min 1 --max 5', explains: 'comments and layout of the file stay' },
    {
      command: 'gc agent scale worker --max unlimited',
      explains: "its rig's and the city's limits still hold",
    },
  ],
  city: true,
  load: async () => (await import('../commands/agent.ts')).runAgentScale,
};

export const agentGroup: GroupSpec = {
  word: 'agent',
  heading: 'Configuration',
  summary: 'List, add, scale, suspend and resume agents.',
  bare: 'error',
  commands: [agentList, agentAdd, agentSuspend, agentResume, agentScale],
};

const configShow: CommandSpec = {
  path: 'config show',
  summary: 'Print the city as it was understood, or check it.',
  details:
    'Prints what is in force: fragments and packs put in, patches applied, defaults left out. It is for reading and for ' +
    'scripts: a city with packs does not load from it again. --provenance says which file, line and layer (fragment, ' +
    'pack, patch, override, global) gave what. --validate also prints notes: what is tolerated for the sake of old files.',
  options: [
    { name: 'validate', summary: 'only check; every error, warning and note with file, line and column' },
    { name: 'provenance', summary: 'print where each part comes from; with --json every single value' },
    { name: 'yaml', summary: 'print YAML instead of TOML' },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc config show', explains: 'TOML, packs included' },
    { command: 'gc config show --validate', explains: 'exit code 1 when something is wrong' },
    { command: 'gc config show --provenance', explains: 'files, packs, agents, and who changed them' },
  ],
  city: true,
  load: async () => (await import('../commands/config.ts')).runConfigShow,
};

const configExplain: CommandSpec = {
  path: 'config explain',
  summary: "Print each agent's values with the file, line and layer that set them.",
  details:
    'A value that a patch, an override or a pack for all agents set says so. Agents that are made for a preset, not ' +
    'written by anybody, are shown when they are named.',
  args: [{ name: 'name', optional: true, summary: 'only this agent', completes: 'agent' }],
  options: [
    { name: 'agent', value: 'name', summary: 'the same, as an option', completes: 'agent' },
    { name: 'rig', value: 'name', summary: 'only agents of this rig' },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc config explain mayor', explains: 'where each value was written' },
    { command: 'gc config explain --rig frontend', explains: "the rig's agents, with its overrides" },
  ],
  city: true,
  load: async () => (await import('../commands/config.ts')).runConfigExplain,
};

const configConvert: CommandSpec = {
  path: 'config convert',
  summary: 'Write the city file in the other format, YAML or TOML, with its comments.',
  details:
    'The data is the same, comments and the order of keys stay; TOML wants values before tables. Anchors are written ' +
    'out. With --write the old file goes only after the city was loaded from the new one and is the same.',
  options: [
    {
      name: 'to',
      value: 'format',
      summary: 'toml or yaml (default: the other one)',
      completes: ['toml', 'yaml'],
    },
    { name: 'all', summary: 'also its fragments, and the manifests of its packs and agent folders' },
    { name: 'write', summary: 'replace the files; otherwise the new text is printed' },
  ],
  examples: [
    { command: 'gc config convert', explains: 'look at it first' },
    { command: 'gc config convert --to yaml --all --write', explains: 'move a whole city to YAML' },
  ],
  city: true,
  load: async () => (await import('../commands/config-convert.ts')).runConfigConvert,
};

export const configGroup: GroupSpec = {
  word: 'config',
  heading: 'Configuration',
  summary: 'Read, check and convert the city file.',
  bare: 'help',
  commands: [configShow, configExplain, configConvert],
};

const supervisorRun: CommandSpec = {
  path: 'supervisor run',
  summary: 'Be the supervisor, in this process, until it is told to stop.',
  details: 'What a service manager starts. Sessions go on when it ends.',
  options: [{ name: 'exit-when-empty', summary: 'end when the last city was taken away' }],
  examples: [{ command: 'gc supervisor run', explains: 'in the foreground' }],
  exits: [{ code: 3, when: 'another supervisor of this user runs' }],
  serves: () => true,
  load: async () => (await import('../commands/supervisor-run.ts')).runSupervisorRun,
};

const supervisorStart: CommandSpec = {
  path: 'supervisor start',
  summary: 'Start the supervisor in the background.',
  examples: [{ command: 'gc supervisor start', explains: 'it brings up every registered city' }],
  load: async () => (await import('../commands/supervisor.ts')).runSupervisorStart,
};

const supervisorStop: CommandSpec = {
  path: 'supervisor stop',
  summary: 'End the supervisor and, with it, the sessions of its cities.',
  details: 'The cities stay registered: the next supervisor brings them up again.',
  examples: [{ command: 'gc supervisor stop', explains: 'returns when it has gone' }],
  load: async () => (await import('../commands/supervisor.ts')).runSupervisorStop,
};

const supervisorStatus: CommandSpec = {
  path: 'supervisor status',
  summary: 'Say whether the supervisor runs.',
  options: [JSON_OPTION],
  examples: [{ command: 'gc supervisor status', explains: 'exit code 1 when it does not' }],
  load: async () => (await import('../commands/supervisor.ts')).runSupervisorStatus,
};

const supervisorReload: CommandSpec = {
  path: 'supervisor reload',
  summary: 'Have the supervisor read its list of cities and their files again.',
  examples: [{ command: 'gc supervisor reload', explains: 'it also does so by itself' }],
  load: async () => (await import('../commands/supervisor.ts')).runSupervisorReload,
};

const supervisorLogs: CommandSpec = {
  path: 'supervisor logs',
  summary: "Print the end of the supervisor's log.",
  options: [
    { name: 'lines', short: 'n', value: 'n', summary: 'how many lines', default: '50' },
    { name: 'follow', short: 'f', summary: 'go on until Ctrl-C' },
  ],
  examples: [{ command: 'gc supervisor logs -f', explains: 'follow it' }],
  load: async () => (await import('../commands/supervisor-logs.ts')).runSupervisorLogs,
};

const supervisorInstall: CommandSpec = {
  path: 'supervisor install',
  summary: 'Have systemd or launchd start the supervisor at login.',
  details: 'The only command that touches a service manager.',
  examples: [{ command: 'gc supervisor install', explains: 'a unit of this user, no root needed' }],
  load: async () => (await import('../commands/supervisor-service.ts')).runSupervisorInstall,
};

const supervisorUninstall: CommandSpec = {
  path: 'supervisor uninstall',
  summary: 'Undo `gc supervisor install`.',
  examples: [{ command: 'gc supervisor uninstall', explains: 'cities stay registered' }],
  load: async () => (await import('../commands/supervisor-service.ts')).runSupervisorUninstall,
};

export const supervisorGroup: GroupSpec = {
  word: 'supervisor',
  heading: 'Machine',
  summary: 'The process that keeps the cities of this user.',
  bare: 'help',
  commands: [
    supervisorRun,
    supervisorStart,
    supervisorStop,
    supervisorStatus,
    supervisorReload,
    supervisorLogs,
    supervisorInstall,
    supervisorUninstall,
  ],
};
