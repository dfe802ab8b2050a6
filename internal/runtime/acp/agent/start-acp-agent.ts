import type { Clock } from '../../../platform/clock.ts';
import type { AcpAgent, AcpAgentCallbacks, AgentCommand } from '../../host/agent-process.ts';
import type { WireAcpLaunch } from '../../host/protocol.ts';
import { AcpSession } from './acp-session.ts';

export interface AcpStart {
  readonly name: string;
  readonly command: AgentCommand;
  readonly acp: WireAcpLaunch;
  /** The file that the conversation is written down in; its form is `JournalLine`. */
  readonly journal: string;
}

/** Starts an agent on pipes and begins its handshake, which goes on in the background. @throws GcError `spawn-failed` */
export function startAcpAgent(
  start: AcpStart,
  callbacks: AcpAgentCallbacks,
  clock: Clock,
): Promise<AcpAgent> {
  return AcpSession.start({ ...start, callbacks, clock });
}
