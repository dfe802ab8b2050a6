import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { BlockParser, type ControlEvent } from './block-parser.ts';
import { answersOf, type Command, commandArguments, commandLine } from './quote.ts';
import { serverFlags, type TmuxServer } from './server.ts';

export interface ControlClientOptions {
  readonly server: TmuxServer;
  readonly clock: Clock;
  /** Runs on the command line of the connection; it must attach the client to a session. */
  readonly attach: readonly Command[];
  readonly startServer: boolean;
  /** A server that says nothing for this long while an answer is due counts as silent. */
  readonly silenceMs: number;
}

export type ClientReply =
  | { readonly kind: 'ok'; readonly outputs: readonly string[] }
  | { readonly kind: 'refused'; readonly message: string; readonly outputs: readonly string[] }
  /** No answer in time. The connection stays, and so may the effect of the commands. */
  | { readonly kind: 'silent'; readonly reason: string }
  | { readonly kind: 'lost'; readonly reason: string };

export type ClientState =
  | { readonly kind: 'ready' }
  | { readonly kind: 'silent'; readonly reason: string }
  | { readonly kind: 'ended'; readonly reason: string };

interface Pending {
  /** A group gives the answers of all its commands, or ends with the first refused one. */
  readonly commands: readonly Command[];
  readonly answers: string[];
  /** `undefined`: nobody waits any more, but the answer still has its place in the order. */
  settle: ((reply: ClientReply) => void) | undefined;
}

/** The server may still be writing when the client process is gone. */
const EXIT_DRAIN_MS = 100;
/** A closed connection that the server does not let go is killed after this. */
const CLOSE_TIMEOUT_MS = 1_000;
/** How long a question waits for a server that is known to be silent. */
const STALLED_PAUSE_MS = 50;
const WATCHDOG_SLICES = 10;
const STDERR_KEPT_CHARS = 2_000;

/**
 * One control-mode connection. Its AbortController is its lifetime: whatever ends it gives every pending request the
 * same reason. Requests are pipelined and answered in order.
 *
 * A client is never killed while it connects, and a silent server does not end the connection: up to tmux 3.6 the
 * server itself crashes, with everything in it, when a control client goes away, or anything is notified, in the
 * middle of a handshake (tmux pull requests 4980 and 5004).
 */
export class ControlClient {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #clock: Clock;
  readonly #silenceMs: number;
  readonly #lifetime = new AbortController();
  readonly #parser = new BlockParser();
  readonly #pending: Pending[] = [];
  readonly #exited: Promise<void>;
  #waiters: ((state: ClientState) => void)[] = [];
  #connected = false;
  #stderr = '';
  #refusal = '';
  #progress = 0;
  #watching = false;
  #stalled = false;

  constructor(options: ControlClientOptions) {
    this.#clock = options.clock;
    this.#silenceMs = options.silenceMs;
    const { server } = options;
    const args = ['-C', ...serverFlags(server, options.startServer), ...commandArguments(options.attach)];
    server.onSpawn([server.tmuxPath, ...args]);
    this.#child = spawn(server.tmuxPath, args, { env: server.env, cwd: '/', stdio: 'pipe' });
    this.#child.stdout.on('data', (chunk: Buffer) => this.#received(chunk));
    this.#child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString('utf8')).slice(-STDERR_KEPT_CHARS);
    });
    // A write into a connection that just ended; its end is reported by the exit.
    this.#child.stdin.on('error', () => undefined);
    this.#exited = new Promise((resolve) => {
      this.#child.once('exit', () => resolve());
      this.#child.once('error', (error) => {
        this.#end(messageOf(error));
        resolve();
      });
    });
    void this.#exited.then(() => this.#drainAndEnd());
    void this.#watch();
  }

  /** Aborts when the connection ends, with the reason. */
  get signal(): AbortSignal {
    return this.#lifetime.signal;
  }

  /** Settles when the connection stands (the first `%session-changed`; earlier commands are refused), ends, or is silent. */
  async state(): Promise<ClientState> {
    await this.#grace();
    if (this.signal.aborted) return { kind: 'ended', reason: this.#endReason() };
    if (this.#stalled) return { kind: 'silent', reason: this.#silence() };
    if (this.#connected) return { kind: 'ready' };
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  async request(commands: readonly Command[]): Promise<ClientReply> {
    if (this.signal.aborted) return { kind: 'lost', reason: this.#endReason() };
    if (this.#stalled) return { kind: 'silent', reason: this.#silence() };
    const line = commandLine(commands);
    return new Promise((settle) => {
      this.#pending.push({ commands, answers: [], settle });
      this.#child.stdin.write(`${line}\n`);
      void this.#watch();
    });
  }

  /** Lets the connection go in order: the handshake first, then the end of the input, which detaches the client. */
  async close(reason: string): Promise<void> {
    if (!this.#connected) await this.state();
    this.#end(reason);
    this.#child.stdin.end();
    const patience = new AbortController();
    const late = this.#clock.sleep(CLOSE_TIMEOUT_MS, patience.signal).then(
      () => this.#child.kill('SIGKILL'),
      () => undefined, // it ended in time
    );
    await Promise.race([this.#exited, late]);
    patience.abort();
    // A stopped server holds copies of these pipes, so their end may never come by itself.
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }

  #received(chunk: Buffer): void {
    this.#progress += 1;
    this.#stalled = false;
    for (const event of this.#parser.push(chunk)) this.#handle(event);
    if (this.#isDue()) void this.#watch();
  }

  #handle(event: ControlEvent): void {
    if (event.kind === 'notification') {
      if (event.name === 'session-changed' && !this.#connected) {
        this.#connected = true;
        this.#tell({ kind: 'ready' });
      }
    } else if (!event.own) {
      if (!event.ok && !this.#connected) this.#refusal = event.body;
    } else {
      this.#answer(event.ok, event.body);
    }
  }

  #answer(ok: boolean, body: string): void {
    const head = this.#pending[0];
    if (!head) return;
    if (ok) {
      head.answers.push(body);
      if (head.answers.length < head.commands.reduce((sum, command) => sum + answersOf(command), 0)) return;
    }
    this.#pending.shift();
    const outputs = outputsOf(head.commands, head.answers);
    head.settle?.(ok ? { kind: 'ok', outputs } : { kind: 'refused', message: body, outputs });
  }

  /** Something is waited for: the handshake, or an answer that somebody wants. */
  #isDue(): boolean {
    return !this.signal.aborted && (!this.#connected || this.#pending.some((p) => p.settle !== undefined));
  }

  /**
   * Notices when nothing arrives for too long while an answer is due. Time is counted in short slices, so that a pause
   * of this process or of the machine is not blamed on the server.
   */
  async #watch(): Promise<void> {
    if (this.#watching || this.#stalled) return;
    this.#watching = true;
    let seen = this.#progress;
    for (let quiet = 0; quiet < WATCHDOG_SLICES && this.#isDue(); ) {
      try {
        await this.#clock.sleep(this.#silenceMs / WATCHDOG_SLICES, this.signal);
      } catch {
        break; // the connection ended
      }
      quiet = seen === this.#progress ? quiet + 1 : 0;
      seen = this.#progress;
      if (quiet === WATCHDOG_SLICES && this.#isDue()) this.#giveUpWaiting();
    }
    this.#watching = false;
  }

  /** Nothing is sent to a silent server: the answer that ends the silence is one that is due already. */
  async #grace(): Promise<void> {
    if (!this.#stalled) return;
    try {
      await this.#clock.sleep(STALLED_PAUSE_MS, this.signal);
    } catch {
      // the connection ended, which the caller looks at next
    }
  }

  #giveUpWaiting(): void {
    this.#stalled = true;
    this.#tell({ kind: 'silent', reason: this.#silence() });
    for (const pending of this.#pending) {
      pending.settle?.({ kind: 'silent', reason: this.#silence() });
      pending.settle = undefined;
    }
  }

  async #drainAndEnd(): Promise<void> {
    try {
      await this.#clock.sleep(EXIT_DRAIN_MS, this.signal);
    } catch {
      return; // it was closed
    }
    this.#end(this.#refusal || this.#stderr.trim() || 'the control connection ended');
  }

  #end(reason: string): void {
    if (this.signal.aborted) return;
    this.#lifetime.abort(new Error(reason));
    this.#tell({ kind: 'ended', reason });
    for (const pending of this.#pending.splice(0)) pending.settle?.({ kind: 'lost', reason });
  }

  #tell(state: ClientState): void {
    for (const waiter of this.#waiters.splice(0)) waiter(state);
  }

  #endReason(): string {
    return messageOf(this.signal.reason);
  }

  #silence(): string {
    return `the tmux server did not answer for ${this.#silenceMs} ms`;
  }
}

/** One output per command that answered whole: of a conditional one, what its branch said. */
function outputsOf(commands: readonly Command[], answers: readonly string[]): readonly string[] {
  const outputs: string[] = [];
  let at = 0;
  for (const command of commands) {
    at += answersOf(command);
    const last = answers[at - 1];
    if (last === undefined) break;
    outputs.push(last);
  }
  return outputs;
}
