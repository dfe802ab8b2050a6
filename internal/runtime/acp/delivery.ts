import { codeOf, messageOf } from '../../platform/errors.ts';
import { RuntimeUnavailableError, SessionNotFoundError } from '../errors.ts';
import type { WireAcpBlock, WireAcpState } from '../host/protocol.ts';
import type { NudgeOutcome } from '../provider.ts';
import { ASKS } from '../terminal/delivery.ts';
import type { AcpContext } from './acp-options.ts';
import { isIdle, sendPrompt, waitForState } from './acp-requests.ts';
import { tooLarge } from './prompt-blocks.ts';

export interface Delivery {
  readonly name: string;
  readonly blocks: readonly WireAcpBlock[];
  /** How long it may wait for its turn, milliseconds. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** As in `NudgeOptions`. */
  readonly beforeTyping?: (() => Promise<void>) | undefined;
}

/** An agent that refuses a prompt says so at once; what it takes longer for is a turn. */
const REFUSAL_MS = 100;

/**
 * Hands one prompt over when no turn is open. The caller holds the session's lock, so nobody else's prompt can come
 * in between. Delivered means: the agent's side has taken all of it, and has not refused it.
 */
export async function deliverBlocks(
  context: Pick<AcpContext, 'backend' | 'clock'>,
  delivery: Delivery,
): Promise<NudgeOutcome> {
  const { backend, clock } = context;
  const { name, blocks, signal } = delivery;
  const startedAt = clock.monotonic();
  const left = () => Math.max(0, delivery.waitMs - (clock.monotonic() - startedAt));
  const large = tooLarge(blocks);
  if (large !== undefined) return { kind: 'failed', detail: large };

  const before = await waitForState(backend, clock, name, 'idle', left(), signal);
  if (!isIdle(before)) return await whyNot(context, name, before);
  signal.throwIfAborted();
  await delivery.beforeTyping?.();
  for (;;) {
    try {
      const turn = await sendPrompt(backend, name, blocks);
      return await taken(context, name, turn, clock.monotonic() - startedAt);
    } catch (error) {
      if (codeOf(error) !== 'agent-busy') return await lost(context, name, error);
      // Somebody without the lock was faster. It was announced already, so from here on it is no longer `busy`.
      const again = await waitForState(backend, clock, name, 'idle', left(), signal);
      if (!isIdle(again)) return { kind: 'failed', detail: detailOf(await whyNot(context, name, again)) };
    }
  }
}

/** `no-session` when its agent has ended: then nothing was, or will be, done with the prompt. */
async function lost(
  context: Pick<AcpContext, 'backend'>,
  name: string,
  error: unknown,
): Promise<NudgeOutcome> {
  if (error instanceof SessionNotFoundError) return { kind: 'no-session' };
  if (error instanceof RuntimeUnavailableError) {
    return { kind: 'failed', detail: `it is not known whether the agent got it: ${error.message}` };
  }
  return (await hasEnded(context, name))
    ? { kind: 'no-session' }
    : { kind: 'failed', detail: messageOf(error) };
}

async function taken(
  context: Pick<AcpContext, 'backend' | 'clock'>,
  name: string,
  turn: number,
  tookMs: number,
): Promise<NudgeOutcome> {
  const { backend, clock } = context;
  const never = new AbortController().signal;
  try {
    const state = await waitForState(backend, clock, name, 'idle', REFUSAL_MS, never);
    const refused = state.turn === turn && isIdle(state) && state.lastStop?.startsWith('error: ');
    if (refused) return { kind: 'failed', detail: `the agent refused it: ${state.lastStop?.slice(7) ?? ''}` };
    return { kind: 'delivered', tookMs, verified: state.turn >= turn };
  } catch {
    return { kind: 'delivered', tookMs, verified: false }; // it was taken; what came after could not be asked
  }
}

async function whyNot(
  context: Pick<AcpContext, 'backend'>,
  name: string,
  state: WireAcpState,
): Promise<NudgeOutcome> {
  switch (state.phase) {
    case 'connecting':
      return { kind: 'busy', detail: 'its conversation is not open yet' };
    case 'failed': {
      if (await hasEnded(context, name)) return { kind: 'no-session' };
      return { kind: 'failed', detail: state.failure?.message ?? 'the connection to the agent broke' };
    }
    case 'ready': {
      const [question] = state.questions;
      const detail = question ? ASKS + question.title : 'it works on an earlier message';
      return { kind: 'busy', detail };
    }
  }
}

const detailOf = (outcome: NudgeOutcome): string => ('detail' in outcome ? outcome.detail : outcome.kind);

async function hasEnded(context: Pick<AcpContext, 'backend'>, name: string): Promise<boolean> {
  const found = await context.backend.inspect(name);
  return found.kind === 'absent' || (found.kind === 'present' && found.session.state.kind === 'dead');
}
