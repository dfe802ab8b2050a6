import { RevisionConflictError } from '../beads/store.ts';
import type { City } from '../config/city.ts';
import { GcError } from '../platform/errors.ts';
import { META_INSTANCE_TOKEN } from '../runtime/provider.ts';
import { displayName } from '../session/display.ts';
import { CREATING_STALE_MS, projectLifecycle } from '../session/lifecycle-projection.ts';
import type { SessionRecord } from '../session/record.ts';
import { type ResolveQuestion, requireResolved, UnknownSessionError } from '../session/resolve.ts';
import type { SessionStore } from '../session/session-store.ts';
import { type VerbState, verbState } from '../session/verb-state.ts';
import { actionFor, type Verb, type VerbAction } from '../session/verb-table.ts';
import type { CityEngine } from './city-engine.ts';
import { configuredNames, isSuspended } from './desired-state.ts';
import type { OrderedSurvey } from './model.ts';
import { rigHere } from './rig-here.ts';
import { believedRunning, isAttached, type Sight, sightOf } from './session-facts.ts';

/** What a name on the command line stands for now. */
export type Target =
  | {
      readonly kind: 'session';
      readonly record: SessionRecord;
      readonly sight: Sight;
      readonly state: VerbState;
    }
  /** Configured by name, without a record yet. */
  | {
      readonly kind: 'reserved';
      readonly identity: string;
      readonly sessionName: string;
      readonly sight: Sight;
    };

export type Existing = Extract<Target, { kind: 'session' }>;

const MAX_ATTEMPTS = 5;

/** What is decided about a record holds for the record that was looked at: when it has changed, it is decided anew. */
export async function decidedAnew<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RevisionConflictError) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

export function isUp(target: Existing): boolean {
  return target.sight.kind === 'running' || believedRunning(target.record);
}

/** Of the life that is meant: the one that was seen, where one was; the record may tell of another. */
export function tokenOf(record: SessionRecord, sight: Sight): string {
  const seen = sight.kind === 'running' ? sight.observation.meta[META_INSTANCE_TOKEN] : undefined;
  return seen ?? record.instanceToken;
}

/** One with a record. @throws GcError what its verb says about one without */
export function requireExisting(target: Target, verb: Verb): Existing {
  if (target.kind === 'session') return target;
  requireAction(target, verb);
  throw new GcError('session-not-active', `session ${target.identity} has never been started`);
}

/** Verbs that need to know for certain whether the session runs. */
const NEEDS_CERTAINTY: ReadonlySet<Verb> = new Set<Verb>([
  'attach',
  'submit',
  'nudge',
  'peek',
  'kill',
  'drain',
  'respond',
  'interrupt',
]);

/** @throws GcError `session-not-found` (nearest name offered), `ambiguous-session` */
export async function resolveTarget(
  engine: CityEngine,
  store: SessionStore,
  token: string,
  survey: OrderedSurvey,
  closedToo: boolean,
): Promise<Target> {
  const { city } = engine;
  const question = { token, configured: configuredNames(city), closedToo, rig: rigHere(city) };
  const found = await resolved(store, question);
  const seen = (name: string): Sight => sightOf({ survey, effects: new Map() }, name);
  if (found.kind === 'reserved') return { ...found, sight: seen(found.sessionName) };
  const { record } = found;
  const sight: Sight = record.closed ? { kind: 'absent' } : seen(record.sessionName);
  return { kind: 'session', record, sight, state: stateOf(engine, record, sight) };
}

/** A closed session is found by its id whatever is done with it: its verb then says that it is closed. */
async function resolved(store: SessionStore, question: Omit<ResolveQuestion, 'records'>) {
  const records = await store.list(question.closedToo ? 'all' : 'open');
  try {
    return requireResolved({ ...question, records });
  } catch (error) {
    if (!(error instanceof UnknownSessionError) || question.closedToo) throw error;
    const record = (await store.list('closed')).find(({ id }) => id === question.token);
    if (!record) throw error;
    return { kind: 'session', record } as const;
  }
}

/** What to do for a verb. @throws GcError of the refusal, with the next step; `runtime-unknown` */
export function requireAction(target: Target, verb: Verb): VerbAction {
  if (target.kind === 'reserved') return actionFor('reserved', verb, { label: target.identity });
  if (NEEDS_CERTAINTY.has(verb)) refuseUnseenTarget(target);
  const { record } = target;
  return actionFor(target.state, verb, { label: displayName(record), template: record.template });
}

/**
 * Before anything is started or ended: what could not be looked at may live, and may be somebody else's. A controller
 * waits for a look by itself. @throws GcError `runtime-unknown`
 */
export function refuseUnseenTarget(target: Target): void {
  refuseUnseen(
    target.sight,
    `session ${target.kind === 'session' ? displayName(target.record) : target.identity}`,
  );
}

/** @param what as a message names it. @throws GcError `runtime-unknown` */
export function refuseUnseen(sight: Sight, what: string): void {
  if (sight.kind !== 'unknown') return;
  throw new GcError('runtime-unknown', `could not tell whether ${what} runs: ${sight.reason}`, {
    next: 'try again; gc status says what is wrong with the runtime',
  });
}

/** Nothing brings up what the config keeps down. @throws GcError `agent-suspended`, with who can take it back */
export function refuseSuspended(city: City, target: Target): void {
  const template =
    target.kind === 'session'
      ? target.record.template
      : city.namedSessions.find(({ identity }) => identity === target.identity)?.templateQualifiedName;
  const agent = city.agents.find(({ qualifiedName }) => qualifiedName === template);
  if (!agent || !isSuspended(city, agent)) return;
  const label = target.kind === 'session' ? displayName(target.record) : target.identity;
  const [what, next] = city.workspace.suspended
    ? ['the city', 'gc resume']
    : agent.suspended
      ? [`its agent "${agent.qualifiedName}"`, `gc agent resume ${agent.qualifiedName}`]
      : [`its rig "${agent.dir}"`, `gc rig resume ${agent.dir}`];
  throw new GcError('agent-suspended', `session ${label} stays down: ${what} is suspended`, { next });
}

function stateOf(engine: CityEngine, record: SessionRecord, sight: Sight): VerbState {
  const now = engine.parts.clock.now();
  const known = engine.city.agents.some((agent) => agent.qualifiedName === record.template);
  const lifecycle = projectLifecycle({
    record,
    runtime: sight.kind === 'running' ? 'alive' : sight.kind === 'unknown' ? 'unknown' : 'gone',
    attached: sight.kind === 'running' && isAttached(sight.observation),
    pending: false,
    named: undefined,
    causes: [],
    missingConfig: !known,
    duplicateCanonical: false,
    preserve: true,
    now,
    creatingStaleMs: CREATING_STALE_MS,
  });
  return verbState(record, lifecycle, now);
}
