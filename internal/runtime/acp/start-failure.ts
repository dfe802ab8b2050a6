import type { Clock } from '../../platform/clock.ts';
import { type DiedDuringStartupError, StartFailedError } from '../errors.ts';
import type { WireAcpState } from '../host/protocol.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import type { BackendSession } from '../terminal/backend.ts';
import { diedError } from '../terminal/start-errors.ts';
import type { AcpBackend } from './acp-backend.ts';

/** The connection ends a moment before the process can be seen to have. */
const DEATH_SEEN_MS = 1_000;
const DEATH_POLL_MS = 20;

type Dead = Extract<BackendSession['state'], { kind: 'dead' }>;

/**
 * The error for an agent that could not be spoken to: how its process ended if it did by itself, else what was wrong
 * with the conversation.
 */
export async function handshakeError(
  backend: AcpBackend,
  clock: Clock,
  name: string,
  config: RuntimeConfig,
  state: WireAcpState,
): Promise<StartFailedError | DiedDuringStartupError> {
  const { code, message, next } = state.failure ?? {
    code: 'handshake-timeout',
    message: `acp handshake for "${name}": it did not end in time`,
  };
  if (code === 'agent-gone') {
    const dead = await deathSoon(backend, clock, name);
    if (dead) return diedError(name, config, dead, undefined);
  }
  // The host adds what the agent printed on standard error; what was wrong must still be among the last lines.
  const [what = '', ...printed] = message.split('\n');
  return new StartFailedError(code, message, {
    lastLines: [...printed, what].join('\n'),
    ...(next === undefined ? {} : { next }),
  });
}

/** How the session's process ended, `undefined` when it lives on. */
export async function deathSoon(backend: AcpBackend, clock: Clock, name: string): Promise<Dead | undefined> {
  const startedAt = clock.monotonic();
  for (;;) {
    const found = await backend.inspect(name);
    if (found.kind === 'present' && found.session.state.kind === 'dead') return found.session.state;
    if (found.kind === 'absent' || clock.monotonic() - startedAt >= DEATH_SEEN_MS) return undefined;
    await clock.sleep(DEATH_POLL_MS);
  }
}
