import { type Refusal, refusalError } from './verb-refusals.ts';
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
  | 'respond'
  | 'interrupt'
  | 'prune'
  | 'wait';

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
  'interrupt',
  'prune',
  'wait',
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
  interrupt: no('not-active'),
  prune: act('nothing'),
  wait: act('write-record'),
};

/** Down, and staying so until the reason is gone: what needs the agent is refused with that reason. */
function blockedBy(refusal: Refusal, changes: Partial<Row> = {}): Row {
  const refused = no(refusal);
  const needAgent = { attach: refused, submit: refused, nudge: refused, peek: refused, interrupt: refused };
  return { ...DOWN, ...needAgent, ...changes };
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
  interrupt: act('use-runtime'),
};

/** Nothing can be asked of it any more, but to be read. */
function finalBy(refusal: Refusal): Row {
  const refused = no(refusal);
  const over = { wake: refused, suspend: refused, pin: refused, reset: refused, wait: refused };
  return { ...blockedBy(refusal), ...over, 'drain-ack': refused };
}

/** What a prune closes when it has been suspended for long enough, whatever else keeps it down. */
const PRUNED: Partial<Row> = { prune: act('close-record') };

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
    unpin: no('no-record'),
    reset: no('no-record'),
    close: no('no-record'),
    rename: no('no-record'),
    interrupt: no('no-record'),
    wait: no('no-record'),
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
    interrupt: no('starting'),
  },
  running: RUNNING,
  draining: { ...RUNNING, wake: act('cancel-drain'), submit: act('cancel-drain') },
  asleep: DOWN,
  suspended: blockedBy('held', { suspend: act('nothing'), ...PRUNED }),
  'wait-hold': blockedBy('waiting', { attach: act('start-then-use'), submit: act('start-then-use') }),
  'backing-off': blockedBy('backing-off'),
  quarantined: blockedBy('quarantined'),
  'usage-limit': blockedBy('usage-limit'),
  'missing-config': blockedBy('missing-config', {
    wake: no('missing-config'),
    reset: no('missing-config'),
    ...PRUNED,
  }),
  'identity-conflict': blockedBy('identity-conflict', {
    wake: no('identity-conflict'),
    reset: no('identity-conflict'),
    ...PRUNED,
  }),
  duplicate: blockedBy('duplicate', { wake: no('duplicate'), reset: no('duplicate'), ...PRUNED }),
  'archived-eligible': {
    ...DOWN,
    attach: act('reactivate-and-start'),
    submit: act('reactivate-and-start'),
    wake: act('reactivate-and-start'),
    reset: act('reactivate-and-start'),
    pin: act('reactivate-and-start'),
  },
  archived: finalBy('archived'),
  closing: { ...finalBy('closing'), unpin: no('closing'), close: act('nothing') },
  closed: {
    ...finalBy('closed'),
    unpin: no('closed'),
    close: act('nothing'),
    rename: no('closed'),
    kill: no('closed'),
  },
  foreign: { ...finalBy('foreign-state'), unpin: no('foreign-state') },
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
    { by: 'verb', verb: 'reset' },
    { by: 'time', key: 'next try' },
  ],
  quarantined: [
    { by: 'verb', verb: 'wake' },
    { by: 'verb', verb: 'reset' },
    { by: 'time', key: 'quarantined_until' },
  ],
  'usage-limit': [
    { by: 'verb', verb: 'wake' },
    { by: 'verb', verb: 'reset' },
    { by: 'time', key: 'next try' },
  ],
  'missing-config': [{ by: 'event', what: 'the template is in the city file again' }],
  'identity-conflict': [{ by: 'event', what: 'the session that sits on the name is closed or renamed' }],
  duplicate: [{ by: 'event', what: 'the other record of this identity is gone' }],
  'archived-eligible': [
    { by: 'verb', verb: 'wake' },
    { by: 'verb', verb: 'reset' },
    { by: 'verb', verb: 'pin' },
  ],
};

/** How messages name a session, and the agent of which another one can be made. */
export interface Addressed {
  readonly label: string;
  readonly template?: string;
}

/** What `verb` does in `state`. @throws GcError of the refusal, with the next step */
export function actionFor(state: VerbState, verb: Verb, session: Addressed): VerbAction {
  const rule = VERB_TABLE[state][verb];
  if (rule.kind === 'do') return rule.action;
  throw refusalError(rule.refusal, session.label, session.template);
}
