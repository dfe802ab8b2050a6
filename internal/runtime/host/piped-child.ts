import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { GcError, messageOf } from '../../platform/errors.ts';
import type { ExitInfo } from '../provider.ts';
import type { AgentCommand } from './agent-process.ts';
import { closingCommand } from './descriptors.ts';

export interface PipedChild {
  readonly child: ChildProcessWithoutNullStreams;
  readonly pid: number;
}

export interface PipedEnds {
  /** Every holder of both output pipes let go. */
  onOutputEnd(): void;
  onExit(exit: ExitInfo): void;
}

/** Starts a program with pipes, in a session of its own. @throws GcError `spawn-failed` */
export function spawnPiped(command: AgentCommand): Promise<PipedChild> {
  const [file = '', ...args] = closingCommand(command.argv);
  const child = spawn(file, args, {
    cwd: command.cwd,
    env: { ...command.env },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => {
      const what = `${command.argv[0]} could not be started: ${messageOf(cause)}`;
      reject(new GcError('spawn-failed', what, { cause }));
    });
    child.once('spawn', () => resolve({ child, pid: child.pid ?? 0 }));
  });
}

/** To be called as soon as it is started, before anything of it can be missed. */
export function hearEnds(child: ChildProcessWithoutNullStreams, ends: PipedEnds): void {
  let open = 2;
  const onClose = () => {
    open -= 1;
    if (open === 0) ends.onOutputEnd();
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('error', () => stream.destroy()); // the end of a pipe, whatever its reason
    stream.once('close', onClose);
  }
  child.stdin.on('error', () => child.stdin.destroy()); // the program closed its input
  child.once('exit', (code, signal) => ends.onExit(signal ? { signal } : { code: code ?? 0 }));
}
