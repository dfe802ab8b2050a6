import { spawn } from 'node:child_process';
import { signalGroup } from '../platform/process-group.ts';

export interface CommandRequest {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment of the command. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** More than so many bytes on stdout end the command; 0: only the last lines are kept. */
  readonly maxOutput: number;
  readonly signal?: AbortSignal | undefined;
}

export interface CommandResult {
  readonly ok: boolean;
  readonly stdout: string;
  /** `exit 3`, `signal SIGTERM`, `no end within 60 s`, `more than 8 MiB of output`, or why it was not started. */
  readonly how: string;
  /** Exit code, when it ended with one. */
  readonly code: number | undefined;
  /** The end of what it said, both streams. */
  readonly tail: string;
}

const TAIL_BYTES = 4_096;
/** Between the polite and the last signal: git takes its half-made folder away in it. */
const GRACE_MS = 3_000;
/** What was written before the exit may still be on its way; a background child may hold the pipe for ever. */
const LAST_WORDS_MS = 50;

/**
 * Runs one command in a process group of its own, so that neither a timeout nor an abort leaves its children behind.
 * Resolves when the command itself has ended. Rejects only with the signal's reason, after the command has ended.
 */
export function runCommand(request: CommandRequest): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    request.signal?.throwIfAborted();
    const child = spawn(request.file, [...request.args], {
      cwd: request.cwd,
      env: { ...request.env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = new Output(request.maxOutput);
    let ended = '';
    let force: NodeJS.Timeout | undefined;
    const end = (why: string) => {
      ended ||= why;
      signalGroup(child.pid, 'SIGTERM');
      force ??= setTimeout(() => signalGroup(child.pid, 'SIGKILL'), GRACE_MS);
    };
    const onAbort = () => end('called off');
    const timer = setTimeout(() => end(`no end within ${request.timeoutMs / 1_000} s`), request.timeoutMs);
    request.signal?.addEventListener('abort', onAbort, { once: true });
    child.stdout.on('data', (chunk: Buffer) => {
      if (!output.take(chunk)) end(`more than ${request.maxOutput} bytes of output`);
    });
    child.stderr.on('data', (chunk: Buffer) => output.tell(chunk));
    const finish = (how: string, code: number | undefined) => {
      clearTimeout(timer);
      clearTimeout(force);
      // What it left in its group after a timeout ends with it.
      if (ended !== '') signalGroup(child.pid, 'SIGKILL');
      request.signal?.removeEventListener('abort', onAbort);
      child.stdout.destroy();
      child.stderr.destroy();
      if (request.signal?.aborted) return reject(request.signal.reason);
      resolve({ ok: ended === '' && code === 0, how: ended || how, code, ...output.result() });
    };
    child.once('error', (error) => finish(error.message, undefined));
    child.once('exit', (code, signal) => {
      const how = signal ? `signal ${signal}` : `exit ${code ?? 'unknown'}`;
      const settle = () => {
        clearTimeout(lastWords);
        finish(how, code ?? undefined);
      };
      const lastWords = setTimeout(settle, LAST_WORDS_MS);
      child.once('close', settle);
    });
  });
}

class Output {
  readonly #limit: number;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #tail = Buffer.alloc(0);

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Of stdout. Answers whether it is still within the limit. */
  take(chunk: Buffer): boolean {
    this.tell(chunk);
    if (this.#limit === 0) return true;
    this.#bytes += chunk.length;
    if (this.#bytes > this.#limit) return false;
    this.#chunks.push(chunk);
    return true;
  }

  tell(chunk: Buffer): void {
    this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-TAIL_BYTES);
  }

  result(): { stdout: string; tail: string } {
    return { stdout: Buffer.concat(this.#chunks).toString('utf8'), tail: this.#tail.toString('utf8').trim() };
  }
}
