import { realpathSync } from 'node:fs';
import type { Clock } from '../../../platform/clock.ts';
import { GcError, messageOf } from '../../../platform/errors.ts';
import { fieldsOf } from '../../../platform/fields.ts';
import type { AcpAgent, AcpAgentCallbacks, AgentCommand, AgentProcess } from '../../host/agent-process.ts';
import type { WireAcpBlock, WireAcpLaunch, WireAcpState } from '../../host/protocol.ts';
import type { ExitInfo } from '../../provider.ts';
import { agentRequests } from './agent-requests.ts';
import { type AcpConnection, connect } from './connection.ts';
import { ConversationRecord } from './conversation-record.ts';
import { agentGone, type Phase, timedOut } from './failures.ts';
import { shakeHands } from './handshake.ts';
import { PipedProcess } from './piped-process.ts';
import { plainText } from './plain-text.ts';
import { QuestionBook } from './questions.ts';
import { Terminals } from './terminals.ts';
import { TextFiles } from './text-files.ts';
import { Transport } from './transport.ts';
import { Turns } from './turns.ts';
import { readUpdate } from './updates.ts';
import { Watchers } from './watchers.ts';

/** After the exit, what is still in the pipe is read this long. */
const EXIT_DRAIN_MS = 500;
/** How long the exit is waited for when the output has ended. */
const REASON_MS = 250;

type Phases =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly failure: GcError };

export interface SessionParts {
  readonly name: string;
  readonly command: AgentCommand;
  readonly acp: WireAcpLaunch;
  /** Where the conversation is written down. */
  readonly journal: string;
  readonly callbacks: AcpAgentCallbacks;
  readonly clock: Clock;
}

/** One agent and the conversation with it. */
export class AcpSession implements AcpAgent {
  readonly #parts: SessionParts;
  readonly #clock: Clock;
  readonly #record: ConversationRecord;
  readonly #questions: QuestionBook;
  readonly #terminals: Terminals;
  readonly #transport: Transport;
  readonly #watchers: Watchers;
  readonly #piped: PipedProcess;
  readonly #connection: AcpConnection;
  readonly #turns: Turns;
  readonly process: AgentProcess;
  #phase: Phases = { kind: 'connecting' };
  #agent = '';
  #resumes = false;
  #conversation = '';
  #exit: ExitInfo | undefined;
  #step: Phase = 'initialize';
  #removed = false;
  #pipesEnded = false;
  #outputEnded = false;

  /** @throws GcError `spawn-failed` */
  static async start(parts: SessionParts): Promise<AcpSession> {
    let session: AcpSession | undefined;
    const piped = await PipedProcess.start(parts.command, {
      onOutputEnd: () => session?.onPipesEnd(),
      onExit: (exit) => session?.onExit(exit),
    });
    session = new AcpSession(parts, piped);
    session.#begin();
    return session;
  }

  private constructor(parts: SessionParts, piped: PipedProcess) {
    const { command, callbacks, clock } = parts;
    this.#parts = parts;
    this.#clock = clock;
    this.#piped = piped;
    this.#watchers = new Watchers(clock);
    this.#record = new ConversationRecord({
      journal: parts.journal,
      cwd: command.cwd,
      clock,
      write: (bytes) => callbacks.onOutput(bytes),
    });
    this.#questions = new QuestionBook(clock, {
      onAsked: (question, call) => {
        this.#record.asked(question, call);
        this.#changed();
      },
      onAnswered: (question, by, option) => {
        this.#record.answered(question, by, option);
        this.#changed();
      },
    });
    this.#terminals = new Terminals({ cwd: command.cwd, env: command.env, clock });
    this.#transport = new Transport(piped, {
      onUpdate: (params) => this.#update(params),
      onPause: () => this.#record.flush(),
      onOddity: (what) => this.#record.trouble(what),
      onEnd: (cause) => this.#broken(cause),
    });
    this.#connection = connect(
      this.#transport.stream,
      agentRequests({
        questions: this.#questions,
        files: new TextFiles(command.cwd),
        terminals: this.#terminals,
        turn: () => this.#turns.count,
      }),
    );
    this.#turns = new Turns({
      session: parts.name,
      connection: this.#connection,
      transport: this.#transport,
      record: this.#record,
      questions: this.#questions,
      terminals: this.#terminals,
      watchers: this.#watchers,
      onChanged: () => this.#changed(),
    });
    this.process = this.#asProcess();
  }

  state(): WireAcpState {
    const { lastStop } = this.#turns;
    return {
      phase: this.#phase.kind,
      ...(this.#phase.kind === 'failed' && { failure: toWire(this.#phase.failure) }),
      agent: this.#agent,
      conversation: this.#conversation,
      resumes: this.#resumes,
      busy: this.#turns.busy,
      turn: this.#turns.count,
      ...(lastStop !== undefined && { lastStop }),
      questions: this.#questions.list(),
    };
  }

  async wait(until: 'ready' | 'idle', timeoutMs: number): Promise<WireAcpState> {
    const reached = () =>
      this.#phase.kind === 'failed' ||
      (this.#phase.kind === 'ready' && (until === 'ready' || !this.#turns.busy));
    await this.#watchers.until(reached, timeoutMs);
    return this.state();
  }

  async prompt(blocks: readonly WireAcpBlock[]): Promise<{ readonly turn: number }> {
    this.#assertReady();
    const turn = await this.#turns.begin(this.#conversation, blocks);
    if (turn !== undefined) return { turn };
    await this.#watchers.until(() => this.#phase.kind === 'failed', REASON_MS);
    throw this.#takesNone(this.#phase.kind === 'failed' ? this.#phase.failure : this.#gone());
  }

  async cancel(): Promise<void> {
    await this.#turns.cancel(this.#conversation);
  }

  async answer(question: string, option: string | undefined): Promise<void> {
    this.#questions.answer(question, option);
  }

  close(): void {
    this.#removed = true;
    this.#release();
  }

  onExit(exit: ExitInfo): void {
    this.#exit = exit;
    this.#watchers.changed();
    this.#terminals.endAll();
    this.#parts.callbacks.onExit(exit);
    if (this.#phase.kind === 'failed') this.#piped.release();
    // A helper of the agent may hold its output for ever.
    const end = () => this.#transport.end();
    this.#clock.sleep(EXIT_DRAIN_MS).then(end, end);
  }

  onPipesEnd(): void {
    this.#pipesEnded = true;
    this.#watchers.changed();
    this.#tellOutputEnd();
  }

  #begin(): void {
    const { acp, command } = this.#parts;
    const earlier = acp.conversation === '' ? undefined : this.#record.earlier();
    const opening = shakeHands(this.#connection, {
      cwd: command.cwd,
      conversation: acp.conversation,
      clientVersion: acp.clientVersion,
      heldIn: earlier?.conversation === acp.conversation ? earlier.cwd : undefined,
      sameFolder,
      hasVariable: (name) => (command.env[name] ?? '') !== '',
      onPhase: (phase) => {
        this.#step = phase;
      },
      onAgent: (agent, resumes) => {
        this.#agent = agent;
        this.#resumes = resumes;
      },
    });
    opening.then(
      (opened) => {
        if (this.#phase.kind !== 'connecting') return;
        this.#conversation = opened.conversation;
        this.#record.opened(opened, this.#agent);
        this.#phase = { kind: 'ready' };
        this.#changed();
      },
      (error: unknown) => this.#fail(error instanceof GcError ? error : unexpected(this.#step, error)),
    );
    this.#watchers
      .until(() => this.#phase.kind !== 'connecting', acp.handshakeMs)
      .then(() => {
        if (this.#phase.kind !== 'connecting') return;
        this.#fail(timedOut(this.#step, acp.handshakeMs, this.#transport.stray));
      });
  }

  /** The connection is of no use any more. Its process stays until it ends or is ended. */
  #fail(failure: GcError): void {
    if (this.#phase.kind === 'failed') return;
    const shaking = this.#phase.kind === 'connecting';
    const told = this.#withTail(failure, shaking);
    this.#phase = { kind: 'failed', failure: told };
    if (!this.#removed) this.#record.trouble(told.message);
    this.#questions.cancelAll(this.#removed ? 'removed' : 'agent-gone');
    this.#turns.fail(failure.message);
    this.#record.closed(this.#removed ? 'the session was removed' : failure.message);
    this.#connection.close(failure);
    this.#transport.end();
    this.#terminals.endAll();
    if (this.#exit) this.#piped.release();
    this.#changed();
    this.#tellOutputEnd();
  }

  /** The end of the output often comes a moment before its reason. */
  async #broken(cause: GcError | undefined): Promise<void> {
    if (cause) return this.#fail(cause);
    await this.#watchers.until(() => this.#exit !== undefined && this.#pipesEnded, REASON_MS);
    this.#fail(this.#gone());
  }

  #gone(): GcError {
    if (this.#phase.kind === 'connecting') return agentGone(this.#exit, `before it answered ${this.#step}`);
    return agentGone(this.#exit, this.#turns.busy ? 'in the middle of a turn' : 'while no turn was open');
  }

  /** Source of the form: Gas City ACP provider. */
  #withTail(failure: GcError, shaking: boolean): GcError {
    const tail = plainText(this.#piped.stderrTail.text()).trimEnd();
    const what = shaking ? `acp handshake for "${this.#parts.name}": ${failure.message}` : failure.message;
    const message = tail === '' ? what : `${what}\nagent stderr:\n${tail}`;
    const next = failure.next === undefined ? {} : { next: failure.next };
    return new GcError(failure.code, message, { cause: failure, ...next });
  }

  #update(params: unknown): void {
    const { sessionId, update } = fieldsOf(params);
    if (this.#conversation !== '' && sessionId !== this.#conversation) return;
    this.#record.update(readUpdate(update));
  }

  #assertReady(): void {
    if (this.#phase.kind === 'failed') throw this.#takesNone(this.#phase.failure);
    if (this.#phase.kind === 'ready') return;
    throw new GcError('agent-not-ready', `the conversation with "${this.#parts.name}" is not open yet`, {
      next: 'wait until it is ready',
    });
  }

  #takesNone(failure: GcError): GcError {
    return new GcError('agent-gone', `"${this.#parts.name}" takes no prompts: ${failure.message}`, {
      next: 'start the session again',
      cause: failure,
    });
  }

  #changed(): void {
    this.#record.flush();
    this.#watchers.changed();
    if (!this.#removed) this.#parts.callbacks.onChanged();
  }

  #tellOutputEnd(): void {
    if (!this.#pipesEnded || this.#phase.kind !== 'failed' || this.#outputEnded) return;
    this.#outputEnded = true;
    this.#parts.callbacks.onOutputEnd();
  }

  #release(): void {
    this.#fail(this.#gone());
    this.#piped.release();
  }

  #asProcess(): AgentProcess {
    return {
      pid: this.#piped.pid,
      terminal: false,
      terminalPath: undefined,
      pauseOutput: () => this.#transport.pause(),
      resumeOutput: () => this.#transport.resume(),
      // Its input is the protocol's: keys would break it.
      writeSome: () => {
        throw new GcError('no-terminal', `"${this.#parts.name}" has no terminal to type at`, {
          next: `gc nudge ${this.#parts.name} "..."`,
        });
      },
      resize: () => undefined,
      helpers: () => this.#terminals.processes(),
      release: () => this.#release(),
    };
  }
}

function toWire({ code, message, next }: GcError): NonNullable<WireAcpState['failure']> {
  return { code, message, ...(next !== undefined && { next }) };
}

const unexpected = (step: Phase, error: unknown): GcError =>
  new GcError('handshake-failed', `${step}: ${messageOf(error)}`, { cause: error });

function sameFolder(one: string, other: string): boolean {
  return one === other || realPath(one) === realPath(other);
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // gone, or not for us to see: its name is all there is
  }
}
