import { type ArgSpec, type CommandSpec, type GroupSpec, JSON_OPTION } from '../cli/spec.ts';
import { sessionFork } from './log.ts';
import { sessionNudge, sessionPending, sessionRespond } from './talk.ts';
import { sessionWait } from './wait.ts';

const SESSION: ArgSpec = {
  name: 'session',
  summary: 'name, alias or id of a session',
  completes: 'session',
};

/** Acts that can be done to many at once. */
const SESSIONS: ArgSpec = {
  name: 'session',
  summary: "name, alias or id of a session; 'proj/worker-*' means each that fits (quote it)",
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
    { name: 'title-hint', value: 'text', summary: 'a longer text; its first words become the title' },
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
    'At a terminal this is Escape for Claude Code, Codex and Gemini CLI, Ctrl-C for others; over ACP the turn is cancelled and open questions are taken back. One that is known to be idle is left alone, with an error.',
  args: [SESSIONS],
  examples: [{ command: 'gc session interrupt worker-1', explains: 'then tell it what to do instead' }],
  city: true,
  load: async () => (await import('../commands/session.ts')).runSessionInterrupt,
};

const kill: CommandSpec = {
  path: 'session kill',
  summary: "End an agent's processes; the controller starts it again by its rules.",
  args: [SESSIONS],
  examples: [
    { command: 'gc session kill worker-1', explains: 'a fresh one comes up' },
    {
      command: "gc session kill 'proj/worker-*'",
      explains: 'all workers of a rig; exit code 1 when any failed',
    },
  ],
  city: true,
  load: async () => (await import('../commands/session.ts')).runSessionKill,
};

const suspend: CommandSpec = {
  path: 'session suspend',
  summary: 'End a session and keep it down until it is woken.',
  args: [SESSIONS],
  examples: [{ command: 'gc session suspend worker-1', explains: 'its record and conversation stay' }],
  city: true,
  load: async () => (await import('../commands/session.ts')).runSessionSuspend,
};

const wake: CommandSpec = {
  path: 'session wake',
  summary: 'Clear holds, back-off and quarantine of a session and try at once.',
  args: [SESSIONS],
  details:
    'With --json it says "requested", "already awake", or "refused" with the reason. What the config keeps down (a suspended ' +
    'agent, rig or city) is refused.',
  options: [
    { name: 'force', summary: 'start it even if the machine is short of memory or processors' },
    JSON_OPTION,
  ],
  examples: [{ command: 'gc session wake worker-1', explains: 'after the cause was repaired' }],
  city: true,
  load: async () => (await import('../commands/session-upkeep.ts')).runSessionWake,
};

const close: CommandSpec = {
  path: 'session close',
  summary: 'End a session for good; its record and conversation can still be read.',
  args: [SESSIONS],
  examples: [{ command: 'gc session close parser', explains: 'the name is free again' }],
  city: true,
  load: async () => (await import('../commands/session.ts')).runSessionClose,
};

const pin: CommandSpec = {
  path: 'session pin',
  summary: 'Keep a session up, whether anything needs it or not.',
  details: 'It takes no hold away: one that is suspended stays down until it is woken.',
  args: [SESSIONS],
  examples: [
    { command: 'gc session pin reviewer', explains: 'an on-demand session that does not go to sleep' },
  ],
  city: true,
  load: async () => (await import('../commands/session-upkeep.ts')).runSessionPin,
};

const unpin: CommandSpec = {
  path: 'session unpin',
  summary: 'Undo `gc session pin`.',
  args: [SESSIONS],
  examples: [{ command: 'gc session unpin reviewer', explains: 'it sleeps again when nothing needs it' }],
  city: true,
  load: async () => (await import('../commands/session-upkeep.ts')).runSessionUnpin,
};

const reset: CommandSpec = {
  path: 'session reset',
  summary: 'Begin a new conversation in a session; the old one can still be read.',
  details:
    'One that runs is ended and started again. Strikes and quarantine are forgotten; holds and pins stay. It needs a controller.',
  args: [SESSIONS],
  examples: [{ command: 'gc session reset worker-1', explains: 'it forgets what it was told' }],
  city: true,
  load: async () => (await import('../commands/session-upkeep.ts')).runSessionReset,
};

const prune: CommandSpec = {
  path: 'session prune',
  summary: 'Close sessions that have been suspended for long.',
  details: 'Sessions that the city file names are left alone.',
  options: [
    { name: 'before', value: 'age', summary: 'suspended for longer than this: 7d, 12h', default: '7d' },
    JSON_OPTION,
  ],
  examples: [{ command: 'gc session prune --before 30d', explains: 'their conversations stay readable' }],
  city: true,
  load: async () => (await import('../commands/session-upkeep.ts')).runSessionPrune,
};

const submit: CommandSpec = {
  path: 'session submit',
  summary: 'Give an agent its next task: now, after this turn, or instead of it.',
  details:
    'default wakes it if it sleeps and stands by while it is at work; what it cannot take yet waits in its queue, as with `gc nudge`. ' +
    'follow_up is for after this turn. interrupt_now ends the turn first. The first two are refused while it asks a person something.',
  args: [
    SESSIONS,
    { name: 'message', summary: 'what to say; a single - reads it from stdin', variadic: true },
  ],
  options: [
    {
      name: 'intent',
      value: 'intent',
      summary: 'default, follow_up or interrupt_now',
      default: 'default',
      completes: ['default', 'follow_up', 'interrupt_now'],
    },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc session submit worker-1 "Fix the parser"', explains: 'woken for it if it sleeps' },
    {
      command: 'gc session submit worker-1 "Stop. Look at p-19 first" --intent interrupt_now',
      explains: 'instead of what it does',
    },
  ],
  city: true,
  load: async () => (await import('../commands/session-submit.ts')).runSessionSubmit,
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
    submit,
    sessionNudge,
    sessionPending,
    sessionRespond,
    sessionWait,
    interrupt,
    kill,
    suspend,
    wake,
    pin,
    unpin,
    reset,
    close,
    rename,
    prune,
    logs,
    sessionFork,
  ],
};
