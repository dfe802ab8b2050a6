import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { delimiter } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { GcError, messageOf } from './errors.ts';
import { findOnPath } from './executable.ts';

export interface FileLockOptions {
  /** The PATH on which the locking programs are looked for; the usual system folders come after it. */
  readonly path: string;
  /** How long another holder is waited for. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Instead of the usual ones. */
  readonly systemFolders?: readonly string[];
}

export interface HeldFileLock {
  /** False once somebody ended the process that holds it: nothing may be written any more. */
  isHeld(): boolean;
  release(): void;
}

type Holder = ChildProcessByStdio<Writable, Readable, Readable>;

const DEFAULT_TIMEOUT_MS = 15_000;
const OWNER_ONLY = 0o600;
const SYSTEM_FOLDERS = ['/usr/bin', '/bin', '/usr/local/bin', '/opt/homebrew/bin'];
const MAX_COMPLAINT = 500;

const PERL = `use Fcntl ":flock"; open(my $lock, ">>", $ARGV[0]) or die "$!\\n"; flock($lock, LOCK_EX) or die "$!\\n";
$| = 1; print "x"; 1 while sysread(STDIN, my $bytes, 64);`;
const PYTHON = `import fcntl, os, sys
lock = open(sys.argv[1], "a")
fcntl.flock(lock, fcntl.LOCK_EX)
os.write(1, b"x")
while os.read(0, 64): pass`;

/** Programs that can hold a flock until their stdin ends: each says a byte once it has the lock. */
const KEEPERS: readonly { readonly program: string; args(file: string): readonly string[] }[] = [
  { program: 'flock', args: (file) => ['-x', file, 'cat'] },
  { program: 'perl', args: (file) => ['-e', PERL, file] },
  { program: 'python3', args: (file) => ['-c', PYTHON, file] },
];

/**
 * Takes an exclusive flock(2) on a file, which is made (owner-only) when it is missing. Node has no such call, so a small
 * program holds it until its stdin ends: by `release`, or because this process died, however it died.
 * @throws GcError `store-busy` when another program keeps it, `lock-unavailable` when no program can take it
 */
export async function lockFile(file: string, options: FileLockOptions): Promise<HeldFileLock> {
  closeSync(openSync(file, 'a', OWNER_ONLY));
  const whole = [options.path, ...(options.systemFolders ?? SYSTEM_FOLDERS)].join(delimiter);
  const found = KEEPERS.flatMap((keeper) => {
    const program = findOnPath(whole, keeper.program);
    return program === undefined ? [] : [{ program, args: keeper.args(file) }];
  });
  let complaint = `none of ${KEEPERS.map(({ program }) => program).join(', ')} is on the PATH`;
  for (const { program, args } of found) {
    const taken = await take(program, args, { ...options, path: whole });
    if (taken.kind === 'held') return heldBy(taken.holder);
    if (taken.kind === 'busy') throw keptByOther(file, options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    complaint = `${program}: ${taken.complaint}`;
  }
  throw new GcError('lock-unavailable', `cannot lock ${file}: ${complaint}`, {
    next: 'install flock (util-linux), perl or python3',
  });
}

type Taken =
  | { readonly kind: 'held'; readonly holder: Holder }
  | { readonly kind: 'busy' }
  | { readonly kind: 'failed'; readonly complaint: string };

function take(program: string, args: readonly string[], options: FileLockOptions): Promise<Taken> {
  const { path, timeoutMs = DEFAULT_TIMEOUT_MS, signal } = options;
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    // In a session of its own: a Ctrl-C in the terminal must not take the lock away in the middle of a write.
    const holder = spawn(program, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      env: { PATH: path, LC_ALL: 'C' },
    });
    let complaint = '';
    const settle = (end: () => void) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', give);
      end();
    };
    const giveUp = (then: () => void) =>
      settle(() => {
        abandon(holder);
        then();
      });
    const timer = setTimeout(() => giveUp(() => resolve({ kind: 'busy' })), timeoutMs);
    const give = () => giveUp(() => reject(signal?.reason));
    signal?.addEventListener('abort', give, { once: true });
    holder.stdin.on('error', () => undefined);
    holder.stderr.on('data', (chunk: Buffer) => {
      complaint = (complaint + chunk.toString('utf8')).slice(0, MAX_COMPLAINT);
    });
    holder.stdout.once('data', () => settle(() => resolve({ kind: 'held', holder })));
    holder.once('error', (error) => settle(() => resolve({ kind: 'failed', complaint: messageOf(error) })));
    holder.once('close', (code) => {
      settle(() => resolve({ kind: 'failed', complaint: complaint.trim() || `it ended with ${code}` }));
    });
    holder.stdin.write('x');
  });
}

function abandon(holder: Holder): void {
  holder.stdin.destroy();
  holder.kill('SIGKILL');
}

function heldBy(holder: Holder): HeldFileLock {
  return {
    isHeld: () => holder.exitCode === null && holder.signalCode === null,
    release: () => holder.stdin.end(),
  };
}

function keptByOther(file: string, timeoutMs: number): GcError {
  const seconds = Math.round(timeoutMs / 1_000);
  return new GcError('store-busy', `another program has kept ${file} locked for more than ${seconds} s`, {
    next: `see who: fuser -v ${file}; nothing was changed`,
  });
}
