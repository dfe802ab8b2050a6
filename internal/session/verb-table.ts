import { GcError } from '../platform/errors.ts';
import type { VerbState } from './verb-state.ts';

/** What a person can ask of one session. */
export type Verb =
  | 'attach'
  | 'submit'
  | 'nudge'
  | 'peek'
  | 'logs'
  | 'wake'
  | 'suspend'
  | 'pin'
  | 'unpin'
  | 'reset'
  | 'kill'
  | 'drain'
  | 'undrain'
  | 'drain-ack'
  | 'restart'
  | 'close'
  | 'rename'
  | 'respond';

export const VERBS: readonly Verb[] = [
  'attach',
  'submit',
  'nudge',
  'peek',
  'logs',
  'wake',
  'suspend',
  'pin',
  'unpin',
  'reset',
  'kill',
  'drain',
  'undrain',
  'drain-ack',
  'restart',
  'close',
  'rename',
  'respond',
];

/** What is done for a verb. */
export type VerbAction =
  /** On the running agent, at once. */
  | 'use-runtime'
  /** Asks for a start, then acts on the running agent. */
  | 'start-then-use'
  /** Makes the record first, then as for a sleeping session. */
  | 'materialize'
  /** Waits for the start that is under way, then acts. */
  | 'await-start'
  /** Takes the holds away, forgets strikes, asks for a start. */
  | 'release-and-start'
  /** Back from the archive, then a start. */
  | 'reactivate-and-start'
  /** Asks the agent to end. */
  | 'begin-drain'
  /** Ends the drain and lets it run on. */
  | 'cancel-drain'
  | 'hold'
  | 'write-record'
  | 'read-history'
  | 'stop-runtime'
  | 'restart-fresh'
  | 'close-record'
  /** Already so. */
  | 'nothing';

export type VerbRule =
  | { readonly kind: 'do'; readonly action: VerbAction }
  | { readonly kind: 'refuse'; readonly refusal: Refusal };

/** Why a verb is refused in a state: the kind of error, in the words of Gas City where it has them. */
export type Refusal =
  | 'not-active'
  | 'starting'
  | 'closed'
  | 'closing'
  | 'archived'
  | 'held'
  | 'waiting'
  | 'backing-off'
  | 'quarantined'
  | 'usage-limit'
  | 'missing-config'
  | 'identity-conflict'
  | 'duplicate'
  | 'no-record'
  | 'no-pending'
  | 'foreign-state';

const act = (action: VerbAction): VerbRule => ({ kind: 'do', action });
const no = (refusal: Refusal): VerbRule => ({ kind: 'refuse', refusal });

type Row = Readonly<Record<Verb, VerbRule>>;

/** What holds for every session that is open and down; each state then says what else it does. */
const DOWN: Row = {
  attach: act('start-then-use'),
  submit: act('start-then-use'),
  nudge: no('not-active'),
  peek: no('not-active'),
  logs: act('read-history'),
  wake: act('release-and-start'),
  suspend: act('hold'),
  pin: act('write-record'),
  unpin: act('write-record'),
  reset: act('restart-fresh'),
  kill: no('not-active'),
  drain: no('not-active'),
  undrain: no('not-active'),
  'drain-ack': act('write-record'),
  restart: no('not-active'),
  close: act('close-record'),
  rename: act('write-record'),
  respond: no('no-pending'),
};

/** Down, and staying so until the reason is gone: what needs the agent is refused with that reason. */
function blockedBy(refusal: Refusal, changes: Partial<Row> = {}): Row {
  const refused = no(refusal);
  return { ...DOWN, attach: refused, submit: refused, nudge: refused, peek: refused, ...changes };
}

const RUNNING: Row = {
  ...DOWN,
  attach: act('use-runtime'),
  submit: act('use-runtime'),
  nudge: act('use-runtime'),
  peek: act('use-runtime'),
  wake: act('release-and-start'),
  kill: act('stop-runtime'),
  drain: act('begin-drain'),
  undrain: act('cancel-drain'),
  restart: act('write-record'),
  respond: act('use-runtime'),
};

/** Every state, every verb. */
export const VERB_TABLE: Readonly<Record<VerbState, Row>> = {
  reserved: {
    ...DOWN,
    attach: act('materialize'),
    submit: act('materialize'),
    nudge: act('materialize'),
    peek: no('no-record'),
    'drain-ack': no('no-record'),
    logs: no('no-record'),
    wake: act('materialize'),
    suspend: act('materialize'),
    pin: act('materialize'),
    unpin: act('nothing'),
    reset: act('materialize'),
    close: no('no-record'),
    rename: no('no-record'),
  },
  creating: {
    ...DOWN,
    attach: act('await-start'),
    submit: act('await-start'),
    nudge: act('await-start'),
    wake: act('release-and-start'),
    kill: act('stop-runtime'),
    drain: no('starting'),
    restart: act('write-record'),
  },
  running: RUNNING,
  draining: { ...RUNNING, wake: act('cancel-drain'), submit: act('cancel-drain') },
  asleep: DOWN,
  suspended: blockedBy('held', { suspend: act('nothing') }),
  'wait-hold': blockedBy('waiting', { attach: act('start-then-use'), submit: act('start-then-use') }),
  'backing-off': blockedBy('backing-off'),
  quarantined: blockedBy('quarantined'),
  'usage-limit': blockedBy('usage-limit'),
  'missing-config': blockedBy('missing-config', { wake: no('missing-config'), reset: no('missing-config') }),
  'identity-conflict': blockedBy('identity-conflict', {
    wake: no('identity-conflict'),
    reset: no('identity-conflict'),
  }),
  duplicate: blockedBy('duplicate', { wake: no('duplicate'), reset: no('duplicate') }),
  'archived-eligible': {
    ...DOWN,
    attach: act('reactivate-and-start'),
    submit: act('reactivate-and-start'),
    wake: act('reactivate-and-start'),
    reset: act('reactivate-and-start'),
    pin: act('reactivate-and-start'),
  },
  archived: blockedBy('archived', {
    'drain-ack': no('archived'),
    wake: no('archived'),
    suspend: no('archived'),
    pin: no('archived'),
    reset: no('archived'),
  }),
  closing: {
    ...blockedBy('closing'),
    'drain-ack': no('closing'),
    wake: no('closing'),
    suspend: no('closing'),
    pin: no('closing'),
    unpin: no('closing'),
    reset: no('closing'),
    close: act('nothing'),
  },
  closed: {
    ...blockedBy('closed'),
    'drain-ack': no('closed'),
    wake: no('closed'),
    suspend: no('closed'),
    pin: no('closed'),
    unpin: no('closed'),
    reset: no('closed'),
    close: act('nothing'),
    rename: no('closed'),
    kill: no('closed'),
  },
  foreign: {
    ...blockedBy('foreign-state'),
    'drain-ack': no('foreign-state'),
    wake: no('foreign-state'),
    suspend: no('foreign-state'),
    reset: no('foreign-state'),
  },
};

/** A way out of a state in which a session cannot run. */
export type Exit =
  | { readonly by: 'verb'; readonly verb: Verb }
  /** The time that the record names comes. */
  | { readonly by: 'time'; readonly key: 'held_until' | 'quarantined_until' | 'next try' }
  /** What it waits for happens. */
  | { readonly by: 'event'; readonly what: string };

/** Each state that keeps a session from running, and every way out of it. All of them lead to running. */
export const EXITS: Readonly<Partial<Record<VerbState, readonly Exit[]>>> = {
  suspended: [
    { by: 'verb', verb: 'wake' },
    { by: 'time', key: 'held_until' },
  ],
  'wait-hold': [
    { by: 'verb', verb: 'wake' },
    { by: 'event', what: 'the wait is over' },
  ],
  'backing-off': [
    { by: 'verb', verb: 'wake' },
    { by: 'time', key: 'next try' },
  ],
  quarantined: [
    { by: 'verb', verb: 'wake' },
    { by: 'time', key: 'quarantined_until' },
  ],
  'usage-limit': [
    { by: 'verb', verb: 'wake' },
    { by: 'time', key: 'next try' },
  ],
  'missing-config': [{ by: 'event', what: 'the template is in the city file again' }],
  'identity-conflict': [{ by: 'event', what: 'the session that sits on the name is closed or renamed' }],
  duplicate: [{ by: 'event', what: 'the other record of this identity is gone' }],
  'archived-eligible': [{ by: 'verb', verb: 'wake' }],
};

/** What `verb` does in `state`. @throws GcError of the refusal, with the next step */
export function actionFor(state: VerbState, verb: Verb, session: { readonly label: string }): VerbAction {
  const rule = VERB_TABLE[state][verb];
  if (rule.kind === 'do') return rule.action;
  throw refusalError(rule.refusal, session.label);
}

interface Wording {
  readonly code: string;
  says(label: string): string;
  next?(label: string): string;
}

const wake = (label: string): string => `gc session wake ${label}`;
const explain = (label: string): string => `gc explain ${label}`;

const WORDING: Readonly<Record<Refusal, Wording>> = {
  'not-active': { code: 'session-not-active', says: (l) => `session ${l} is not active`, next: wake },
  starting: {
    code: 'session-not-active',
    says: (l) => `session ${l} is not active yet: it is being started`,
    next: explain,
  },
  closed: { code: 'session-closed', says: (l) => `session ${l} is closed`, next: () => 'gc session new' },
  closing: { code: 'session-closed', says: (l) => `session ${l} is closing`, next: () => 'gc session list' },
  archived: {
    code: 'session-archived',
    says: (l) => `session ${l} is archived`,
    next: () => 'gc session list --state all',
  },
  held: { code: 'session-not-active', says: (l) => `session ${l} is not active: suspended`, next: wake },
  waiting: {
    code: 'session-not-active',
    says: (l) => `session ${l} is not active: it sleeps until its wait is over`,
    next: wake,
  },
  'backing-off': {
    code: 'session-not-active',
    says: (l) => `session ${l} is not active: it ended and is tried again soon`,
    next: explain,
  },
  quarantined: {
    code: 'session-not-active',
    says: (l) => `session ${l} is not active: quarantined after ending too often`,
    next: explain,
  },
  'usage-limit': {
    code: 'session-not-active',
    says: (l) => `session ${l} is not active: its account reached a usage limit`,
    next: wake,
  },
  'missing-config': {
    code: 'session-missing-config',
    says: (l) => `session ${l} has no agent in the city file any more`,
    next: (l) => `add the agent again, or gc session close ${l}`,
  },
  'identity-conflict': {
    code: 'session-name-exists',
    says: (l) => `another session holds the name of ${l}`,
    next: () => 'gc session list',
  },
  duplicate: {
    code: 'session-duplicate',
    says: (l) => `session ${l} is a duplicate of another record`,
    next: (l) => `gc session close ${l}`,
  },
  'no-record': { code: 'session-not-active', says: (l) => `session ${l} has never been started`, next: wake },
  'no-pending': {
    code: 'session-no-pending',
    says: () => 'session has no pending interaction',
    next: () => 'gc session list',
  },
  'foreign-state': {
    code: 'session-foreign-state',
    says: (l) => `session ${l} is in a state that this version of gc does not know`,
    next: () => 'use the newer gc that wrote it',
  },
};

function refusalError(refusal: Refusal, label: string): GcError {
  const wording = WORDING[refusal];
  const next = wording.next?.(label);
  return new GcError(wording.code, wording.says(label), next === undefined ? {} : { next });
}
