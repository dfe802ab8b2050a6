import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { GcError, messageOf } from '../../platform/errors.ts';
import type { AgentCallbacks, AgentCommand, AgentProcess } from './agent-process.ts';
import { closingCommand } from './descriptors.ts';

/** More than this in the pipe's own queue counts as full. */
const STDIN_QUEUE_BYTES = 65_536;

/** A program with pipes, in its own session. Standard output and error are one stream. @throws GcError `spawn-failed` */
export function startPipeProcess(command: AgentCommand, callbacks: AgentCallbacks): Promise<AgentProcess> {
  const [file = '', ...args] = closingCommand(command.argv);
  const child = spawn(file, args, {
    cwd: command.cwd,
    env: { ...command.env },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => {
      reject(
        new GcError('spawn-failed', `${command.argv[0]} could not be started: ${messageOf(cause)}`, {
          cause,
        }),
      );
    });
    child.once('spawn', () => resolve(new PipeProcess(child, child.pid ?? 0, callbacks)));
  });
}

class PipeProcess implements AgentProcess {
  readonly pid: number;
  readonly terminal = false;
  readonly terminalPath = undefined;
  readonly #child: ChildProcessWithoutNullStreams;
  #open = 2;

  constructor(child: ChildProcessWithoutNullStreams, pid: number, callbacks: AgentCallbacks) {
    this.#child = child;
    this.pid = pid;
    const onClose = () => {
      this.#open -= 1;
      if (this.#open === 0) callbacks.onOutputEnd();
    };
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => callbacks.onOutput(chunk));
      stream.on('error', () => stream.destroy()); // the end of a pipe, whatever its reason
      stream.once('close', onClose);
    }
    child.stdin.on('error', () => child.stdin.destroy()); // the program closed its input
    child.once('exit', (code, signal) => callbacks.onExit(signal ? { signal } : { code: code ?? 0 }));
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
