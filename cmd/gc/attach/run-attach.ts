import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { GcError, messageOf } from '../../../internal/platform/errors.ts';
import type { Environment } from '../../../internal/platform/paths.ts';
import type { AttachPlan, AttachStream, TerminalSize } from '../../../internal/runtime/provider.ts';
import { KeyFilter } from './key-filter.ts';

/** A lone Escape is passed on after this long. */
const ESCAPE_WAIT_MS = 30;
const SIGNAL_EXIT_BASE = 128;
/** The first picture may come in parts: how to leave is shown on top of it after this. */
const HINT_DELAY_MS = 150;

type SpawnPlan = Extract<AttachPlan, { kind: 'spawn' }>;

/** What is used of `process.stdin`. */
export interface KeyInput {
  setRawMode(raw: boolean): unknown;
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  off(event: 'data', listener: (chunk: Buffer) => void): unknown;
  pause(): unknown;
}

/** What is used of `process.stdout`. */
export interface ScreenOutput {
  readonly columns: number;
  readonly rows: number;
  /** `false`: wait for `drain`. */
  write(bytes: Uint8Array): boolean;
  on(event: 'resize' | 'drain' | 'close', listener: () => void): unknown;
  off(event: 'resize' | 'drain' | 'close', listener: () => void): unknown;
}

export interface AttachTerminal {
  readonly input: KeyInput;
  readonly output: ScreenOutput;
  readonly env: Environment;
  /** Ends the visit from outside. */
  readonly signal: AbortSignal;
  /** Prints how to leave, before the screen changes. */
  readonly announce: (leave: string) => void;
}

export type AttachEnd =
  /** The person left; the agent lives. */
  | { readonly kind: 'left' }
  /** The session ended under them, or its connection broke. */
  | { readonly kind: 'ended'; readonly error?: unknown }
  /** The program that attached has ended with this code; a code other than 0 is a failure. */
  | { readonly kind: 'exited'; readonly code: number };

/** Connects the person's terminal to a session, until they leave or it ends. Never ends the agent. */
export async function runAttach(plan: AttachPlan, terminal: AttachTerminal): Promise<AttachEnd> {
  if (plan.kind === 'spawn') return runSpawn(plan, terminal);
  terminal.announce(plan.leave);
  const stream = await plan.open(sizeOf(terminal.output));
  return connect(stream, terminal, plan.leave);
}

/** The child owns the terminal while it runs: it inherits all three streams. */
function runSpawn(plan: SpawnPlan, terminal: AttachTerminal): Promise<AttachEnd> {
  const [program, ...args] = plan.argv;
  if (program === undefined) throw new GcError('attach-failed', 'there is no program to attach with');
  terminal.announce(plan.leave);
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'inherit', env: { ...terminal.env, ...plan.env } });
    child.once('error', (error) =>
      reject(new GcError('attach-failed', `cannot run ${program}: ${messageOf(error)}`, { cause: error })),
    );
    child.once('exit', (code, signal) => {
      const signalCode = signal ? SIGNAL_EXIT_BASE + (constants.signals[signal] ?? 0) : 1;
      resolve({ kind: 'exited', code: code ?? signalCode });
    });
  });
}

/** The stream itself begins with a redraw and ends with what brings the terminal back to plain behaviour. */
async function connect(stream: AttachStream, terminal: AttachTerminal, leaveKey: string): Promise<AttachEnd> {
  const { input, output } = terminal;
  const filter = new KeyFilter();
  const visit = new AbortController();
  let left = false;
  let loneEscape: NodeJS.Timeout | undefined;
  let hint: NodeJS.Timeout | undefined;
  const leave = () => {
    left = true;
    stream.close();
  };
  const onKeys = (chunk: Buffer) => {
    clearTimeout(loneEscape);
    const { pass, detach } = filter.push(chunk);
    if (pass.length > 0) stream.write(pass);
    if (detach) return leave();
    if (filter.holding) loneEscape = setTimeout(() => stream.write(filter.flush()), ESCAPE_WAIT_MS);
  };
  const onResize = () => stream.resize(sizeOf(output));
  terminal.signal.addEventListener('abort', leave, { once: true, signal: visit.signal });
  output.on('resize', onResize);
  input.setRawMode(true);
  input.on('data', onKeys);
  try {
    for await (const bytes of stream.output) {
      if (!output.write(bytes)) await drained(output, visit.signal);
      hint ??= setTimeout(() => output.write(hintBytes(leaveKey, sizeOf(output))), HINT_DELAY_MS);
    }
    return left ? { kind: 'left' } : { kind: 'ended' };
  } catch (error) {
    return left ? { kind: 'left' } : { kind: 'ended', error };
  } finally {
    visit.abort();
    clearTimeout(loneEscape);
    clearTimeout(hint);
    output.off('resize', onResize);
    input.off('data', onKeys);
    input.setRawMode(false);
    input.pause();
    stream.close();
  }
}

function drained(output: ScreenOutput, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      output.off('drain', done);
      output.off('close', done);
      resolve();
    };
    output.on('drain', done);
    output.on('close', done);
    signal.addEventListener('abort', done, { once: true });
  });
}

/** How to leave, as a person is told. */
export function leaveLine(leave: string): string {
  return `leave with ${leave}; the agent keeps running`;
}

/** One line on the last row, over whatever the agent drew there; its next redraw takes it away. The cursor stays. */
function hintBytes(leave: string, size: TerminalSize): Uint8Array {
  const text = ` ${leaveLine(leave)} `.slice(0, size.columns);
  return Buffer.from(`\x1b7\x1b[${size.rows};1H\x1b[0;7m${text}\x1b[0m\x1b8`);
}

function sizeOf(output: ScreenOutput): TerminalSize {
  return { columns: output.columns || 80, rows: output.rows || 24 };
}
