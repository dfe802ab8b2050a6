import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import type { Clock } from '../../../platform/clock.ts';
import { messageOf } from '../../../platform/errors.ts';
import { isExecutable } from '../../../platform/executable.ts';
import { identityOf, type ProcessIdentity } from '../../../platform/process-identity.ts';
import type { ProcessEntry } from '../../../platform/process-table.ts';
import { killTree, snapshotProcesses, treeOf } from '../../../platform/process-tree.ts';
import { closingCommand } from '../../host/descriptors.ts';
import { INSTANCE_TOKEN, TERMINAL_OF } from '../../host/ledger.ts';
import {
  type CreateTerminalRequest,
  refusal,
  type TerminalOutputResponse,
  type WaitForTerminalExitResponse,
} from './connection.ts';
import { INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND } from './rpc-codes.ts';
import { TailRing } from './tail-ring.ts';

export const MAX_TERMINALS = 32;
/** What is kept of a command's output when the agent names no limit, and the most that it may name. */
const DEFAULT_OUTPUT_BYTES = 131_072;
export const MAX_OUTPUT_BYTES = 1_048_576;
/** Between TERM and KILL. */
const KILL_GRACE_MS = 2_000;
/** A helper may hold a command's output for ever; what the command itself printed is read within this. */
const DRAIN_MS = 50;
/** A command that prints without end is read this fast, so that it holds up nobody else. */
const PACE_BYTES = 1_048_576;
const PACE_MS = 20;
const SHELL = '/bin/sh';

type Child = ChildProcessByStdio<null, Readable, Readable>;

interface Terminal {
  readonly turn: number;
  readonly child: Child;
  readonly identity: ProcessIdentity | undefined;
  readonly output: TailRing;
  readonly exited: Promise<WaitForTerminalExitResponse>;
  exit: WaitForTerminalExitResponse | undefined;
  /** Helpers of a command that ended by itself. */
  survivors: readonly ProcessEntry[];
}

export interface TerminalsOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

/**
 * Commands that the agent runs through its client: in the work dir, each in its own session, marked with the agent's
 * token so that they are found when this process is gone. All of them end with the agent.
 */
export class Terminals {
  readonly #options: TerminalsOptions;
  readonly #terminals = new Map<string, Terminal>();
  /** Those whose processes may still live, released ones too. */
  readonly #living = new Set<Terminal>();
  #made = 0;
  #over = false;

  constructor(options: TerminalsOptions) {
    this.#options = options;
  }

  /** The commands' processes that live now. */
  processes(): readonly ProcessEntry[] {
    if (this.#living.size === 0) return [];
    const table = snapshotProcesses();
    return [...this.#living].flatMap(({ child, identity, survivors }) => {
      if (child.exitCode !== null || child.signalCode !== null) return survivors;
      const own = identity && table.entry(identity.pid)?.startTime === identity.startTime;
      return own ? treeOf(identity.pid, table) : [];
    });
  }

  /** Answers the terminal's id. @throws a JSON-RPC refusal */
  async create(request: CreateTerminalRequest, turn: number): Promise<string> {
    if (this.#over) throw refusal(INTERNAL_ERROR, 'the session is over');
    if (this.#terminals.size >= MAX_TERMINALS) {
      throw refusal(INTERNAL_ERROR, `${MAX_TERMINALS} terminals are open: release one first`);
    }
    const terminal = await this.#spawn(request, turn);
    this.#made += 1;
    const id = `terminal-${this.#made}`;
    this.#terminals.set(id, terminal);
    this.#living.add(terminal);
    if (this.#over) this.#end(terminal);
    return id;
  }

  /** @throws a JSON-RPC refusal */
  output(id: string): TerminalOutputResponse {
    const { output, exit } = this.#get(id);
    const ended = exit && { exitStatus: exit };
    return { output: output.text(), truncated: output.truncated, ...ended };
  }

  /** @throws a JSON-RPC refusal */
  async exit(id: string): Promise<WaitForTerminalExitResponse> {
    return this.#get(id).exited;
  }

  /** The command's processes end; its output stays. @throws a JSON-RPC refusal */
  kill(id: string): void {
    this.#end(this.#get(id));
  }

  /** @throws a JSON-RPC refusal */
  release(id: string): void {
    const terminal = this.#get(id);
    this.#terminals.delete(id);
    this.#end(terminal);
  }

  /** Commands that a turn began and that still run. */
  killOfTurn(turn: number): void {
    for (const terminal of this.#terminals.values()) if (terminal.turn === turn) this.#end(terminal);
  }

  /** The agent is gone: nothing of it goes on. */
  endAll(): void {
    this.#over = true;
    for (const terminal of this.#terminals.values()) this.#end(terminal);
    this.#terminals.clear();
  }

  #get(id: string): Terminal {
    const terminal = this.#terminals.get(id);
    if (!terminal) throw refusal(NOT_FOUND, `no terminal "${id}"`);
    return terminal;
  }

  #spawn(request: CreateTerminalRequest, turn: number): Promise<Terminal> {
    const { cwd, env } = this.#options;
    const dir = request.cwd ? resolve(cwd, request.cwd) : cwd;
    if (!statSync(dir, { throwIfNoEntry: false })?.isDirectory()) {
      throw refusal(INVALID_PARAMS, `${dir} is not a directory`);
    }
    const [file = '', ...args] = closingCommand(commandLine(request, dir));
    const asked = Object.fromEntries((request.env ?? []).map(({ name, value }) => [name, value]));
    const mark = { [TERMINAL_OF]: env[INSTANCE_TOKEN] ?? '' };
    return new Promise((done, fail) => {
      const child = spawn(file, args, {
        cwd: dir,
        env: { ...env, ...asked, ...mark },
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child.once('error', (error) =>
        fail(refusal(INVALID_PARAMS, `${request.command}: ${messageOf(error)}`)),
      );
      child.once('spawn', () => done(watch(child, turn, outputLimit(request), this.#options.clock)));
    });
  }

  #end(terminal: Terminal): void {
    const { identity, child, survivors, exit } = terminal;
    const { clock } = this.#options;
    const over = () => {
      child.stdout.destroy();
      child.stderr.destroy();
      this.#living.delete(terminal);
    };
    if ((exit && survivors.length === 0) || !identity) over();
    else killTree(identity, { graceMs: KILL_GRACE_MS, clock, known: survivors }).then(over, over);
  }
}

function watch(child: Child, turn: number, limit: number, clock: Clock): Terminal {
  const output = new TailRing(limit);
  const pid = child.pid ?? 0;
  const terminal: Terminal = {
    turn,
    child,
    identity: identityOf(pid),
    output,
    exited: new Promise((resolve) => {
      const settle = () => {
        terminal.exit ??= { exitCode: child.exitCode, signal: child.signalCode };
        resolve(terminal.exit);
      };
      child.once('close', settle);
      child.once('exit', () => {
        // While members live, the number cannot be given to another session: these are its own.
        const members = treeOf(pid, snapshotProcesses());
        terminal.survivors = members.filter((entry) => entry.pid !== pid && entry.state !== 'Z');
        if (terminal.survivors.length > 0) clock.sleep(DRAIN_MS).then(settle, settle);
      });
    }),
    exit: undefined,
    survivors: [],
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('error', () => stream.destroy()); // the end of a pipe, whatever its reason
    stream.on('data', pacedInto(stream, output, clock));
  }
  return terminal;
}

function pacedInto(stream: Readable, output: TailRing, clock: Clock): (chunk: Buffer) => void {
  let since = clock.monotonic();
  let bytes = 0;
  return (chunk) => {
    output.push(chunk);
    bytes += chunk.length;
    if (bytes < PACE_BYTES) return;
    const early = PACE_MS - (clock.monotonic() - since);
    const goOn = () => {
      bytes = 0;
      since = clock.monotonic();
      stream.resume();
    };
    if (early <= 0) return goOn();
    stream.pause();
    clock.sleep(early).then(goOn, goOn);
  };
}

/** A command without arguments is a line for the shell, as agents send them, unless it is a program's path. */
function commandLine({ command, args = [] }: CreateTerminalRequest, dir: string): readonly string[] {
  if (args.length > 0) return [command, ...args];
  const path = isAbsolute(command) ? command : resolve(dir, command);
  return command.includes('/') && isExecutable(path) ? [path] : [SHELL, '-c', command];
}

function outputLimit({ outputByteLimit }: CreateTerminalRequest): number {
  if (outputByteLimit === undefined || outputByteLimit === null) return DEFAULT_OUTPUT_BYTES;
  return Math.min(MAX_OUTPUT_BYTES, Math.max(1, Math.floor(outputByteLimit)));
}
