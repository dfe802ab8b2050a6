import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { AgentCommand } from '../../host/agent-process.ts';
import { hearEnds, type PipedEnds, spawnPiped } from '../../host/piped-child.ts';
import { TailRing } from './tail-ring.ts';

/** What is kept of standard error, for messages about what went wrong. Source: Gas City ACP provider. */
const STDERR_TAIL_BYTES = 4_096;

/** A program whose output is messages, in its own session. It is read when somebody reads, not before. */
export class PipedProcess {
  readonly pid: number;
  readonly stderrTail = new TailRing(STDERR_TAIL_BYTES);
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #chunks: AsyncIterator<unknown>;

  /** @throws GcError `spawn-failed` */
  static async start(command: AgentCommand, ends: PipedEnds): Promise<PipedProcess> {
    const { child, pid } = await spawnPiped(command);
    return new PipedProcess(child, pid, ends);
  }

  private constructor(child: ChildProcessWithoutNullStreams, pid: number, ends: PipedEnds) {
    this.#child = child;
    this.pid = pid;
    child.stderr.on('data', (chunk: Buffer) => this.stderrTail.push(chunk));
    hearEnds(child, ends);
    this.#chunks = child.stdout[Symbol.asyncIterator]();
  }

  /** The next bytes of standard output; `undefined` at its end. */
  async read(): Promise<Buffer | undefined> {
    try {
      const { value, done } = await this.#chunks.next();
      return done === true || !Buffer.isBuffer(value) ? undefined : value;
    } catch {
      return undefined; // destroyed while it was read: the end as well
    }
  }

  /** Answers whether the program's side has taken all of it; `false` when it will never take anything again. */
  write(text: string): Promise<boolean> {
    const { stdin } = this.#child;
    if (stdin.destroyed || !stdin.writable) return Promise.resolve(false);
    return new Promise((resolve) => {
      const closed = () => resolve(false);
      stdin.once('close', closed);
      stdin.write(text, (error) => {
        stdin.off('close', closed);
        resolve(!error);
      });
    });
  }

  release(): void {
    this.#child.stdin.destroy();
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }
}
