import type { Clock } from '../../platform/clock.ts';
import { findQuestion } from '../dialog.ts';
import { SessionNotFoundError } from '../errors.ts';
import { profileOf } from '../profiles.ts';
import type { StartOptions } from '../provider.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import { type Look, tailOf } from '../screen.ts';
import type { BackendSession, TerminalBackend } from './backend.ts';
import { look } from './facts.ts';
import type { TerminalTimings } from './options.ts';
import { diedError, isDeadline, notReadyError } from './start-errors.ts';
import {
  decideStartup,
  STARTUP_BEGIN,
  type StartupDecision,
  type StartupGoal,
  type StartupState,
} from './startup-decision.ts';

/** A start from creation on. */
export interface WatchedStart {
  readonly backend: TerminalBackend;
  readonly clock: Clock;
  readonly timings: TerminalTimings;
  readonly name: string;
  readonly config: RuntimeConfig;
  readonly options: StartOptions;
  /** Monotonic, when waiting began. */
  readonly beganAtMs: number;
  readonly memory: StartupMemory;
}

/** What a start remembers from one wait to the next. */
export interface StartupMemory {
  state: StartupState;
  /** Ids of the questions that were answered, in order. */
  readonly answered: string[];
  lastLook: Look | undefined;
  /** What was waited for last, in words. */
  missing: string;
}

export function startupMemory(): StartupMemory {
  return { state: STARTUP_BEGIN, answered: [], lastLook: undefined, missing: 'the back end to answer' };
}

export type ReadyOutcome =
  | { readonly kind: 'ready' }
  | { readonly kind: 'question'; readonly text: string; readonly screen: string };

const SCREEN_TAIL_LINES = 30;
const NOTHING: Look = { lines: [], visibleFrom: 0, cursor: undefined };

/**
 * The one loop of a start: watches whether the agent lives and what it shows, answers known questions, and ends when
 * the goal is reached or only a person can go on.
 * @throws DiedDuringStartupError at once when it ends; StartFailedError `not-ready` at the timeout.
 */
export async function watchUntilReady(start: WatchedStart, goal: StartupGoal): Promise<ReadyOutcome> {
  const { clock, memory, timings } = start;
  memory.state = { ...memory.state, readyPolls: 0, question: undefined };
  const sinceMs = goal === 'ready' ? start.beganAtMs : clock.monotonic();
  for (;;) {
    throwIfAborted(start);
    const elapsedMs = clock.monotonic() - start.beganAtMs;
    const seen = await observe(start);
    const decision = seen ? decide(start, seen, elapsedMs, goal) : undefined;
    if (decision?.kind === 'ready') return { kind: 'ready' };
    if (decision?.kind === 'question') {
      return {
        kind: 'question',
        text: decision.text,
        screen: tailOf(seen?.look ?? NOTHING, SCREEN_TAIL_LINES),
      };
    }
    if (decision?.kind === 'press') await press(start, decision);
    if (decision?.kind === 'wait') say(start, decision.what);
    if (clock.monotonic() - sinceMs >= timings.readyTimeoutMs) return askedInstead(start);
    await sleep(start);
  }
}

/** At the timeout anything that looks like a question is one. @throws StartFailedError `not-ready` otherwise. */
function askedInstead(start: WatchedStart): ReadyOutcome {
  const { lastLook } = start.memory;
  const question = lastLook && findQuestion(lastLook, undefined);
  if (!lastLook || !question) throw notReady(start);
  return { kind: 'question', text: question.text, screen: tailOf(lastLook, SCREEN_TAIL_LINES) };
}

function decide(start: WatchedStart, seen: Seen, elapsedMs: number, goal: StartupGoal): StartupDecision {
  const { config, memory, timings } = start;
  const { processNames } = seen.session;
  const view = {
    look: seen.look,
    processNames,
    elapsedMs,
    hints: config,
    profile: profileOf(config.providerName),
    timings,
    goal,
  };
  const [state, decision] = decideStartup(memory.state, view);
  memory.state = state;
  memory.lastLook = seen.look;
  return decision;
}

function say(start: WatchedStart, what: string): void {
  if (what !== start.memory.missing) start.options.onProgress?.({ kind: 'waiting', what });
  start.memory.missing = what;
}

interface Seen {
  readonly session: BackendSession;
  readonly look: Look;
}

/** `undefined`: could not be told this time. @throws DiedDuringStartupError */
async function observe(start: WatchedStart): Promise<Seen | undefined> {
  const { backend, config, name } = start;
  const { lastLook } = start.memory;
  const inspection = await backend.inspect(name);
  if (inspection.kind === 'unknown') return undefined;
  if (inspection.kind === 'absent') throw diedError(name, config, undefined, lastLook);
  const { session } = inspection;
  if (session.state.kind === 'dead') throw diedError(name, config, session.state, lastLook);
  try {
    return { session, look: await look(backend, name) };
  } catch (error) {
    // It went away between the two questions: the next inspection tells how.
    if (error instanceof SessionNotFoundError) return undefined;
    throw error;
  }
}

async function press(
  start: WatchedStart,
  decision: Extract<StartupDecision, { kind: 'press' }>,
): Promise<void> {
  const { backend, clock, name, options, timings } = start;
  const { answered } = start.memory;
  for (const [index, key] of decision.keys.entries()) {
    if (index > 0) await clock.sleep(timings.dialogKeyGapMs, options.signal);
    options.signal.throwIfAborted();
    await backend.sendKeys(name, [key]);
  }
  if (!decision.final || answered.includes(decision.dialog)) return;
  answered.push(decision.dialog);
  options.onProgress?.({ kind: 'answered', dialog: decision.dialog });
}

async function sleep(start: WatchedStart): Promise<void> {
  try {
    await start.clock.sleep(start.backend.pollMs, start.options.signal);
  } catch (error) {
    throwIfAborted(start);
    throw error;
  }
}

/** A deadline of the caller is told with what was waited for; any other abort is rethrown as it is. */
function throwIfAborted(start: WatchedStart): void {
  const { signal } = start.options;
  if (!signal.aborted) return;
  throw isDeadline(signal.reason) ? notReady(start) : signal.reason;
}

function notReady(start: WatchedStart): Error {
  const waitedMs = start.clock.monotonic() - start.beganAtMs;
  return notReadyError(start.name, waitedMs, start.memory.missing, start.memory.lastLook);
}
