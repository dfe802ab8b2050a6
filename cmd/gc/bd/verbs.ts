import type { OptionSpec } from '../cli/spec.ts';

/** One word after `gc bd`, as data: the help, the completion and the check of its options are made from it. */
export interface Verb {
  readonly name: string;
  readonly usage: string;
  readonly summary: string;
  /** Names in `BD_OPTIONS`; those of `EVERYWHERE` come on top. */
  readonly options: readonly string[];
}

const FILTERS = [
  'assignee',
  'no-assignee',
  'unassigned',
  'type',
  'metadata-field',
  'label',
  'labels',
  'limit',
];

/** Options that every verb takes. */
export const EVERYWHERE: readonly string[] = ['rig', 'all-rigs', 'actor', 'quiet', 'json'];

/** Source: the public `bd` command line, the part that packs use. */
export const VERBS: readonly Verb[] = [
  {
    name: 'create',
    usage: 'create <title>',
    summary: 'new work',
    options: [
      ...['title', 'type', 'priority', 'description', 'parent', 'deps', 'labels', 'label', 'assignee'],
      ...['notes', 'metadata', 'set-metadata', 'silent', 'persistent'],
    ],
  },
  { name: 'show', usage: 'show <id>...', summary: 'all about a bead', options: [] },
  {
    name: 'list',
    usage: 'list',
    summary: 'what is not closed, unless filtered',
    options: [...FILTERS, 'status', 'all', 'closed-after', 'parent', 'include-infra', 'include-gates'],
  },
  {
    name: 'ready',
    usage: 'ready',
    summary: 'open work that waits for nothing',
    options: [...FILTERS, 'parent'],
  },
  {
    name: 'update',
    usage: 'update <id>...',
    summary: 'change, assign or claim',
    options: [
      ...['claim', 'status', 'assignee', 'no-assignee', 'notes', 'append-notes', 'title', 'description'],
      ...['type', 'priority', 'metadata', 'set-metadata', 'unset-metadata', 'add-label', 'remove-label'],
      'persistent',
    ],
  },
  { name: 'close', usage: 'close <id>...', summary: 'it is done', options: ['reason'] },
  { name: 'reopen', usage: 'reopen <id>...', summary: 'it is not done after all', options: ['reason'] },
  { name: 'delete', usage: 'delete <id>... --force', summary: 'remove it for good', options: ['force'] },
  {
    name: 'dep',
    usage: 'dep add|remove|list <id> [<needs>]',
    summary: 'what waits for what',
    options: ['type', 'direction'],
  },
  {
    name: 'label',
    usage: 'label add|remove|list <id> [<label>]',
    summary: 'labels of a bead',
    options: [],
  },
  { name: 'comment', usage: 'comment <id> <text>', summary: 'say something about it', options: [] },
  { name: 'comments', usage: 'comments <id>', summary: 'what was said', options: [] },
  {
    name: 'gate',
    usage: 'gate list|check|close [<id>]',
    summary: 'beads that hold others back',
    options: ['reason', 'all', 'limit'],
  },
  { name: 'init', usage: 'init', summary: 'nothing to do: the store is there', options: ['prefix'] },
  { name: 'version', usage: 'version', summary: 'what answers here as bd', options: [] },
  { name: 'help', usage: 'help', summary: 'this page', options: [] },
];

export const BD_OPTIONS: readonly OptionSpec[] = [
  { name: 'title', value: 'text', summary: 'title' },
  {
    name: 'type',
    short: 't',
    value: 'type',
    summary: 'task, bug, feature, ...; of dep: blocks, related, ...',
  },
  { name: 'priority', short: 'p', value: '0-4', summary: '0 or P0 is most urgent, 2 when not given' },
  { name: 'description', short: 'd', value: 'text', summary: 'description' },
  { name: 'parent', value: 'id', summary: 'the bead that it is part of' },
  { name: 'deps', value: 'ids', summary: 'what it waits for: id or type:id, with commas', repeatable: true },
  { name: 'labels', value: 'labels', summary: 'labels, with commas', repeatable: true },
  { name: 'label', short: 'l', value: 'label', summary: 'as --labels', repeatable: true },
  { name: 'assignee', short: 'a', value: 'name', summary: 'who has it; "" is nobody' },
  { name: 'no-assignee', summary: 'nobody has it' },
  { name: 'unassigned', short: 'u', summary: 'as --no-assignee' },
  { name: 'claim', summary: 'take it, and start; fails when somebody else has it' },
  {
    name: 'status',
    short: 's',
    value: 'status',
    summary: 'open, in_progress or closed; list: with commas, or all',
  },
  { name: 'notes', value: 'text', summary: 'notes, instead of those it has' },
  { name: 'append-notes', value: 'text', summary: 'one more line of notes' },
  { name: 'metadata', value: 'json', summary: 'an object of keys to merge; null removes one' },
  { name: 'set-metadata', value: 'k=v', summary: 'set one key', repeatable: true },
  { name: 'unset-metadata', value: 'key', summary: 'remove one key', repeatable: true },
  { name: 'metadata-field', value: 'k=v', summary: 'only with this key and value', repeatable: true },
  { name: 'add-label', value: 'label', summary: 'add a label', repeatable: true },
  { name: 'remove-label', value: 'label', summary: 'remove a label', repeatable: true },
  { name: 'reason', short: 'r', value: 'text', summary: 'why' },
  { name: 'force', short: 'f', summary: 'really delete' },
  { name: 'limit', short: 'n', value: 'count', summary: 'at most so many, 0 for all (list 50, ready 100)' },
  { name: 'all', summary: 'closed ones too' },
  { name: 'closed-after', value: 'time', summary: 'closed later than this RFC 3339 time' },
  {
    name: 'direction',
    value: 'way',
    summary: 'down: what it needs; up: what needs it',
    completes: ['down', 'up'],
  },
  { name: 'silent', summary: 'print the id only' },
  { name: 'quiet', short: 'q', summary: 'say nothing on success' },
  { name: 'actor', value: 'name', summary: 'who acts (default: $BEADS_ACTOR, else the session)' },
  { name: 'rig', value: 'name', summary: 'the work of this rig (default: $GC_RIG, else the folder)' },
  { name: 'all-rigs', summary: 'the work of the city and all rigs' },
  { name: 'persistent', summary: 'accepted: everything is kept', hidden: true },
  { name: 'include-infra', summary: 'records of the city too', hidden: true },
  { name: 'include-gates', summary: 'gates too', hidden: true },
  { name: 'prefix', value: 'prefix', summary: 'accepted: the city file says it', hidden: true },
  { name: 'json', summary: 'print data as JSON; errors are JSON on stderr too' },
];
