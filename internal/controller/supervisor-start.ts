import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { ensurePrivateDir } from '../platform/atomic-file.ts';
import type { Clock } from '../platform/clock.ts';
import { GcError, messageOf } from '../platform/errors.ts';
import type { Ids } from '../platform/ids.ts';
import { isLockHeld, readLockHolder } from '../platform/lifetime-lock.ts';
import { type Environment, gcHome } from '../platform/paths.ts';
import { lastingEnvironment } from './registry-environment.ts';
import { copiedProgram } from './supervisor-bundle.ts';
import {
  askSupervisorToStop,
  type ReloadAnswer,
  reloadSupervisor,
  supervisorLockFile,
  supervisorLogFile,
  supervisorStatus,
} from './supervisor-client.ts';

export interface StartOptions {
  readonly env: Environment;
  /** Executable and first arguments of this program. */
  readonly self: readonly string[];
  readonly version: string;
  readonly clock: Clock;
  readonly ids: Ids;
  /** It ends by itself when its last city was taken away. */
  readonly exitWhenEmpty?: boolean;
  readonly signal?: AbortSignal;
}

export interface RunningSupervisor {
  readonly pid: number;
  /** Whether this call brought it up. */
  readonly started: boolean;
}

/** Tells a process that runs from a copy of the program where the installed one is: agents call that. */
export const INSTALLED_PROGRAM_VARIABLE = 'GC_INSTALLED_PROGRAM';

/** Exit code of `gc supervisor run` when another one holds the lock. */
export const ALREADY_RUNNING_EXIT_CODE = 3;

const START_TIMEOUT_MS = 15_000;
const START_POLL_MS = 100;
const DISMISS_TIMEOUT_MS = 5_000;
const DISMISS_POLL_MS = 10;
/** More than the supervisor itself gives its cities. */
const STOP_TIMEOUT_MS = 320_000;
const STOP_POLL_MS = 50;
/** A supervisor that is ending has ended its cities after this. */
const SUPERVISE_TIMEOUT_MS = 330_000;
const FAILURE_TAIL_LINES = 20;
const OWNER_ONLY = 0o600;

/**
 * Starts a supervisor in the background unless one answers. Any number of starts at once end up with one supervisor
 * and all of them report it. Service managers are not involved.
 * @throws GcError `supervisor-start-failed` with the end of its log, `supervisor-start-timeout`
 */
export async function ensureSupervisor(options: StartOptions): Promise<RunningSupervisor> {
  const now = await supervisorStatus(options.env);
  if (now.running) return { pid: now.pid, started: false };
  const child = launch(options);
  try {
    const running = await untilAnswers(options, child);
    // One that lost must not come up late, after the winner was told to end.
    if (!running.started) await child.dismiss(options.clock);
    return running;
  } finally {
    child.forget();
  }
}

/**
 * Makes sure that a supervisor runs and has acted on the registry as it is now. One that is just ending is waited for
 * and followed by a new one.
 * @throws GcError as `ensureSupervisor`; `supervisor-stuck`
 */
export async function superviseRegistered(options: StartOptions): Promise<RunningSupervisor> {
  const { env, clock, signal } = options;
  const started = clock.monotonic();
  for (;;) {
    const running = await ensureSupervisor(options);
    const answer = await reloadOrGone(env);
    if (answer === 'ok') return running;
    if (answer === 'timeout' || clock.monotonic() - started > SUPERVISE_TIMEOUT_MS) {
      throw stuck(supervisorLockFile(gcHome(env)), 'did not act on its list of cities');
    }
    await clock.sleep(START_POLL_MS, signal);
  }
}

/** Ends the supervisor and the sessions of its cities; resolves when it has gone. `false` when none runs. @throws GcError `supervisor-stuck` */
export async function stopSupervisor(env: Environment, clock: Clock, signal?: AbortSignal): Promise<boolean> {
  const lockFile = supervisorLockFile(gcHome(env));
  if (!(await askSupervisorToStop(env))) {
    if (!isLockHeld(lockFile)) return false;
    throw stuck(lockFile, 'does not answer');
  }
  const started = clock.monotonic();
  while (isLockHeld(lockFile) || (await supervisorStatus(env)).running) {
    if (clock.monotonic() - started > STOP_TIMEOUT_MS) throw stuck(lockFile, 'has not ended yet');
    await clock.sleep(STOP_POLL_MS, signal);
  }
  return true;
}

function stuck(lockFile: string, what: string): GcError {
  const pid = readLockHolder(lockFile)?.['pid'];
  return new GcError(
    'supervisor-stuck',
    `the supervisor${typeof pid === 'number' ? ` (PID ${pid})` : ''} ${what}`,
    {
      next: 'gc supervisor logs',
    },
  );
}

async function reloadOrGone(env: Environment): Promise<ReloadAnswer> {
  try {
    return await reloadSupervisor(env);
  } catch (error) {
    // It ended while it was asked.
    if (error instanceof GcError && error.code === 'no-reply') return 'not-running';
    throw error;
  }
}

interface Launched {
  readonly process: ChildProcess;
  error: Error | undefined;
  /** What it has written to its log since the launch. */
  output(): string;
  /** Ends it and waits until it has gone. */
  dismiss(clock: Clock): Promise<void>;
  /** Lets it live on without us. */
  forget(): void;
}

/** Without it the garbage of a busy start stays for minutes: 89 MB instead of 48 MB at 100 sessions. */
const NODE_OPTIONS = ['--max-semi-space-size=2'];

function launch({ env, self, version, clock, ids, exitWhenEmpty }: StartOptions): Launched {
  const home = gcHome(env);
  ensurePrivateDir(home);
  const program = copiedProgram({ home, self, version, now: clock.now(), ids });
  const [command, ...first] = program;
  if (command === undefined) throw new GcError('internal', 'the program does not know how it was started');
  const logFile = supervisorLogFile(home);
  const log = openSync(logFile, 'a', OWNER_ONLY);
  const offset = fstatSync(log).size;
  try {
    const child = spawn(
      command,
      [...NODE_OPTIONS, ...first, 'supervisor', 'run', ...(exitWhenEmpty ? ['--exit-when-empty'] : [])],
      // What it says is in its log already; stderr is for what nobody foresaw.
      {
        cwd: home,
        detached: true,
        stdio: ['ignore', 'ignore', log],
        env: { ...lastingEnvironment(env), [INSTALLED_PROGRAM_VARIABLE]: self.at(-1) ?? '' },
      },
    );
    const launched: Launched = {
      process: child,
      error: undefined,
      output: () => readFileSync(logFile).subarray(offset).toString('utf8'),
      async dismiss(dismissing) {
        child.kill('SIGTERM');
        const began = dismissing.monotonic();
        while (!hasEnded(child) && dismissing.monotonic() - began < DISMISS_TIMEOUT_MS) {
          await dismissing.sleep(DISMISS_POLL_MS);
        }
      },
      forget() {
        child.removeAllListeners();
        child.on('error', () => undefined);
        child.unref();
      },
    };
    child.once('error', (error) => {
      launched.error = error;
    });
    return launched;
  } finally {
    closeSync(log);
  }
}

async function untilAnswers(options: StartOptions, child: Launched): Promise<RunningSupervisor> {
  const { env, clock, signal } = options;
  const started = clock.monotonic();
  for (;;) {
    const now = await supervisorStatus(env);
    if (now.running) return { pid: now.pid, started: now.pid === child.process.pid };
    if (child.error) throw startFailed(messageOf(child.error), child);
    // Losing the lock to another start is fine: the winner answers soon.
    const { exitCode, signalCode } = child.process;
    if (hasEnded(child.process) && exitCode !== ALREADY_RUNNING_EXIT_CODE) {
      throw startFailed(signalCode === null ? `exit ${exitCode}` : `signal ${signalCode}`, child);
    }
    if (clock.monotonic() - started > START_TIMEOUT_MS) {
      throw new GcError(
        'supervisor-start-timeout',
        `the supervisor did not answer within ${START_TIMEOUT_MS / 1_000}s`,
        {
          next: 'gc supervisor logs',
        },
      );
    }
    await clock.sleep(START_POLL_MS, signal);
  }
}

function hasEnded({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null || pid === undefined;
}

function startFailed(how: string, child: Launched): GcError {
  const tail = child.output().trimEnd().split('\n').slice(-FAILURE_TAIL_LINES).join('\n');
  return new GcError(
    'supervisor-start-failed',
    `the supervisor did not start: ${how}${tail ? `\n${tail}` : ''}`,
    {
      next: 'gc supervisor run shows it in the foreground',
    },
  );
}
