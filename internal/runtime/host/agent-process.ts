import type { ProcessEntry } from '../../platform/process-table.ts';
import type { ExitInfo } from '../provider.ts';
import type { WireAcpBlock, WireAcpState } from './protocol.ts';

/** The running program of one session, with a terminal or with pipes, seen from the host. */
export interface AgentProcess {
  /** 0: it is not a process of this machine, and `release` is all that ends our part in it. */
  readonly pid: number;
  readonly terminal: boolean;
  /** The slave's path, for a terminal. */
  readonly terminalPath: string | undefined;
  pauseOutput(): void;
  resumeOutput(): void;
  /**
   * Hands bytes to the kernel without waiting. Answers how many it took; 0 means: not now.
   * @throws GcError `input-cut` when a part of what it was handed may have arrived or not, and will not be sent again
   */
  writeSome(bytes: Buffer): number;
  resize(columns: number, rows: number): void;
  /** Living processes outside its own tree that belong to it and end with it. */
  helpers?(): readonly ProcessEntry[];
  /** Closes our ends. Output that was not read by then is lost. */
  release(): void;
}

/** An agent that is spoken to in the Agent Client Protocol, beside its process. Everything that is said is the host's memory. */
export interface AcpAgent {
  readonly process: AgentProcess;
  state(): WireAcpState;
  /** See `acpWait`. */
  wait(until: 'ready' | 'idle', timeoutMs: number): Promise<WireAcpState>;
  /** @throws GcError `agent-busy`, `agent-not-ready`, `agent-gone`, `input-stalled` */
  prompt(blocks: readonly WireAcpBlock[]): Promise<{ readonly turn: number }>;
  /** Resolves when the turn has ended; no open turn is fine. @throws GcError `cancel-unheard` after a few seconds */
  cancel(): Promise<void>;
  /** @throws GcError `already-answered`, `no-such-question`, `no-such-option` */
  answer(question: string, option: string | undefined): Promise<void>;
  /** The session is being removed: nobody is answered any more. */
  close(): void;
}

export interface AcpAgentCallbacks extends AgentCallbacks {
  /** Something that `state()` tells is different. */
  onChanged(): void;
}

export interface AgentCallbacks {
  onOutput(bytes: Buffer): void;
  /** Every holder of the other end closed it. */
  onOutputEnd(): void;
  /** The program itself ended; helpers of it may still hold its output. */
  onExit(exit: ExitInfo): void;
}

/** Of a program whose terminal is elsewhere: what it has shown before comes from a log. */
export interface StreamCallbacks extends AgentCallbacks {
  /** Output of before: it is shown, its questions are not answered, and it is no sign of life. */
  onReplay(bytes: Buffer): void;
}

export interface AgentCommand {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly columns: number;
  readonly rows: number;
}
