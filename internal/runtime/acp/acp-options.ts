import type { StartContext } from '../terminal/start-steps.ts';
import type { AcpBackend } from './acp-backend.ts';

/** What `new AcpProvider(options)` takes. */
export interface AcpProviderOptions
  extends Pick<StartContext, 'clock' | 'ids' | 'launcherDir' | 'hostEnv' | 'runShell' | 'lock'> {
  readonly backend: AcpBackend;
  /** What agents are told that we are. */
  readonly clientVersion: string;
  /** From the agent's first byte to an open conversation, milliseconds. 0 or less: the default, 30 s. */
  readonly handshakeTimeoutMs?: number;
  /** How long a message waits for the turn that is open, milliseconds. 0 or less: the default, 60 s. */
  readonly nudgeBusyTimeoutMs?: number;
}

export const DEFAULT_HANDSHAKE_TIMEOUT_MS = 30_000;
export const DEFAULT_NUDGE_BUSY_TIMEOUT_MS = 60_000;

/** What the parts of the provider work with. */
export interface AcpContext extends StartContext {
  readonly backend: AcpBackend;
  readonly clientVersion: string;
  readonly handshakeTimeoutMs: number;
  readonly nudgeBusyTimeoutMs: number;
}
