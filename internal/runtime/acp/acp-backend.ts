import type { HostBackend } from '../subprocess/host-backend.ts';
import type { TerminalBackend } from '../terminal/backend.ts';

/** A session host: it runs the agent, speaks the protocol to it and remembers all that is said. */
export type AcpBackend = TerminalBackend & Pick<HostBackend, 'open' | 'ask'>;
