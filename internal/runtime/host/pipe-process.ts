import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { AgentCallbacks, AgentCommand, AgentProcess } from './agent-process.ts';
import { hearEnds, spawnPiped } from './piped-child.ts';

/** More than this in the pipe's own queue counts as full. */
const STDIN_QUEUE_BYTES = 65_536;

/** A program with pipes, in its own session. Standard output and error are one stream. @throws GcError `spawn-failed` */
export async function startPipeProcess(
  command: AgentCommand,
  callbacks: AgentCallbacks,
): Promise<AgentProcess> {
  const { child, pid } = await spawnPiped(command);
  return new PipeProcess(child, pid, callbacks);
}

class PipeProcess implements AgentProcess {
  readonly pid: number;
  readonly terminal = false;
  readonly terminalPath = undefined;
  readonly #child: ChildProcessWithoutNullStreams;

  constructor(child: ChildProcessWithoutNullStreams, pid: number, callbacks: AgentCallbacks) {
    this.#child = child;
    this.pid = pid;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => callbacks.onOutput(chunk));
    }
    hearEnds(child, callbacks);
  }

  pauseOutput(): void {
    this.#child.stdout.pause();
    this.#child.stderr.pause();
  }

  resumeOutput(): void {
    this.#child.stdout.resume();
    this.#child.stderr.resume();
  }

  writeSome(bytes: Buffer): number {
    const { stdin } = this.#child;
    if (stdin.destroyed || !stdin.writable) return bytes.length;
    const room = STDIN_QUEUE_BYTES - stdin.writableLength;
    if (room <= 0) return 0;
    const taken = bytes.subarray(0, room);
    stdin.write(taken);
    return taken.length;
  }

  resize(): void {
    // Pipes have no size.
  }

  release(): void {
    this.#child.stdin.destroy();
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }
}
