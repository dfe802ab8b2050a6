import { RevisionConflictError } from '../beads/store.ts';
import { GcError } from '../platform/errors.ts';
import { displayName } from '../session/display.ts';
import { CREATING_STALE_MS, projectLifecycle } from '../session/lifecycle-projection.ts';
import type { SessionRecord } from '../session/record.ts';
import { requireResolved } from '../session/resolve.ts';
import type { SessionStore } from '../session/session-store.ts';
import { type VerbState, verbState } from '../session/verb-state.ts';
import { actionFor, type Verb, type VerbAction } from '../session/verb-table.ts';
import type { CityEngine } from './city-engine.ts';
import { configuredNames } from './desired-state.ts';
import type { OrderedSurvey } from './model.ts';
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
  | { readonly kind: 'reserved'; readonly identity: string; readonly sessionName: string };

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
]);

/** @throws GcError `session-not-found` (nearest name offered), `ambiguous-session` */
export async function resolveTarget(
  engine: CityEngine,
  store: SessionStore,
  token: string,
  survey: OrderedSurvey,
  closedToo: boolean,
): Promise<Target> {
  const records = await store.list(closedToo ? 'all' : 'open');
  const found = requireResolved({
    token,
    records,
    configured: configuredNames(engine.city),
    closedToo,
    rig: '',
  });
  if (found.kind === 'reserved') return found;
  const { record } = found;
  const sight: Sight = record.closed
    ? { kind: 'absent' }
    : sightOf({ survey, effects: new Map() }, record.sessionName);
  return { kind: 'session', record, sight, state: stateOf(engine, record, sight) };
}

/** What to do for a verb. @throws GcError of the refusal, with the next step; `runtime-unknown` */
export function requireAction(target: Target, verb: Verb): VerbAction {
  if (target.kind === 'reserved') return actionFor('reserved', verb, { label: target.identity });
  const label = displayName(target.record);
  if (target.sight.kind === 'unknown' && NEEDS_CERTAINTY.has(verb)) {
    throw new GcError(
      'runtime-unknown',
      `could not tell whether session ${label} runs: ${target.sight.reason}`,
      {
        next: 'try again; gc status says what is wrong with the runtime',
      },
    );
  }
  return actionFor(target.state, verb, { label });
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
