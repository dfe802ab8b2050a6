import type { Clock } from '../../platform/clock.ts';
import { activityOf, countIdle, isSettled, knowsComposer, NOT_IDLE } from '../readiness.ts';
import type { TerminalBackend } from './backend.ts';
import { look, type SessionFacts } from './facts.ts';

/** What was last in the way of being idle, in words. */
export type IdleResult = { readonly kind: 'idle' } | { readonly kind: 'timeout'; readonly why: string };

/**
 * Waits until the agent shows its prompt, works on nothing and asks nothing, in two looks with the same conversation;
 * without a recognisable prompt, until its screen stands still for about two seconds. The timeout is a hard bound.
 */
export async function waitUntilIdle(
  backend: TerminalBackend,
  clock: Clock,
  name: string,
  facts: SessionFacts,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<IdleResult> {
  const startedAt = clock.monotonic();
  const known = knowsComposer(facts.profile, facts.prefix);
  let counter = NOT_IDLE;
  let why = 'its screen moves';
  for (;;) {
    signal.throwIfAborted();
    const seen = await look(backend, name);
    const activity = activityOf(seen, facts.profile, facts.prefix);
    counter = countIdle(counter, seen, activity);
    if (isSettled(counter, known)) return { kind: 'idle' };
    if (activity.kind === 'asking') why = `it asks: ${activity.what}`;
    if (activity.kind === 'busy') why = activity.why;
    const left = timeoutMs - (clock.monotonic() - startedAt);
    if (left <= 0) return { kind: 'timeout', why };
    await clock.sleep(Math.min(IDLE_POLL_MS, left), signal);
  }
}

const IDLE_POLL_MS = 200;
