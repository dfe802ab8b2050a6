import { readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, GcError } from '../platform/errors.ts';
import { type LineTimeouts, requestLine } from '../platform/line-socket.ts';
import { type Environment, socketPath } from '../platform/paths.ts';

/** The words of `controller.sock`. Source: Gas City's control socket, minus those of work not built here. */
export type ControlWord = 'stop' | 'ping' | 'poke' | 'reload';

const PING_CONNECT_TIMEOUT_MS = 500;
const PING_REPLY_TIMEOUT_MS = 2_000;
const COMMAND_CONNECT_TIMEOUT_MS = 2_000;
const COMMAND_REPLY_TIMEOUT_MS = 10_000;

/** Where a city's socket listens, and the name in `.gc` that leads there when the path in `.gc` is too long for a socket. */
export interface SocketPlace {
  readonly path: string;
  readonly alias?: string;
}

/** Where the process that runs the city makes a socket of this name. */
export function socketPlace(
  cityDir: string,
  name: 'controller.sock' | 'api.sock' | 'sessions.sock',
  env: Environment,
): SocketPlace {
  const preferred = join(canonical(cityDir), '.gc', name);
  const path = socketPath(preferred, env);
  return path === preferred ? { path } : { path, alias: preferred };
}

/** The control socket as a client finds it: `<city>/.gc/controller.sock`, or where that leads. */
export function controlSocketPath(cityDir: string, env: Environment): string {
  return findSocket(socketPlace(cityDir, 'controller.sock', env));
}

/** The socket of the city's HTTP API, found the same way. */
export function apiSocketPath(cityDir: string, env: Environment): string {
  return findSocket(socketPlace(cityDir, 'api.sock', env));
}

/** The socket of the city's Sessions service, found the same way. */
export function sessionsSocketPath(cityDir: string, env: Environment): string {
  return findSocket(socketPlace(cityDir, 'sessions.sock', env));
}

/** The runtime directory may be another one in the client's environment than in the controller's: the alias knows. */
function findSocket({ path, alias }: SocketPlace): string {
  if (alias === undefined) return path;
  try {
    return readlinkSync(alias);
  } catch {
    return path; // nobody has listened yet
  }
}

/** The pid of the controller that answers for this city; `undefined` when none does. */
export async function pingController(cityDir: string, env: Environment): Promise<number | undefined> {
  return pingSocket(controlSocketPath(cityDir, env));
}

/** Sends one word and answers the reply; `undefined` when no controller listens. @throws GcError `no-reply` when one listens but is stuck */
export async function sendControl(
  cityDir: string,
  word: ControlWord,
  env: Environment,
): Promise<string | undefined> {
  return sendWord(controlSocketPath(cityDir, env), word, {
    connectMs: COMMAND_CONNECT_TIMEOUT_MS,
    replyMs: COMMAND_REPLY_TIMEOUT_MS,
  });
}

/** The pid that answers `ping` on a control socket. */
export async function pingSocket(path: string): Promise<number | undefined> {
  try {
    const reply = await sendWord(path, 'ping', {
      connectMs: PING_CONNECT_TIMEOUT_MS,
      replyMs: PING_REPLY_TIMEOUT_MS,
    });
    const pid = Number(reply);
    return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined;
  } catch (error) {
    if (error instanceof GcError && error.code === 'no-reply') return undefined;
    throw error;
  }
}

/** One word, one reply; `undefined` when nobody listens. @throws GcError `no-reply` when who listens does not answer, or dies */
export async function sendWord(
  path: string,
  word: string,
  timeouts: LineTimeouts,
): Promise<string | undefined> {
  try {
    return await requestLine(path, word, timeouts);
  } catch (error) {
    if (isNobodyThere(error)) return undefined;
    if (codeOf(error) !== 'ECONNRESET' && codeOf(error) !== 'EPIPE') throw error;
    throw new GcError('no-reply', `${path} closed without an answer`, { cause: error });
  }
}

/** No such socket, or a leftover that nobody serves. */
function isNobodyThere(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTDIR';
}

function canonical(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // a city whose folder is gone has no socket either; the caller's spelling is as good
  }
}
