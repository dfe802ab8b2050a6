import { type ArgSpec, type CommandSpec, type GroupSpec, JSON_OPTION } from '../cli/spec.ts';
import { sessionFork } from './log.ts';
import { sessionNudge, sessionPending, sessionRespond } from './talk.ts';

const SESSION: ArgSpec = {
  name: 'session',
  summary: 'name, alias or id of a session',
  completes: 'session',
};

const create: CommandSpec = {
  path: 'session new',
  summary: 'Start a session of an agent template.',
  details: 'At a terminal it attaches as soon as the session runs.',
  args: [{ name: 'template', summary: 'an agent of the city file', completes: 'template' }],
  options: [
    { name: 'alias', value: 'name', summary: 'how people call it' },
    { name: 'title', value: 'text', summary: 'what it is for' },
    { name: 'no-attach', summary: 'only start it' },
    { name: 'force', summary: 'start it even if the machine is short of memory or processors' },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc session new worker --alias parser --title "Rewrite the parser"', explains: 'then attach' },
  ],
  city: true,
  load: async () => (await import('../commands/session-new.ts')).runSessionNew,
};

const list: CommandSpec = {
  path: 'session list',
  summary: 'List sessions.',
  options: [
    {
      name: 'state',
      value: 'state',
      summary: 'active, suspended, closed, open or all; a comma list is fine (default: all but closed)',
      completes: ['active', 'suspended', 'closed', 'open', 'all'],
    },
    { name: 'template', value: 'template', summary: 'only of this agent', completes: 'template' },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc session list', explains: 'what is open' },
    { command: 'gc session list --state closed --json', explains: 'what has been' },
  ],
  city: true,
  load: async () => (await import('../commands/session.ts')).runSessionList,
};

const attach: CommandSpec = {
  path: 'session attach',
  summary: "Sit down at an agent's terminal; the way to leave is printed first.",
  details: 'Leaving never ends the agent. A session that sleeps is woken first.',
  args: [SESSION],
  examples: [{ command: 'gc session attach mayor', explains: 'type to the agent yourself' }],
  city: true,
  load: async () => (await import('../commands/session-attach.ts')).runSessionAttach,
};

const peek: CommandSpec = {
  path: 'session peek',
  summary: "Print the last lines of an agent's screen.",
  details: 'Lines that the terminal wrapped are joined; blanks at line ends are not kept.',
  args: [SESSION],
  options: [
    { name: 'lines', short: 'n', value: 'n', summary: 'how many; 0: all that is kept', default: '50' },
    JSON_OPTION,
  ],
  examples: [{ command: 'gc session peek mayor --lines 20', explains: 'without attaching' }],
  city: true,
  load: async () => (await import('../commands/session.ts')).runSessionPeek,
};

const interrupt: CommandSpec = {
  path: 'session interrupt',
  summary: 'Have an agent leave what it does now; it lives on.',
  details:
    'At a terminal this is Ctrl-C; over ACP the turn is cancelled and open questions are taken back. One that is known to be idle is left alone, with an error.',
  args: [SESSION],
  examples: [{ command: 'gc session interrupt worker-1', explains: 'then tell it what to do instead' }],
  city: true,
  load: async () => (await import('../commands/session.ts')).runSessionInterrupt,
};

const kill: CommandSpec = {
  path: 'session kill',
  summary: "End an agent's processes; the controller starts it again by its rules.",
  args: [SESSION],
  examples: [{ command: 'gc session kill worker-1', explains: 'a fresh one comes up' }],
  city: true,
  load: async () => (await import('../commands/session.ts')).runSessionKill,
};

const suspend: CommandSpec = {
  path: 'session suspend',
  summary: 'End a session and keep it down until it is woken.',
  args: [SESSION],
  examples: [{ command: 'gc session suspend worker-1', explains: 'its record and conversation stay' }],
  city: true,
  load: async () => (await import('../commands/session.ts')).runSessionSuspend,
};

const wake: CommandSpec = {
  path: 'session wake',
  summary: 'Clear holds, back-off and quarantine of a session and try at once.',
  args: [SESSION],
  options: [{ name: 'force', summary: 'start it even if the machine is short of memory or processors' }],
  examples: [{ command: 'gc session wake worker-1', explains: 'after the cause was repaired' }],
  city: true,
  load: async () => (await import('../commands/session.ts')).runSessionWake,
};

const close: CommandSpec = {
  path: 'session close',
  summary: 'End a session for good; its record and conversation can still be read.',
  args: [SESSION],
  examples: [{ command: 'gc session close parser', explains: 'the name is free again' }],
  city: true,
  load: async () => (await import('../commands/session.ts')).runSessionClose,
};

const rename: CommandSpec = {
  path: 'session rename',
  summary: 'Change the title of a session.',
  args: [SESSION, { name: 'title', summary: 'the new title', variadic: true }],
  examples: [{ command: 'gc session rename parser "Parser, second try"', explains: 'shown in the lists' }],
  city: true,
  load: async () => (await import('../commands/session.ts')).runSessionRename,
};

const logs: CommandSpec = {
  path: 'session logs',
  summary: 'Print the conversation of a session, from what its agent program recorded.',
  args: [SESSION],
  options: [
    {
      name: 'tail',
      value: 'n',
      summary: 'how many segments between compactions; 0: all',
      default: '1',
    },
    { name: 'follow', short: 'f', summary: 'print new entries until Ctrl-C' },
    JSON_OPTION,
  ],
  examples: [{ command: 'gc session logs mayor --tail 0', explains: 'from the beginning' }],
  city: true,
  load: async () => (await import('../commands/session-logs.ts')).runSessionLogs,
};

export const sessionGroup: GroupSpec = {
  word: 'session',
  heading: 'Sessions',
  summary: 'Start, see, steer and end sessions.',
  bare: 'error',
  commands: [
    create,
    list,
    attach,
    peek,
    sessionNudge,
    sessionPending,
    sessionRespond,
    interrupt,
    kill,
    suspend,
    wake,
    close,
    rename,
    logs,
    sessionFork,
  ],
};
