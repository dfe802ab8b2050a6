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

export const agentGroup: GroupSpec = {
  word: 'agent',
  heading: 'Configuration',
  summary: 'List, suspend and resume agents.',
  bare: 'error',
  commands: [agentList, agentSuspend, agentResume],
};

const configShow: CommandSpec = {
  path: 'config show',
  summary: 'Print the city as it was understood, or check it.',
  options: [
    { name: 'validate', summary: 'only check; every error with file, line and column' },
    { name: 'provenance', summary: 'print which file each part comes from' },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc config show', explains: 'TOML, with all defaults filled in' },
    { command: 'gc config show --validate', explains: 'exit code 1 when something is wrong' },
  ],
  city: true,
  load: async () => (await import('../commands/config.ts')).runConfigShow,
};

const configExplain: CommandSpec = {
  path: 'config explain',
  summary: "Print each agent's values and the files that set them.",
  options: [
    { name: 'agent', value: 'name', summary: 'only this agent', completes: 'agent' },
    { name: 'rig', value: 'name', summary: 'only agents of this rig' },
    JSON_OPTION,
  ],
  examples: [{ command: 'gc config explain --agent mayor', explains: 'where each value was written' }],
  city: true,
  load: async () => (await import('../commands/config.ts')).runConfigExplain,
};

export const configGroup: GroupSpec = {
  word: 'config',
  heading: 'Configuration',
  summary: 'Read and check the city file.',
  bare: 'help',
  commands: [configShow, configExplain],
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
