import { GcError, messageOf } from '../../platform/errors.ts';
import { errorEvent, executionEnd } from '../../protocol/events.ts';
import type { HarnessDescriptor } from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { canceled, needsMemory } from './describe-harness.ts';
import { EffectLog } from './effect-log.ts';
import type { HarnessStart } from './harness.ts';
import { LiveEffects } from './live-effects.ts';
import { RecordedEffects } from './recorded-effects.ts';
import { ParkedError, type TurnContext, TurnError, type TurnOutcome } from './turn.ts';
import { TurnSink } from './turn-sink.ts';
import { untilAborted } from './until-aborted.ts';

/** Of an error's text, in the log. */
const MAX_ERROR_CHARS = 8_192;

export interface TurnToDrive {
  readonly start: HarnessStart;
  /** '' for a turn that has none in the log; else that of `start`. */
  readonly executionId: string;
  readonly descriptor: HarnessDescriptor;
  /** What it did before it was cut. */
  readonly effects: readonly ChainedRecord[];
}

/**
 * Runs the harness to the end of a turn whose start and inputs are in the log, and records how it came out.
 * @throws TurnError; what the log refused with, such as StaleFenceError: then the turn was taken over and nothing is recorded
 */
export async function driveTurn(
  context: TurnContext,
  turn: TurnToDrive,
  signal: AbortSignal,
): Promise<TurnOutcome> {
  const over = new AbortController();
  const lifetime = AbortSignal.any([signal, over.signal]);
  const { sink, log, recorded } = prepare(context, turn, lifetime);
  sink.onSeal((error) => {
    if (!(error instanceof ParkedError)) over.abort(error);
  });
  const failure = await failureOf(runHarness(context, turn, sink, lifetime));
  await sink.close();
  over.abort();

  const sealed = sink.sealed?.error;
  if (sealed instanceof ParkedError) {
    if (failure === undefined || stemsFrom(failure.error, sealed)) return { kind: 'parked', ref: sealed.ref };
    throw turnError(failure.error, signal);
  }
  const why = sink.sealed ?? failure ?? leftOver(recorded);
  if (why === undefined) {
    await log.append([executionEnd(turn.executionId)]);
    return { kind: 'completed' };
  }
  const error = turnError(why.error, signal);
  await recordError(log, turn.executionId, error);
  throw error;
}

interface Prepared {
  readonly sink: TurnSink;
  readonly log: EffectLog;
  readonly recorded: RecordedEffects;
}

function prepare(context: TurnContext, turn: TurnToDrive, signal: AbortSignal): Prepared {
  const { executionId, descriptor, effects } = turn;
  const { observes } = context.harness;
  const recorded = new RecordedEffects(observes ? [] : effects);
  const seal = (error: unknown): void => sink.seal(error);
  const log = new EffectLog(context, seal);
  const isLegacy = executionId === '';
  const refusal = gateRefusal(isLegacy, descriptor);
  const sink: TurnSink = new TurnSink({
    recorded,
    live: new LiveEffects({ context, executionId, log, signal, seal }),
    observes,
    isLegacy,
    ...(observes ? { before: effects } : {}),
    ...(refusal === undefined ? {} : { gateRefusal: refusal }),
  });
  return { sink, log, recorded };
}

function gateRefusal(isLegacy: boolean, descriptor: HarnessDescriptor): string | undefined {
  if (isLegacy) return 'a turn without an execution id cannot wait for a person';
  if (needsMemory(descriptor))
    return 'a harness that needs its memory back cannot wait for a person in a turn';
  return undefined;
}

/** A harness that does not listen to its signal is left to itself: its sink is closed. */
async function runHarness(
  { harness }: TurnContext,
  { start, descriptor }: TurnToDrive,
  sink: TurnSink,
  signal: AbortSignal,
): Promise<void> {
  // A harness with a memory of its own must not rebuild itself from the log.
  const history = needsMemory(descriptor) ? [] : start.history;
  await untilAborted(harness.run({ ...start, history }, sink, signal), signal);
}

async function failureOf(run: Promise<void>): Promise<{ readonly error: unknown } | undefined> {
  return await run.then(
    () => undefined,
    (error) => ({ error }),
  );
}

function leftOver(recorded: RecordedEffects): { readonly error: unknown } | undefined {
  if (recorded.done) return undefined;
  const error = new TurnError('diverged', `the harness ended before it came to ${recorded.leftOver()}`);
  return { error };
}

function turnError(error: unknown, signal: AbortSignal): GcError {
  if (signal.aborted && error === signal.reason) return canceled(signal);
  if (error instanceof GcError) return error;
  if (signal.aborted) return canceled(signal);
  return new TurnError('harness-failed', messageOf(error), { cause: error });
}

/** Whether one error was made from another. */
function stemsFrom(error: unknown, origin: Error): boolean {
  for (let each = error; each instanceof Error; each = each.cause) if (each === origin) return true;
  return false;
}

/** For whoever reads the log; a turn that was taken over has no say any more. */
async function recordError(log: EffectLog, executionId: string, error: Error): Promise<void> {
  // Halves of surrogate pairs, which the cut can leave too, are not text.
  const description = Buffer.from(error.message.slice(0, MAX_ERROR_CHARS), 'utf8').toString('utf8');
  await log.append([errorEvent(executionId, description)]).catch(() => undefined);
}
