import type { Environment } from './paths.ts';
import { signalGroup } from './process-group.ts';

export interface ProgramOptions {
  readonly cwd?: string;
  /** The whole environment of the program. */
  readonly env: Environment;
  /** Kills the program and what it started. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Of each of its streams, in bytes; a program that prints more is killed. */
  readonly maxOutput: number;
}

export type ProgramResult =
  | { readonly kind: 'ok'; readonly stdout: string; readonly stderr: string }
  | {
      readonly kind: 'failed';
      /** `undefined` after a signal. */
      readonly code: number | undefined;
      readonly signal: string | undefined;
      readonly stdout: string;
      readonly stderr: string;
    }
  | { readonly kind: 'timed-out'; readonly timeoutMs: number; readonly stderr: string }
  | { readonly kind: 'too-much-output'; readonly maxOutput: number }
  /** `ENOENT`: there is no such program. */
  | { readonly kind: 'not-started'; readonly code: string | undefined; readonly reason: string };

/**
 * Runs a program to its end, without a shell and without stdin, in a session of its own: it cannot ask on the terminal,
 * and neither a timeout nor an abort leaves its children behind. Rejects only with the signal's reason.
 */
export async function runProgram(
  file: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<ProgramResult> {
  const { env, signal, timeoutMs, maxOutput } = options;
  signal.throwIfAborted();
  // Loading it takes a tenth of a second: only who runs a program pays.
  const { execa } = await import('execa');
  signal.throwIfAborted();
  const running = execa(file, args, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...env },
    extendEnv: false,
    stdin: 'ignore',
    detached: true,
    reject: false,
    maxBuffer: maxOutput,
    stripFinalNewline: false,
  });
  let timedOut = false;
  const end = () => signalGroup(running.pid, 'SIGKILL');
  const timer = setTimeout(() => {
    timedOut = true;
    end();
  }, timeoutMs);
  signal.addEventListener('abort', end, { once: true });
  try {
    const result = await running;
    if (signal.aborted) throw signal.reason;
    const { stdout, stderr } = result;
    if (timedOut) return { kind: 'timed-out', timeoutMs, stderr };
    if (result.isMaxBuffer) return { kind: 'too-much-output', maxOutput };
    if (!result.failed) return { kind: 'ok', stdout, stderr };
    if (result.exitCode === undefined && result.signal === undefined) {
      return { kind: 'not-started', code: result.code, reason: result.originalMessage ?? 'unknown reason' };
    }
    return { kind: 'failed', code: result.exitCode, signal: result.signal, stdout, stderr };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}
