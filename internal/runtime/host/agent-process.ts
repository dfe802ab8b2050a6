import type { ExitInfo } from '../provider.ts';

/** The running program of one session, with a terminal or with pipes, seen from the host. */
export interface AgentProcess {
  readonly pid: number;
  readonly terminal: boolean;
  /** The slave's path, for a terminal. */
  readonly terminalPath: string | undefined;
  pauseOutput(): void;
  resumeOutput(): void;
  /** Hands bytes to the kernel without waiting. Answers how many it took; 0 means: not now. */
  writeSome(bytes: Buffer): number;
  resize(columns: number, rows: number): void;
  /** Closes our ends. Output that was not read by then is lost. */
  release(): void;
}

export interface AgentCallbacks {
  onOutput(bytes: Buffer): void;
  /** Every holder of the other end closed it. */
  onOutputEnd(): void;
  /** The program itself ended; helpers of it may still hold its output. */
  onExit(exit: ExitInfo): void;
}

export interface AgentCommand {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly columns: number;
  readonly rows: number;
}
