import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { closingCommand } from '../../internal/runtime/host/descriptors.ts';
import { startPtyProcess } from '../../internal/runtime/host/pty-process.ts';

/** A local program on a terminal or on pipes, as a container runtime holds it. */
export interface LocalProcess {
  readonly pid: number;
  write(bytes: Buffer): void;
  /** Nothing more will be written. A terminal has no such end. */
  endInput(): void;
  resize(columns: number, rows: number): void;
  /** The process itself, unless it ended. */
  kill(): void;
}

export interface LocalCommand {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly tty: boolean;
  readonly stdin: boolean;
}

export type OutputName = 'stdout' | 'stderr';

export interface LocalCallbacks {
  onOutput(from: OutputName, bytes: Buffer): void;
  /** It ended and its output was read. The code is 128 + n for signal n. */
  onEnd(exitCode: number): void;
}

const RETRY_WRITE_MS = 5;
/** Helpers that hold the output of a program that ended get this long. */
const LAST_OUTPUT_MS = 500;

export function startLocal(command: LocalCommand, callbacks: LocalCallbacks): LocalProcess {
  return command.tty ? startOnTerminal(command, callbacks) : startOnPipes(command, callbacks);
}

/** Both the exit and the end of the output, in any order. */
function endOnce(callbacks: LocalCallbacks): { exit: (code: number) => void; output: () => void } {
  let code: number | undefined;
  let outputEnded = false;
  let told = false;
  const tell = () => {
    if (told || code === undefined) return;
    told = true;
    callbacks.onEnd(code);
  };
  return {
    exit: (exitCode) => {
      code = exitCode;
      if (outputEnded) tell();
      else setTimeout(tell, LAST_OUTPUT_MS);
    },
    output: () => {
      outputEnded = true;
      tell();
    },
  };
}

const signalNumber = (name: string): number =>
  Object.entries(constants.signals).find(([known]) => known === name)?.[1] ?? 0;

function startOnTerminal(command: LocalCommand, callbacks: LocalCallbacks): LocalProcess {
  const end = endOnce(callbacks);
  let exited = false;
  const agent = startPtyProcess(
    // A container's terminal has no size until somebody who attaches tells one.
    { argv: command.argv, cwd: '/', env: command.env, columns: 0, rows: 0 },
    {
      onOutput: (bytes) => callbacks.onOutput('stdout', bytes),
      onOutputEnd: () => {
        agent.release();
        end.output();
      },
      onExit: (exit) => {
        exited = true;
        end.exit(exit.signal ? 128 + signalNumber(exit.signal) : (exit.code ?? 0));
      },
    },
  );
  let waiting: Buffer[] = [];
  const flush = () => {
    for (let first = waiting.at(0); first; first = waiting.at(0)) {
      const taken = agent.writeSome(first);
      if (taken === 0) {
        setTimeout(flush, RETRY_WRITE_MS);
        return;
      }
      if (taken >= first.length) waiting.shift();
      else waiting = [first.subarray(taken), ...waiting.slice(1)];
    }
  };
  return {
    pid: agent.pid,
    write: (bytes) => {
      if (!command.stdin || bytes.length === 0) return;
      waiting.push(bytes);
      if (waiting.length === 1) flush();
    },
    endInput: () => {},
    resize: (columns, rows) => agent.resize(columns, rows),
    kill: () => {
      if (!exited) process.kill(agent.pid, 'SIGKILL');
    },
  };
}

function startOnPipes(command: LocalCommand, callbacks: LocalCallbacks): LocalProcess {
  const [file = '', ...args] = closingCommand(command.argv);
  const child = spawn(file, args, {
    cwd: '/',
    env: { ...command.env },
    detached: true,
    stdio: [command.stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'],
  });
  const end = endOnce(callbacks);
  child.stdout?.on('data', (bytes: Buffer) => callbacks.onOutput('stdout', bytes));
  child.stderr?.on('data', (bytes: Buffer) => callbacks.onOutput('stderr', bytes));
  child.stdin?.on('error', () => child.stdin?.destroy());
  child.once('error', () => {
    end.output();
    end.exit(127);
  });
  child.once('close', () => end.output());
  child.once('exit', (code, signal) => end.exit(signal ? 128 + signalNumber(signal) : (code ?? 0)));
  return {
    pid: child.pid ?? 0,
    write: (bytes) => {
      if (child.stdin?.writable) child.stdin.write(bytes);
    },
    endInput: () => {
      child.stdin?.end();
    },
    resize: () => {},
    kill: () => {
      child.kill('SIGKILL');
    },
  };
}
