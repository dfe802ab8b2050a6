/** How a session's wait stands. Source: Gas City's waits. */
export type WaitState = 'pending' | 'ready' | WaitEnd;

export type WaitEnd = 'closed' | 'canceled' | 'expired' | 'failed';

/** `deps`, the kind of one on beads alone, is Gas City's. */
export type WaitKind = 'deps' | 'time' | 'session' | 'mixed';

export type WaitMode = 'all' | 'any';

/** What is waited for. */
export interface WaitConditions {
  /** Ids of beads that are to be closed. */
  readonly beads: readonly string[];
  /** Record ids of sessions that are to be at rest. */
  readonly sessions: readonly string[];
  /** Milliseconds since the epoch. */
  readonly until: number | undefined;
  readonly mode: WaitMode;
}

/** A wait of one session, as its bead says. Times are milliseconds since the epoch. */
export interface Wait extends WaitConditions {
  readonly id: string;
  readonly revision: number;
  readonly sessionId: string;
  readonly sessionName: string;
  readonly state: WaitState;
  /** The session is told this when it is over. */
  readonly note: string;
  /** `until` was a span: time that nobody lived through does not count. */
  readonly untilMoves: boolean;
  /** The session stays down meanwhile. */
  readonly sleeps: boolean;
  /** The conversation that it belongs to; `''`: the session has a new one in each life. */
  readonly epoch: string;
  /** The first is 1. */
  readonly attempt: number;
  readonly createdBy: string;
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  /** The message that tells of its end; `''` before there is one. */
  readonly nudgeId: string;
  readonly lastError: string;
  readonly retriedFrom: string;
}

/** What became of the message that tells of a wait. */
export type NudgeFate =
  | { readonly kind: 'under way' }
  | { readonly kind: 'accepted' }
  | { readonly kind: 'lost'; readonly why: string }
  /** It ended so long ago that nobody knows how. */
  | { readonly kind: 'forgotten' };

/** Everything that a wait may look at. Nothing follows from `unknown`. */
export interface WaitWorld {
  readonly now: number;
  bead(id: string): 'open' | 'closed' | 'missing' | 'unknown';
  rest(sessionId: string): 'resting' | 'working' | 'missing' | 'unknown';
  /** The one that waits; `undefined`: it is closed. */
  session(id: string): { readonly epoch: number; readonly isUp: boolean } | undefined;
  nudge(id: string): NudgeFate;
}

/** What a wait comes to next. */
export type WaitStep =
  | { readonly kind: 'stay' }
  | { readonly kind: 'ready'; readonly why: string }
  /** Its session is up and is given the message. */
  | { readonly kind: 'tell' }
  /** `tells`: the session is given a message about that, too. */
  | { readonly kind: 'end'; readonly state: WaitEnd; readonly why: string; readonly tells: boolean };

export interface WaitPlan {
  /** Those that change, with how. */
  readonly steps: readonly { readonly wait: Wait; readonly step: Exclude<WaitStep, { kind: 'stay' }> }[];
  /** Record ids of sessions that are to be up, because a wait of theirs is over and they were not told yet. */
  readonly ready: ReadonlySet<string>;
  /** The passing of time alone changes something then, milliseconds since the epoch. */
  readonly nextAt: number | undefined;
}

export const isOver = (state: WaitState): state is WaitEnd => state !== 'pending' && state !== 'ready';

export function waitKind({ beads, sessions, until }: Omit<WaitConditions, 'mode'>): WaitKind {
  const kinds: readonly WaitKind[] = [
    ...(beads.length > 0 ? (['deps'] as const) : []),
    ...(sessions.length > 0 ? (['session'] as const) : []),
    ...(until === undefined ? [] : (['time'] as const)),
  ];
  return kinds.length === 1 ? (kinds[0] ?? 'mixed') : 'mixed';
}

/** What all live waits come to now. Pure: the same world gives the same plan, whatever led to it. */
export function evaluateWaits(waits: readonly Wait[], world: WaitWorld): WaitPlan {
  const steps: { wait: Wait; step: Exclude<WaitStep, { kind: 'stay' }> }[] = [];
  const ready = new Set<string>();
  let nextAt: number | undefined;
  for (const wait of waits) {
    const step = stepOf(wait, world);
    if (step.kind !== 'stay') steps.push({ wait, step });
    if (step.kind === 'ready' || (wait.state === 'ready' && step.kind !== 'end')) ready.add(wait.sessionId);
    if (step.kind !== 'stay' || wait.state !== 'pending') continue;
    for (const at of [wait.until, wait.expiresAt]) {
      if (at !== undefined && at > world.now && (nextAt === undefined || at < nextAt)) nextAt = at;
    }
  }
  return { steps, ready, nextAt };
}

export function stepOf(wait: Wait, world: WaitWorld): WaitStep {
  if (isOver(wait.state)) return { kind: 'stay' };
  const session = world.session(wait.sessionId);
  if (!session) return end('canceled', 'its session is closed');
  if (wait.epoch !== '' && wait.epoch !== String(session.epoch)) return end('canceled', CONTINUATION_STALE);
  if (wait.state === 'ready') return readyStep(wait, session.isUp, world);
  const conditions = conditionsOf(wait, world);
  const isMet =
    wait.mode === 'all'
      ? conditions.every(({ is }) => is === 'met')
      : conditions.some(({ is }) => is === 'met');
  if (isMet) return { kind: 'ready', why: textOf(conditions, 'met') };
  const isImpossible =
    wait.mode === 'all'
      ? conditions.some(({ is }) => is === 'gone')
      : conditions.every(({ is }) => is === 'gone');
  if (isImpossible) return { kind: 'end', state: 'failed', why: textOf(conditions, 'gone'), tells: true };
  if (wait.expiresAt !== undefined && world.now >= wait.expiresAt) {
    return { kind: 'end', state: 'expired', why: 'its time is over', tells: true };
  }
  return { kind: 'stay' };
}

/** Another conversation began: it knows nothing of the wait. Source: Gas City. */
export const CONTINUATION_STALE = 'continuation-stale';

function readyStep(wait: Wait, isUp: boolean, world: WaitWorld): WaitStep {
  if (wait.nudgeId === '') return isUp ? { kind: 'tell' } : { kind: 'stay' };
  const fate = world.nudge(wait.nudgeId);
  switch (fate.kind) {
    case 'under way':
      return { kind: 'stay' };
    case 'accepted':
      return end('closed', '');
    case 'forgotten':
      return end('closed', 'what became of its message is not known any more');
    case 'lost':
      return end('failed', fate.why);
  }
}

const end = (state: WaitEnd, why: string): WaitStep => ({ kind: 'end', state, why, tells: false });

interface Condition {
  readonly is: 'met' | 'open' | 'gone';
  readonly text: string;
}

function conditionsOf(wait: Wait, world: WaitWorld): readonly Condition[] {
  const beads = wait.beads.map((id): Condition => {
    const state = world.bead(id);
    if (state === 'closed') return { is: 'met', text: `bead ${id} is closed` };
    return state === 'missing'
      ? { is: 'gone', text: `bead ${id} is not there any more` }
      : { is: 'open', text: '' };
  });
  const sessions = wait.sessions.map((id): Condition => {
    const rest = world.rest(id);
    if (rest === 'resting') return { is: 'met', text: `session ${id} is at rest` };
    return rest === 'missing'
      ? { is: 'gone', text: `session ${id} is not there any more` }
      : { is: 'open', text: '' };
  });
  const time: readonly Condition[] =
    wait.until === undefined
      ? []
      : [{ is: world.now >= wait.until ? 'met' : 'open', text: 'its time has come' }];
  return [...beads, ...sessions, ...time];
}

const textOf = (conditions: readonly Condition[], is: Condition['is']): string =>
  conditions
    .filter((condition) => condition.is === is)
    .map(({ text }) => text)
    .join(', ');

/** The id of the message about a wait: asking for it twice makes one message. Source: Gas City. */
export function waitNudgeId(wait: Pick<Wait, 'id' | 'epoch' | 'attempt'>): string {
  return `wait-${wait.id.replaceAll('/', '-')}-${wait.epoch || '0'}-${wait.attempt}`;
}

/** Why a message about a wait is not for the conversation that is there now; `undefined`: it is, or is no such message. */
export function staleWaitNudge(
  nudge: { readonly id: string; readonly source: string },
  epoch: number | undefined,
): string | undefined {
  if (epoch === undefined) return undefined;
  const meant = nudge.source === 'wait' ? /^wait-.+-(\d+)-\d+$/.exec(nudge.id)?.[1] : undefined;
  if (meant === undefined || meant === '0' || meant === String(epoch)) return undefined;
  return `it was for conversation ${meant} of the session, which is at ${epoch}`;
}

/** What the session is told. Source: Gas City, for one that is satisfied. */
export function waitMessage(wait: Pick<Wait, 'id' | 'note'>, end?: { state: WaitEnd; why: string }): string {
  const note = wait.note || 'Wait satisfied.';
  if (!end) return `Wait satisfied (${wait.id}): ${note}`;
  const what = end.state === 'expired' ? 'Wait expired' : `Wait failed, ${end.why}`;
  return `${what} (${wait.id}): ${note}`;
}

/** What it waits for, for people: `on bead p-19`, `on any of beads p-1, p-2 or until ...`. `nameOf`: what people call a session. */
export function waitText(
  wait: WaitConditions,
  nameOf: (sessionId: string) => string,
  timeOf: (at: number) => string,
): string {
  const { beads, sessions, until, mode } = wait;
  const named = [
    ...countedNames('bead', beads, mode),
    ...countedNames('session', sessions.map(nameOf), mode),
  ];
  const time = until === undefined ? [] : [`until ${timeOf(until)}`];
  const parts = [...named.map((part, at) => (at === 0 ? `on ${part}` : part)), ...time];
  return parts.join(mode === 'all' ? ' and ' : ' or ');
}

function countedNames(word: string, names: readonly string[], mode: WaitMode): readonly string[] {
  if (names.length === 0) return [];
  if (names.length === 1) return [`${word} ${names[0]}`];
  return [`${mode === 'any' ? 'any of ' : ''}${word}s ${names.join(', ')}`];
}
