import type { Clock } from '../../platform/clock.ts';
import { RESULTS, type WireAcpBlock, type WireAcpState } from '../host/protocol.ts';
import type { AcpBackend } from './acp-backend.ts';

/** A longer wait is asked for in parts: an answer is never far away, and a session that goes meanwhile is noticed. */
const WAIT_PART_MS = 5_000;
/** On top of a part, for a busy machine. */
const WAIT_EXTRA_MS = 10_000;
/** A large prompt to an agent that reads slowly. */
const PROMPT_TIMEOUT_MS = 120_000;

const nothing = (): void => undefined;

/** What the host knows of the conversation. @throws SessionNotFoundError, RuntimeUnavailableError, GcError `not-acp` */
export function readState(backend: AcpBackend, name: string): Promise<WireAcpState> {
  return backend.ask({ op: 'acpState', name }, RESULTS.acpState);
}

/** What is waited for: the end of the handshake, or of the open turn. */
export type WaitTarget = 'ready' | 'idle';

/** The state once it is reached, or what it is after `timeoutMs`. Throws as `readState`, and the signal's reason. */
export async function waitForState(
  backend: AcpBackend,
  clock: Clock,
  name: string,
  until: WaitTarget,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<WireAcpState> {
  const startedAt = clock.monotonic();
  for (;;) {
    signal.throwIfAborted();
    const left = Math.max(0, Math.ceil(timeoutMs - (clock.monotonic() - startedAt)));
    const part = Math.min(left, WAIT_PART_MS);
    const asked = backend.ask(
      { op: 'acpWait', name, until, timeoutMs: part },
      RESULTS.acpWait,
      part + WAIT_EXTRA_MS,
    );
    const state = await orAborted(asked, signal);
    if (isReached(state, until) || left <= part) return state;
  }
}

/** No turn is open; a conversation that is not open yet, or no more, is not idle. */
export const isIdle = (state: WireAcpState): boolean => state.phase === 'ready' && !state.busy;

function isReached(state: WireAcpState, until: WaitTarget): boolean {
  if (state.phase === 'failed') return true;
  return until === 'ready' ? state.phase === 'ready' : isIdle(state);
}

/** Hands a whole prompt over and answers its number. @throws GcError `agent-busy`, `agent-not-ready`, `agent-gone` */
export async function sendPrompt(
  backend: AcpBackend,
  name: string,
  blocks: readonly WireAcpBlock[],
): Promise<number> {
  const { turn } = await backend.ask({ op: 'acpPrompt', name, blocks }, RESULTS.acpPrompt, PROMPT_TIMEOUT_MS);
  return turn;
}

export function cancelTurn(backend: AcpBackend, name: string): Promise<void> {
  return backend.ask({ op: 'acpCancel', name }, nothing);
}

/** @throws GcError `already-answered`, `no-such-question`, `no-such-option` */
export function answerQuestion(
  backend: AcpBackend,
  name: string,
  question: string,
  option: string | undefined,
): Promise<void> {
  const request = { op: 'acpAnswer', name, question } as const;
  return backend.ask(option === undefined ? request : { ...request, option }, nothing);
}

/** The answer may still come; nobody waits for it any more. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const give = () => reject(signal.reason);
    signal.addEventListener('abort', give, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', give));
  });
}
