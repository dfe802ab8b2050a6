import { join } from 'node:path';
import { GcError } from '../platform/errors.ts';
import { type Environment, gcHome, socketPath } from '../platform/paths.ts';
import { pingSocket, sendWord } from './control-socket-client.ts';

/** One city as the supervisor reports it. Source: Gas City's city list. */
export interface CityReport {
  readonly name: string;
  readonly path: string;
  readonly running: boolean;
  /** The start-up phase, `stopping` or `init_failed`; absent when it runs. */
  readonly status?: string;
  readonly error?: string;
  /** What a person can do about it. */
  readonly next?: string;
  readonly phases_completed?: readonly string[];
  /** RFC 3339: when a failed city is tried again. */
  readonly next_try_at?: string;
}

/** `busy`: it is ending. */
export type ReloadAnswer = 'ok' | 'busy' | 'timeout' | 'not-running';

const CONNECT_TIMEOUT_MS = 2_000;
const REPLY_TIMEOUT_MS = 10_000;
/** The supervisor itself answers `timeout` before this. */
const RELOAD_REPLY_TIMEOUT_MS = 310_000;

/** `supervisor.sock` in gc's home: found from the home alone, whatever else differs between two shells. */
export function supervisorSocketPath(env: Environment): string {
  return socketPath(join(gcHome(env), 'supervisor.sock'), env);
}

export function supervisorLockFile(home: string): string {
  return join(home, 'supervisor.lock');
}

export function supervisorLogFile(home: string): string {
  return join(home, 'supervisor.log');
}

/** Whether a supervisor answers, and as which process. */
export async function supervisorStatus(
  env: Environment,
): Promise<{ readonly running: true; readonly pid: number } | { readonly running: false }> {
  const pid = await pingSocket(supervisorSocketPath(env));
  return pid === undefined ? { running: false } : { running: true, pid };
}

/** Asks for a pass over the registry and waits until it is done. @throws GcError `no-reply` */
export async function reloadSupervisor(env: Environment): Promise<ReloadAnswer> {
  const reply = await ask(env, 'reload', RELOAD_REPLY_TIMEOUT_MS);
  if (reply === undefined) return 'not-running';
  return reply === 'ok' || reply === 'busy' ? reply : 'timeout';
}

/** The cities as the supervisor sees them; `undefined` when none runs. @throws GcError `no-reply`, `bad-answer` */
export async function supervisorCities(env: Environment): Promise<readonly CityReport[] | undefined> {
  const reply = await ask(env, 'cities', REPLY_TIMEOUT_MS);
  if (reply === undefined) return undefined;
  const value: unknown = JSON.parse(reply);
  if (typeof value === 'object' && value !== null && 'cities' in value && Array.isArray(value.cities)) {
    return value.cities as readonly CityReport[];
  }
  throw new GcError('bad-answer', 'the supervisor answered something that is not a list of cities');
}

/** Asks the supervisor to end its cities and then itself; answers at once. `false` when none runs. */
export async function askSupervisorToStop(env: Environment): Promise<boolean> {
  return (await ask(env, 'stop', REPLY_TIMEOUT_MS)) !== undefined;
}

function ask(env: Environment, word: string, replyMs: number): Promise<string | undefined> {
  return sendWord(supervisorSocketPath(env), word, { connectMs: CONNECT_TIMEOUT_MS, replyMs });
}
