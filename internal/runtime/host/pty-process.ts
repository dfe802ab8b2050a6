import { closeSync, constants as fileModes, openSync, readSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, resolve } from 'node:path';
import { ReadStream } from 'node:tty';
import { loadNativeModule } from 'node-pty/lib/utils.js';
import { codeOf, GcError } from '../../platform/errors.ts';
import type { ExitInfo } from '../provider.ts';
import type { AgentCallbacks, AgentCommand, AgentProcess } from './agent-process.ts';
import { forgetInheritable, noteInheritable, withoutGaps } from './descriptors.ts';

/**
 * A program on its own pseudoterminal, in its own session, through node-pty's native part. Its JavaScript wrapper is
 * left out on purpose: it closes the terminal 200 ms after the exit although output may still wait in it, adds
 * variables to the environment, and turns a full terminal into a busy loop.
 */
interface NativePty {
  fork(
    file: string,
    args: readonly string[],
    env: readonly string[],
    cwd: string,
    columns: number,
    rows: number,
    uid: number,
    gid: number,
    utf8: boolean,
    helperPath: string,
    onExit: (code: number, signal: number) => void,
  ): { readonly fd: number; readonly pid: number; readonly pty: string };
  resize(fd: number, columns: number, rows: number, pixelWidth: number, pixelHeight: number): void;
}

/** The kernel takes a few kilobytes at once; a larger piece is only copied in vain. */
const WRITE_PIECE_BYTES = 4_096;
const UNCHANGED_ID = -1;
const DRAIN_BYTES = 65_536;

// Loaded with the host, never later: an upgrade may replace the files under a running host.
const loaded = loadNativeModule('pty');
const native = asNativePty(loaded.module);
const helperPath = resolve(
  dirname(createRequire(import.meta.url).resolve('node-pty/lib/utils.js')),
  loaded.dir,
  'spawn-helper',
);

/** @throws GcError `spawn-failed` */
export function startPtyProcess(command: AgentCommand, callbacks: AgentCallbacks): AgentProcess {
  const [file = '', ...args] = command.argv;
  const env = Object.entries(command.env).map(([k, v]) => `${k}=${v}`);
  const { columns, rows, cwd } = command;
  let started: PtyProcess | undefined;
  const onExit = (code: number, signal: number) => {
    started?.letGo();
    callbacks.onExit(exitOf(code, signal));
  };
  let forked: ReturnType<NativePty['fork']>;
  try {
    forked = withoutGaps(() =>
      native.fork(file, args, env, cwd, columns, rows, UNCHANGED_ID, UNCHANGED_ID, true, helperPath, onExit),
    );
  } catch (cause) {
    throw new GcError('spawn-failed', `no terminal could be made for ${file}`, {
      cause,
      next: 'look for a full process table or too many open terminals',
    });
  }
  started = new PtyProcess(forked, callbacks);
  return started;
}

class PtyProcess implements AgentProcess {
  readonly pid: number;
  readonly terminal = true;
  readonly terminalPath: string;
  readonly #fd: number;
  readonly #stream: ReadStream;
  readonly #callbacks: AgentCallbacks;
  #slave: number | undefined;

  constructor(forked: { fd: number; pid: number; pty: string }, callbacks: AgentCallbacks) {
    this.pid = forked.pid;
    this.terminalPath = forked.pty;
    this.#fd = forked.fd;
    this.#callbacks = callbacks;
    this.#slave = openSlave(forked.pty);
    noteInheritable(forked.fd);
    this.#stream = new ReadStream(forked.fd);
    this.#stream.on('data', (chunk: Buffer) => callbacks.onOutput(chunk));
    // Node's stream takes a hang-up after a short read for the end, although more waits: it is read here.
    this.#stream.on('end', () => this.#drain());
    // EIO is how Linux tells that the last holder of the other end is gone: the normal end of the stream.
    this.#stream.on('error', () => this.#stream.destroy());
    this.#stream.once('close', () => {
      forgetInheritable(forked.fd);
      callbacks.onOutputEnd();
    });
  }

  /** The program ended: without our hold, the terminal's end shows as soon as no helper has it open either. */
  letGo(): void {
    if (this.#slave !== undefined) closeSync(this.#slave);
    this.#slave = undefined;
  }

  pauseOutput(): void {
    this.#stream.pause();
  }

  resumeOutput(): void {
    this.#stream.resume();
  }

  writeSome(bytes: Buffer): number {
    // The number may be another file's once the stream is closed.
    if (this.#stream.destroyed) return bytes.length;
    try {
      return writeSync(this.#fd, bytes, 0, Math.min(bytes.length, WRITE_PIECE_BYTES));
    } catch (error) {
      if (codeOf(error) === 'EAGAIN') return 0;
      return bytes.length; // nobody reads this terminal any more
    }
  }

  resize(columns: number, rows: number): void {
    if (this.#stream.destroyed) return;
    native.resize(this.#fd, columns, rows, 0, 0);
  }

  release(): void {
    this.letGo();
    this.#stream.destroy();
  }

  #drain(): void {
    const buffer = Buffer.alloc(DRAIN_BYTES);
    try {
      for (let read = 1; read > 0; ) {
        read = readSync(this.#fd, buffer, 0, buffer.length, null);
        if (read > 0) this.#callbacks.onOutput(Buffer.from(buffer.subarray(0, read)));
      }
    } catch {
      // EIO: read to the end
    }
  }
}

/**
 * Our own hold on the program's end of the terminal: a living program that closes its terminal and opens it again
 * later (or never) must not make the terminal end, and with it the program.
 */
function openSlave(path: string): number | undefined {
  try {
    return openSync(path, fileModes.O_RDWR | fileModes.O_NOCTTY);
  } catch {
    return undefined; // without it, such a program loses its terminal; nothing else changes
  }
}

function exitOf(code: number, signal: number): ExitInfo {
  if (signal === 0) return { code };
  const name = Object.entries(constants.signals).find(([, number]) => number === signal)?.[0];
  return { signal: name ?? `SIG${signal}` };
}

function asNativePty(module: unknown): NativePty {
  if (typeof module === 'object' && module !== null && 'fork' in module && 'resize' in module) {
    return module as NativePty;
  }
  throw new GcError('internal', 'this version of node-pty has another native interface');
}
