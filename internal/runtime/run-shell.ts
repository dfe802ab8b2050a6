import { spawn } from 'node:child_process';
import { signalGroup } from '../platform/process-group.ts';
import type { ExitInfo } from './provider.ts';

export interface ShellRequest {
  /** Given to `sh -c`. */
  readonly command: string;
  /** A script of this machine that the command runs, for a shell elsewhere that cannot see it. */
  readonly script?: string;
  /** `''`: where this process is. */
  readonly cwd: string;
  /** The whole environment of the command. */
  readonly env: Readonly<Record<string, string>>;
  /** Its process group is killed after this many milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export type ShellResult =
  | { readonly kind: 'ok' }
  | { readonly kind: 'exited'; readonly exit: ExitInfo; readonly stderrTail: string }
  | { readonly kind: 'timed-out'; readonly timeoutMs: number; readonly stderrTail: string }
  | { readonly kind: 'not-started'; readonly reason: string };

export type RunShell = (request: ShellRequest) => Promise<ShellResult>;

const STDERR_TAIL_BYTES = 2_048;
const LAST_WORDS_MS = 50;

/**
 * Runs one set-up command in a process group of its own, so that neither a timeout nor an abort leaves its children
 * behind. Resolves when the command itself has ended: a background child that keeps stderr open is not waited for.
 * Rejects only with the signal's reason.
 */
export const runShell: RunShell = (request) =>
  new Promise((resolve, reject) => {
    request.signal.throwIfAborted();
    const child = spawn('/bin/sh', ['-c', request.command], {
      ...(request.cwd === '' ? {} : { cwd: request.cwd }),
      env: { ...request.env },
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let tail = Buffer.alloc(0);
    let timedOut = false;
    const killGroup = () => signalGroup(child.pid, 'SIGKILL');
    const timer = setTimeout(() => {
      timedOut = true;
      killGroup();
    }, request.timeoutMs);
    request.signal.addEventListener('abort', killGroup, { once: true });
    child.stderr.on('data', (chunk: Buffer) => {
      tail = Buffer.concat([tail, chunk]).subarray(-STDERR_TAIL_BYTES);
    });
    const finish = (result: ShellResult) => {
      clearTimeout(timer);
      request.signal.removeEventListener('abort', killGroup);
      child.stderr.removeAllListeners('close').destroy();
      if (request.signal.aborted) reject(request.signal.reason);
      else resolve(result);
    };
    child.once('error', (error) => finish({ kind: 'not-started', reason: error.message }));
    child.once('exit', (code, signal) => {
      const settle = () => {
        clearTimeout(lastWords);
        const stderrTail = tail.toString('utf8').trim();
        if (timedOut) finish({ kind: 'timed-out', timeoutMs: request.timeoutMs, stderrTail });
        else if (code === 0) finish({ kind: 'ok' });
        else finish({ kind: 'exited', exit: exitInfo(code, signal), stderrTail });
      };
      // What was written before the exit may still be on its way; a background child may hold the pipe for ever.
      const lastWords = setTimeout(settle, LAST_WORDS_MS);
      child.stderr.once('close', settle);
    });
  });

function exitInfo(code: number | null, signal: NodeJS.Signals | null): ExitInfo {
  if (signal) return { signal };
  return code === null ? {} : { code };
}

/** One line about a command that did not succeed: `exit 3: what it said last`. */
export function describeShellFailure(result: Exclude<ShellResult, { kind: 'ok' }>): string {
  switch (result.kind) {
    case 'exited': {
      const how = result.exit.signal
        ? `signal ${result.exit.signal}`
        : `exit ${result.exit.code ?? 'unknown'}`;
      return withTail(how, result.stderrTail);
    }
    case 'timed-out':
      return withTail(`no end within ${result.timeoutMs / 1_000} s, killed`, result.stderrTail);
    case 'not-started':
      return result.reason;
  }
}

function withTail(how: string, tail: string): string {
  return tail === '' ? how : `${how}: ${tail}`;
}
