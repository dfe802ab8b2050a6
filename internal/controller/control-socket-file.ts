import {
  chmodSync,
  lstatSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { ensurePrivateDir } from '../platform/atomic-file.ts';
import { codeOf, GcError } from '../platform/errors.ts';
import type { Ids } from '../platform/ids.ts';
import type { SocketPlace } from './control-socket-client.ts';

const OWNER_ONLY = 0o600;
const PROBE_TIMEOUT_MS = 500;
const STAGED_NAME_BYTES = 3;

/** A Unix socket that others can reach under its final name. */
export interface PublishedSocket {
  readonly path: string;
  /** Removes the file if it is still the one that was published; a successor's stays. */
  remove(): void;
}

/**
 * Listens on a private name first, then moves it over the final one: the socket is never visible with loose
 * permissions, a leftover of a dead process is replaced in one step, and Node's own removal at close hits only the
 * private name. The caller holds the lock that goes with the socket.
 * @throws GcError `socket-in-use` when somebody answers there, `socket-path-taken` when it is not a socket
 */
export async function publishSocket(
  { path, alias }: SocketPlace,
  ids: Pick<Ids, 'hex'>,
  listen: (stagedPath: string) => Promise<void>,
): Promise<PublishedSocket> {
  assertOwnDir(dirname(path));
  await assertNobodyAnswers(path);
  const staged = join(dirname(path), `.${ids.hex(STAGED_NAME_BYTES)}`);
  await listen(staged);
  chmodSync(staged, OWNER_ONLY);
  renameSync(staged, path);
  if (alias !== undefined) pointTo(alias, path);
  const { dev, ino } = lstatSync(path);
  return {
    path,
    remove() {
      try {
        const now = lstatSync(path);
        if (now.ino !== ino || now.dev !== dev) return;
        unlinkSync(path);
        if (alias !== undefined && readlinkSync(alias) === path) unlinkSync(alias);
      } catch (error) {
        if (codeOf(error) !== 'ENOENT') throw error;
      }
    },
  };
}

function pointTo(alias: string, path: string): void {
  const staged = `${alias}.new`;
  rmSync(staged, { force: true });
  symlinkSync(path, staged);
  renameSync(staged, alias);
}

function assertOwnDir(dir: string): void {
  ensurePrivateDir(dir);
  const owner = statSync(dir).uid;
  if (process.getuid && owner !== process.getuid()) {
    throw new GcError('socket-dir-foreign', `${dir} belongs to another user (uid ${owner})`, {
      next: 'set GC_HOME to a folder of your own',
    });
  }
}

async function assertNobodyAnswers(path: string): Promise<void> {
  const kind = fileKind(path);
  if (kind === 'nothing') return;
  if (kind === 'other') {
    throw new GcError('socket-path-taken', `${path} exists and is not a socket`, {
      next: `move ${path} away`,
    });
  }
  if (await answers(path)) {
    throw new GcError('socket-in-use', `another program answers on ${path}`, { next: 'gc status' });
  }
}

function fileKind(path: string): 'nothing' | 'socket' | 'other' {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return 'nothing';
  return found.isSocket() ? 'socket' : 'other';
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    const settle = (answered: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answered);
    };
    // Not even accepting within the time: a stopped process may own it, and its file must stay.
    const timer = setTimeout(() => settle(true), PROBE_TIMEOUT_MS);
    socket.once('connect', () => settle(true));
    socket.once('error', (error) => settle(codeOf(error) !== 'ECONNREFUSED' && codeOf(error) !== 'ENOENT'));
  });
}
