import { findComposer } from '../composer.ts';
import type { NudgeOptions, NudgeOutcome } from '../provider.ts';
import { LOOK_BACK_LINES, lookAt } from '../screen.ts';
import { type DeliveryContext, outcomeOfError, whyBlocked } from '../terminal/delivery.ts';
import { look, readFacts, type SessionFacts } from '../terminal/facts.ts';
import { waitUntilIdle } from '../terminal/idle.ts';
import type { ClassicContext } from './classic-start.ts';
import { ScriptFailedError, ScriptUnsupportedError } from './errors.ts';

/**
 * One message through the script's own `nudge`, which types and submits it. Where the script shows a screen, nothing is
 * typed into a question or over a draft, and the input box is looked at afterwards.
 */
export async function nudgeClassic(
  context: ClassicContext,
  name: string,
  text: string,
  options: NudgeOptions & { readonly signal: AbortSignal },
): Promise<NudgeOutcome> {
  const { backend, calls, clock } = context;
  const { signal } = options;
  const startedAt = clock.monotonic();
  try {
    const found = await backend.inspect(name);
    if (found.kind === 'unknown') return { kind: 'failed', detail: found.reason };
    if (found.kind === 'absent' || found.session.state.kind === 'dead') return { kind: 'no-session' };
    const facts = await readFacts(backend, found.session);
    const shows = (await calls.call('peek', [name, '1'], { signal })).kind === 'ok';
    const blocked = shows ? await whatBlocks(context, name, facts, { ...options, signal }) : undefined;
    if (blocked) return blocked;
    signal.throwIfAborted();
    await options.beforeTyping?.();
    await calls.need('nudge', [name], { stdin: text, signal });
    const taken = shows && (await seenTaken(context, name, facts, signal));
    return { kind: 'delivered', tookMs: clock.monotonic() - startedAt, verified: taken };
  } catch (error) {
    signal.throwIfAborted();
    const isGone = error instanceof ScriptFailedError && (await backend.inspect(name)).kind === 'absent';
    if (isGone) return { kind: 'no-session' };
    return outcomeOfError(error);
  }
}

async function whatBlocks(
  context: ClassicContext,
  name: string,
  facts: SessionFacts,
  { waitIdleMs = 0, signal }: NudgeOptions & { readonly signal: AbortSignal },
): Promise<NudgeOutcome | undefined> {
  const { backend, clock, timings } = context;
  if (waitIdleMs > 0) {
    const idle = await waitUntilIdle(backend, clock, name, facts, waitIdleMs, signal);
    if (idle.kind === 'timeout') return { kind: 'busy', detail: idle.why };
  }
  // A profile that knows its input box would wait for it; a script may show less of the screen than a terminal does.
  const profile = { ...facts.profile, composer: undefined };
  const delivery: DeliveryContext = { backend, clock, timings, name, profile, prefix: facts.prefix, signal };
  try {
    return await whyBlocked(delivery, lookAt(await backend.capture(name, LOOK_BACK_LINES)));
  } catch (error) {
    // Without keys no draft can be cleared: what stands there is the script's to handle.
    if (error instanceof ScriptUnsupportedError) return undefined;
    throw error;
  }
}

/** Whether the input box is seen empty within the time that a submit takes. */
async function seenTaken(
  context: ClassicContext,
  name: string,
  facts: SessionFacts,
  signal: AbortSignal,
): Promise<boolean> {
  const { backend, clock, timings } = context;
  const until = clock.monotonic() + timings.submitSeenMs;
  for (;;) {
    const composer = findComposer(await look(backend, name), facts.profile, facts.prefix);
    if (composer?.empty === 'yes') return true;
    if (!composer || clock.monotonic() >= until) return false;
    await clock.sleep(backend.pollMs, signal);
  }
}
