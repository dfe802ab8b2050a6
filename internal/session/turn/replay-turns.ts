import { GcError, messageOf } from '../../platform/errors.ts';
import { Mediation } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { CITY_HARNESS } from '../log/city-origin.ts';
import { describeHarness, needsMemory } from './describe-harness.ts';
import type { Harness, HarnessStart } from './harness.ts';
import { historyUpTo } from './history.ts';
import { checkHarness, checkInvocation } from './invocation.ts';
import { legacyExecutionId, legacyTurn } from './legacy-log.ts';
import type { ExecutionView, LogView } from './log-view.ts';
import { readWholeLog } from './read-log-view.ts';
import { RecordedEffects } from './recorded-effects.ts';
import { type TurnContext, TurnError } from './turn.ts';
import { RecordEndsError, TurnSink } from './turn-sink.ts';
import { untilAborted } from './until-aborted.ts';

/** A turn, by what the log has of it. */
export interface RecordedRun {
  /** The name that it was run under; '' where the log does not say. */
  readonly harness: string;
  readonly effects: readonly ChainedRecord[];
}

export type ReplayContext = Pick<TurnContext, 'uid' | 'log' | 'clock'> & {
  /** What would run such a turn; `undefined`: nothing here. */
  readonly harnessOf: (run: RecordedRun) => Harness | undefined;
};

/** A turn that was not run again. */
export interface LeftOut {
  readonly harness: string;
  /** Its first record. */
  readonly seq: number;
  /** `observed`: its harness acted by itself, so there is nothing to compare. `unknown`: nothing here runs it. */
  readonly why: 'observed' | 'unknown';
}

export interface ReplayReport {
  /** How many turns were run, each with the recorded outcome. */
  readonly turns: number;
  readonly leftOut: readonly LeftOut[];
}

interface RecordedTurn {
  readonly harness: Harness;
  readonly start: HarnessStart;
  readonly effects: readonly ChainedRecord[];
  readonly wasCanceled: boolean;
  readonly isLegacy: boolean;
}

/**
 * Runs every ended turn of a log again and finds out whether its harness still does what was recorded. No model is asked,
 * no tool is run, nothing is written, and nothing is run before all turns are found to be fit for it.
 * Source: agentsessions.v1 controller replay; that turns may be left out is ours.
 * @throws TurnError `diverged` and what a resume is refused with; what a harness fails with
 */
export async function replayTurns(context: ReplayContext, signal: AbortSignal): Promise<ReplayReport> {
  const { uid, log } = context;
  const { records, view } = await readWholeLog(log, uid, 'all');
  const turns: RecordedTurn[] = [];
  const leftOut: LeftOut[] = [];
  const legacy = legacyToReplay(context, view, leftOut);
  if (legacy) turns.push(legacy);
  for (const execution of view.executions) {
    if (execution.end === undefined) continue;
    checkInvocation(execution);
    const { start, effects, firstSeq } = execution;
    const harness = harnessFor(context, { harness: start?.harness ?? '', effects }, firstSeq, leftOut);
    if (harness) turns.push(await recordedTurn(context, records, execution, harness));
  }
  const fit: RecordedTurn[] = [];
  for (const turn of turns) fit.push(await checked(context, turn, view, signal));
  for (const turn of fit) await replayOne(turn, signal);
  return { turns: fit.length, leftOut };
}

/** What runs it; what does not is noted. */
function harnessFor(
  { harnessOf }: ReplayContext,
  run: RecordedRun,
  seq: number,
  leftOut: LeftOut[],
): Harness | undefined {
  const harness = actedByItself(run) ? undefined : harnessOf(run);
  if (harness?.observes === false) return harness;
  const why = harness || actedByItself(run) ? 'observed' : 'unknown';
  leftOut.push({ harness: run.harness, seq, why });
  return undefined;
}

/** Only a harness that acts by itself reports calls of its own. */
function actedByItself({ harness, effects }: RecordedRun): boolean {
  if (harness === CITY_HARNESS) return true;
  return effects.some(
    ({ event: { body } }) => body.case === 'tool' && body.value.mediation === Mediation.IN_HARNESS_REPORTED,
  );
}

/** @throws TurnError `harness-mismatch` */
async function checked(
  { clock }: ReplayContext,
  turn: RecordedTurn,
  { executions }: LogView,
  signal: AbortSignal,
): Promise<RecordedTurn> {
  const { harness, start } = turn;
  const execution = executions.find(({ id }) => id === start.executionId);
  const harnessName = execution?.start?.harness ?? '';
  const descriptor = await describeHarness({ harness, harnessName, clock }, signal);
  if (execution) checkHarness(execution, descriptor);
  return needsMemory(descriptor) ? { ...turn, start: { ...start, history: [] } } : turn;
}

async function replayOne(turn: RecordedTurn, signal: AbortSignal): Promise<void> {
  const { harness, start, effects, wasCanceled, isLegacy } = turn;
  const recorded = new RecordedEffects(effects);
  const sink = new TurnSink({
    recorded,
    live: undefined,
    endsAnywhere: wasCanceled,
    observes: false,
    isLegacy,
  });
  const over = new AbortController();
  sink.onSeal((error) => over.abort(error));
  const lifetime = AbortSignal.any([signal, over.signal]);
  let failure: { readonly error: unknown } | undefined;
  try {
    await untilAborted(harness.run(start, sink, lifetime), lifetime);
  } catch (error) {
    failure = { error };
  }
  await sink.close();
  over.abort();
  const why = sink.sealed ?? failure;
  if (why?.error instanceof RecordEndsError) return;
  if (why?.error instanceof GcError) throw why.error;
  if (why) throw new TurnError('harness-failed', messageOf(why.error), { cause: why.error });
  if (!recorded.done && !wasCanceled) {
    throw new TurnError(
      'diverged',
      `execution ${start.executionId}: the harness ended before it came to ${recorded.leftOver()}`,
    );
  }
}

async function recordedTurn(
  { uid, log }: ReplayContext,
  records: readonly ChainedRecord[],
  { id, inputs, start, firstSeq, effects, end }: ExecutionView,
  harness: Harness,
): Promise<RecordedTurn> {
  return {
    harness,
    start: {
      session: uid,
      executionId: id,
      inputs,
      config: start?.config ?? new Uint8Array(),
      resumeFromSeq: start?.resumeFromSeq ?? 0n,
      history: await historyUpTo(log, records, firstSeq - 1),
      recorded: [],
    },
    effects,
    wasCanceled: end?.state === 'CANCELED',
    isLegacy: false,
  };
}

/** All of a log without ids, ended or not; only what ended when turns with ids follow. */
function legacyToReplay(
  context: ReplayContext,
  { legacy, latest }: LogView,
  leftOut: LeftOut[],
): RecordedTurn | undefined {
  const turn = legacyTurn((latest ? legacy?.endedRecords : legacy?.records) ?? []);
  if (!turn) return undefined;
  const { uid } = context;
  const { anchor, inputs, effects } = turn;
  const harness = harnessFor(context, { harness: '', effects }, anchor.seq, leftOut);
  if (!harness) return undefined;
  return {
    harness,
    start: {
      session: uid,
      executionId: legacyExecutionId(uid, anchor),
      inputs,
      config: new Uint8Array(),
      resumeFromSeq: 0n,
      history: [],
      recorded: [],
    },
    effects,
    wasCanceled: false,
    isLegacy: true,
  };
}
