import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { ensurePrivateDir } from '../../platform/atomic-file.ts';
import { GcError } from '../../platform/errors.ts';
import { hostLogFile } from '../host/runtime-files.ts';

/** A longer log is begun anew with the next host. */
const LOG_LIMIT_BYTES = 1_048_576;
const LOG_TAIL_CHARS = 800;
const OWNER_ONLY = 0o600;

/**
 * Parsing output makes much short-lived garbage: with a small young generation, and a heap that is kept small rather than
 * fast, the host needs half of the memory.
 * Node takes this only as an option of the process.
 */
const NODE_OPTIONS = ['--max-semi-space-size=1', '--optimize-for-size'];

/** The command that runs a host's entry file with the options that it wants of Node. */
export const nodeHostCommand = (
  node: string,
  entry: string,
  ...options: readonly string[]
): readonly string[] => [node, ...options, ...NODE_OPTIONS, entry];

export interface HostCommand {
  readonly dir: string;
  readonly city: string;
  /** What runs the host: `nodeHostCommand(process.execPath, 'dist/host.js')`. */
  readonly argv: readonly string[];
  /** The host's own environment. Agents get nothing of it. */
  readonly env: Readonly<Record<string, string>>;
}

export interface StartingHost {
  /** It ended without serving: another host, or somebody who reaps, was there first. */
  readonly gaveWay: () => boolean;
  readonly failure: () => Error | undefined;
}

/** Starts a host in a session of its own, with the log as its output. It outlives this process. */
export function launchHost(command: HostCommand): StartingHost {
  ensurePrivateDir(command.dir);
  const logFile = hostLogFile(command.dir);
  const tooLong = (statSync(logFile, { throwIfNoEntry: false })?.size ?? 0) > LOG_LIMIT_BYTES;
  const log = openSync(logFile, tooLong ? 'w' : 'a', OWNER_ONLY);
  let gaveWay = false;
  let failure: Error | undefined;
  try {
    const [file = '', ...args] = command.argv;
    const child = spawn(file, [...args, '--dir', command.dir, '--city', command.city], {
      cwd: command.dir,
      env: { ...command.env },
      detached: true,
      stdio: ['ignore', log, log],
    });
    child.on('error', (cause) => {
      failure = new GcError('host-start-failed', `the session host could not be started: ${cause.message}`, {
        cause,
      });
    });
    child.on('exit', (code, signal) => {
      gaveWay = code === 0;
      if (gaveWay) return;
      failure = new GcError(
        'host-start-failed',
        `the session host ended while it started (${signal ?? `exit ${code}`}): ${logTail(logFile)}`,
        { next: `read ${logFile}` },
      );
    });
    child.unref();
  } finally {
    closeSync(log);
  }
  return { gaveWay: () => gaveWay, failure: () => failure };
}

function logTail(file: string): string {
  try {
    return readFileSync(file, 'utf8').slice(-LOG_TAIL_CHARS).trim();
  } catch {
    return 'its log cannot be read';
  }
}
