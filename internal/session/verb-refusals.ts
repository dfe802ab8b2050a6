import { GcError } from '../platform/errors.ts';

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

interface Wording {
  readonly code: string;
  says(label: string): string;
  next?(label: string, template: string): string;
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
  closed: {
    code: 'session-closed',
    says: (l) => `session ${l} is closed`,
    next: (_, agent) => `gc session new ${agent || '<agent>'}`,
  },
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

/** The error of a refusal, with what helps. */
export function refusalError(refusal: Refusal, label: string, template = ''): GcError {
  const wording = WORDING[refusal];
  const next = wording.next?.(label, template);
  return new GcError(wording.code, wording.says(label), next === undefined ? {} : { next });
}
