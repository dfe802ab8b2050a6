import { type ArgSpec, type CommandSpec, type GroupSpec, JSON_OPTION, type OptionSpec } from '../cli/spec.ts';

const SESSION: ArgSpec = {
  name: 'session',
  summary: 'name, alias or id of a session, or the uid of a log (sess-…) as far as it is unique',
  completes: 'session',
};

const JOURNAL: OptionSpec = {
  name: 'journal',
  value: 'path',
  summary: 'this file of logs, or folder of JSON lines, instead of the file of the city',
  completes: 'path',
};

const FROM: OptionSpec = { name: 'from', value: 'n', summary: 'the first record', default: '1' };
const TO: OptionSpec = { name: 'to', value: 'n', summary: 'the last record (default: the end)' };
const AT: OptionSpec = { name: 'at', value: 'n', summary: 'the last record that counts (default: the end)' };

const list: CommandSpec = {
  path: 'log list',
  summary: 'List the session logs, newest first.',
  details:
    'A list looks at the beginning of each log: a + behind turns says that there are more, a ~ that the size is estimated.',
  options: [
    {
      name: 'project',
      value: 'name',
      summary: 'only of this project; a city is the project of its sessions',
    },
    { name: 'all', summary: 'deleted ones too' },
    JOURNAL,
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc log list', explains: 'what was said and done, session by session' },
    { command: 'gc log list --journal backup.db --json', explains: 'of any file of logs' },
  ],
  city: true,
  load: async () => (await import('../commands/log-list.ts')).runLogList,
};

const show: CommandSpec = {
  path: 'log show',
  summary: 'Print a log as a conversation, with what the city noted in between.',
  details: 'With --json one record per line, as in an export; with --conversation one message.',
  args: [SESSION],
  options: [
    FROM,
    TO,
    { name: 'records', summary: 'one line per record instead' },
    {
      name: 'conversation',
      summary:
        'what a model would be told instead: the messages, with those of the session that this one continues',
    },
    JOURNAL,
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc log show mayor', explains: 'questions, answers, calls and facts' },
    {
      command: 'gc log show mayor --records --from 40',
      explains: 'number, time, kind and text of each record',
    },
  ],
  city: true,
  load: async () => (await import('../commands/log-read.ts')).runLogShow,
};

const follow: CommandSpec = {
  path: 'log follow',
  summary: 'Print what comes into a log until Ctrl-C.',
  args: [SESSION],
  options: [
    { name: 'from', value: 'n', summary: 'begin at this record (default: with the next one)' },
    JOURNAL,
    JSON_OPTION,
  ],
  examples: [{ command: 'gc log follow mayor --from 1', explains: 'all of it, then what comes' }],
  city: true,
  load: async () => (await import('../commands/log-read.ts')).runLogFollow,
};

const replay: CommandSpec = {
  path: 'log replay',
  summary: 'Print the records of a log again, byte for byte, one JSON object per line.',
  details:
    'With --rerun the finished turns are run again, by the harness that each was run by, on what the log holds of them: no ' +
    'model is asked, no tool is run, nothing is written. Exit code 1 and the first difference when one does something else.',
  args: [SESSION],
  options: [
    FROM,
    TO,
    { name: 'rerun', summary: 'run the finished turns again instead, and compare' },
    {
      name: 'harness',
      value: 'name=address',
      summary: 'where a harness is served that is not built in (echo and chat are)',
      repeatable: true,
    },
    JOURNAL,
  ],
  examples: [
    { command: 'gc log replay mayor | sha256sum', explains: 'the same however often' },
    { command: 'gc log replay sess-3f2a91 --rerun', explains: 'whether its harness still does the same' },
  ],
  city: true,
  load: async () => (await import('../commands/log-read.ts')).runLogReplay,
};

const verify: CommandSpec = {
  path: 'log verify',
  summary: 'Check that no record of a log was changed, lost or added, and that its blobs are there.',
  details:
    'A path is one that begins with / or ., or ends in /, .jsonl or .db: an exported log, a folder of them, or a database. ' +
    'Such files are only read, and their blobs are not asked for.',
  args: [
    {
      ...SESSION,
      summary: 'a session, the uid of a log as far as it is unique, or the path of exported logs',
      optional: true,
    },
  ],
  options: [{ name: 'all', summary: 'every log of the file' }, JOURNAL, JSON_OPTION],
  examples: [
    { command: 'gc log verify mayor', explains: 'one log' },
    { command: 'gc log verify --all', explains: 'exit code 1 when one is damaged' },
    { command: 'gc log verify mayor.jsonl', explains: 'an export, wherever it came from' },
  ],
  city: true,
  load: async () => (await import('../commands/log-verify.ts')).runLogVerify,
};

const exportLog: CommandSpec = {
  path: 'log export',
  summary: 'Write a log as JSON lines that others can check.',
  args: [SESSION],
  options: [
    { name: 'output', short: 'o', value: 'file', summary: 'where to (default: stdout)', completes: 'path' },
    { name: 'force', summary: 'replace the file when it is there' },
    JOURNAL,
  ],
  examples: [
    { command: 'gc log export mayor -o mayor.jsonl', explains: 'whole or not at all, for its owner only' },
  ],
  city: true,
  load: async () => (await import('../commands/log-export.ts')).runLogExport,
};

const blob: CommandSpec = {
  path: 'log blob',
  summary: 'Print the content of a blob that a log names, after checking it.',
  details:
    'The blob of a large output of a tool is JSON with its content and output; that of a file is the file.',
  args: [{ name: 'blob', summary: 'its uri (blob:sha256:…), digest (sha256:…) or hash' }],
  options: [JOURNAL],
  examples: [
    { command: 'gc log blob blob:sha256:9f86d0… > output.json', explains: 'the whole output of a tool' },
  ],
  city: true,
  load: async () => (await import('../commands/log-blob.ts')).runLogBlob,
};

const rename: CommandSpec = {
  path: 'log rename',
  summary: 'Give a log a name; without one its title is shown again.',
  args: [SESSION, { name: 'name', summary: 'the new name', variadic: true, optional: true }],
  options: [JOURNAL, JSON_OPTION],
  examples: [{ command: 'gc log rename sess-3f2a91 "Parser, second try"', explains: 'shown in the list' }],
  city: true,
  load: async () => (await import('../commands/log-change.ts')).runLogRename,
};

const carryOn: CommandSpec = {
  path: 'log continue',
  summary: 'Make a new session that carries on the conversation of an older one.',
  details: 'Nothing is copied: the new log says where the old one is, and the old one stays as it is.',
  args: [SESSION],
  options: [AT, { name: 'name', value: 'name', summary: 'of the new session' }, JOURNAL, JSON_OPTION],
  examples: [{ command: 'gc log continue mayor --name "mayor, day two"', explains: 'prints the new uid' }],
  city: true,
  load: async () => (await import('../commands/log-change.ts')).runLogContinue,
};

const prune: CommandSpec = {
  path: 'log prune',
  summary: 'Remove old logs.',
  details:
    'Never the log of an open session, of one that wrote within the last hour, or one that a kept log continues. A limit ' +
    'of 0 is none.',
  options: [
    { name: 'older-than', value: 'duration', summary: 'rested longer than this', default: '30d' },
    { name: 'max-bytes', value: 'size', summary: 'then the oldest, until the rest fits', default: '512MiB' },
    { name: 'keep', value: 'n', summary: 'so many of the newest always stay', default: '10' },
    { name: 'dry-run', summary: 'only say what would go' },
    JOURNAL,
    JSON_OPTION,
  ],
  examples: [{ command: 'gc log prune --dry-run', explains: 'what would go by the usual limits' }],
  city: true,
  load: async () => (await import('../commands/log-change.ts')).runLogPrune,
};

export const sessionFork: CommandSpec = {
  path: 'session fork',
  summary: 'Make new sessions that share the log of one up to a record.',
  details: 'The parent is not touched. A fork is a log to go on from; no agent is started.',
  args: [SESSION],
  options: [
    AT,
    { name: 'count', value: 'n', summary: 'how many, at most 128 (default: one, or one for each name)' },
    { name: 'name', value: 'a,b', summary: 'their names, one for each' },
    JOURNAL,
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc session fork mayor --at 10', explains: 'try again from record 10' },
    { command: 'gc session fork mayor --count 2 --name left,right', explains: 'two ways on' },
  ],
  city: true,
  load: async () => (await import('../commands/session-fork.ts')).runSessionFork,
};

export const logGroup: GroupSpec = {
  word: 'log',
  heading: 'Sessions',
  summary: 'Read, check and keep what sessions said and did.',
  bare: 'error',
  commands: [list, show, follow, verify, exportLog, replay, blob, rename, carryOn, prune],
};
