import { spawn } from 'node:child_process';
import { signalGroup } from '../platform/process-group.ts';

export interface CommandRequest {
  /** Given to `sh -c`. */
  readonly command: string;
  readonly cwd: string;
  /** The whole environment of the command; an empty value means unset. */
  readonly env: Readonly<Record<string, string>>;
  /** Its process group is killed after this many milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export type CommandResult =
  | { readonly kind: 'ok'; readonly stdout: string }
  /** `how` is one line: `exit 3: what it said last`. */
  | { readonly kind: 'failed'; readonly how: string };

export type RunCommand = (request: CommandRequest) => Promise<CommandResult>;

const STDOUT_KEPT_BYTES = 65_536;
const STDERR_KEPT_BYTES = 500;
/** Who is still there after the command's end, or after its kill, may hold the output open for this long. Source: Gas City's wait delay. */
const WAIT_DELAY_MS = 2_000;

/**
 * Runs a command of the config in a process group of its own and answers what it printed. Never rejects: a command that
 * cannot be started, fails, takes too long or is ended by the signal has failed.
 */
export const runCommand: RunCommand = ({ command, cwd, env, timeoutMs, signal }) =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve({ kind: 'failed', how: 'the city is ending' });
    const child = spawn('/bin/sh', ['-c', command], {
      cwd,
      env: Object.fromEntries(Object.entries(env).filter(([, value]) => value !== '')),
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let killedFor = '';
    let waitDelay: NodeJS.Timeout | undefined;
    const kill = (why: string) => {
      killedFor ||= why;
      signalGroup(child.pid, 'SIGKILL');
      waitDelay ??= setTimeout(() => finish({ kind: 'failed', how: killedFor }), WAIT_DELAY_MS);
    };
    const timer = setTimeout(() => kill(`no end within ${timeoutMs / 1_000} s, killed`), timeoutMs);
    const onAbort = () => kill('the city is ending');
    signal.addEventListener('abort', onAbort, { once: true });
    const stdout = keepHead(child.stdout, STDOUT_KEPT_BYTES);
    const stderr = keepHead(child.stderr, STDERR_KEPT_BYTES);
    const finish = (result: CommandResult) => {
      clearTimeout(timer);
      clearTimeout(waitDelay);
      signal.removeEventListener('abort', onAbort);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(result);
    };
    const end = (code: number | null, bySignal: string | null) => {
      if (killedFor !== '') finish({ kind: 'failed', how: killedFor });
      else if (code === 0) finish({ kind: 'ok', stdout: stdout() });
      else
        finish({
          kind: 'failed',
          how: withWords(bySignal ? `signal ${bySignal}` : `exit ${code}`, stderr()),
        });
    };
    child.once('error', (error) => finish({ kind: 'failed', how: error.message }));
    child.once('exit', (code, bySignal) => {
      // It has said what it has to say: what it left behind with its output open is not waited for, and not left.
      waitDelay ??= setTimeout(() => {
        signalGroup(child.pid, 'SIGKILL');
        end(code, bySignal);
      }, WAIT_DELAY_MS);
    });
    child.once('close', end);
  });

/** What comes after the first bytes is read and dropped, so that nobody waits for a reader. */
function keepHead(stream: NodeJS.ReadableStream, limit: number): () => string {
  const chunks: Buffer[] = [];
  let kept = 0;
  stream.on('data', (chunk: Buffer) => {
    if (kept >= limit) return;
    chunks.push(chunk.subarray(0, limit - kept));
    kept += Math.min(chunk.length, limit - kept);
  });
  return () => Buffer.concat(chunks).toString('utf8');
}

function withWords(how: string, words: string): string {
  const line = words.trim().split('\n').at(-1) ?? '';
  return line === '' ? how : `${how}: ${line}`;
}
