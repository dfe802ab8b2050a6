import type { Clock } from '../../platform/clock.ts';
import { SessionExistsError, SessionNotFoundError } from '../errors.ts';
import type { AttachPlan, ExitInfo, RuntimeEvent } from '../provider.ts';
import type {
  BackendSession,
  Inspection,
  InspectionOfAll,
  Launch,
  ScreenText,
  TerminalBackend,
} from './backend.ts';

/** A program in a scripted terminal: it draws, and reacts to what is typed. */
export interface ScriptedProgram {
  begin(terminal: ScriptedTerminal): void;
  key(terminal: ScriptedTerminal, key: string): void;
  paste(terminal: ScriptedTerminal, text: string): void;
}

/** One terminal of the double, as its program sees it. */
export class ScriptedTerminal {
  readonly launch: Launch;
  readonly #clock: Clock;
  readonly program: ScriptedProgram;
  readonly meta = new Map<string, string>();
  lines: readonly string[] = [];
  cursor: ScreenText['cursor'];
  bracketedPaste: boolean | undefined = true;
  processNames: readonly string[] | undefined = ['sh'];
  attached = 0;
  inputLimit: number | undefined;
  lastActivity: number;
  state: BackendSession['state'] = { kind: 'alive', pid: 1 };

  constructor(launch: Launch, program: ScriptedProgram, clock: Clock) {
    this.launch = launch;
    this.program = program;
    this.#clock = clock;
    this.lastActivity = clock.now();
    for (const [key, value] of Object.entries(launch.env)) this.meta.set(key, value);
  }

  /** Draws the whole screen; `cursor` is a line index and a column. */
  draw(lines: readonly string[], cursor?: { row: number; column: number }): void {
    this.lines = lines;
    this.cursor = cursor;
    this.lastActivity = this.#clock.now();
  }

  exit(exit: ExitInfo): void {
    this.state = { kind: 'dead', exit, lastLines: this.lines.join('\n') };
  }

  /** Runs `act` after `ms`, if the program still lives then. */
  later(ms: number, act: () => void): void {
    void this.#clock.sleep(ms).then(() => {
      if (this.state.kind === 'alive') act();
    });
  }

  now(): number {
    return this.#clock.monotonic();
  }
}

export type BackendCall = keyof TerminalBackend;

/**
 * A back end without any process: terminals run scripted programs on the given clock. For tests of the terminal
 * algorithm; every call is recorded and can be made to fail.
 */
export class ScriptedBackend implements TerminalBackend {
  readonly kind = 'tmux';
  readonly pollMs: number;
  readonly terminals = new Map<string, ScriptedTerminal>();
  /** `method name`, in order. */
  readonly calls: string[] = [];
  readonly kills: string[] = [];
  /** Called before every act; may throw, or end programs. */
  before: (call: BackendCall, name: string) => void = () => undefined;
  /** `inspect` and `inspectAll` cannot tell, for this reason. */
  unknown: string | undefined;
  readonly #clock: Clock;
  readonly #programFor: (name: string) => ScriptedProgram;

  constructor(clock: Clock, programFor: (name: string) => ScriptedProgram, pollMs = 50) {
    this.#clock = clock;
    this.#programFor = programFor;
    this.pollMs = pollMs;
  }

  async create(name: string, launch: Launch, signal: AbortSignal): Promise<void> {
    this.#record('create', name);
    signal.throwIfAborted();
    if (this.terminals.has(name)) throw new SessionExistsError(name);
    const terminal = new ScriptedTerminal(launch, this.#programFor(name), this.#clock);
    this.terminals.set(name, terminal);
    terminal.program.begin(terminal);
  }

  async inspect(name: string): Promise<Inspection> {
    this.#record('inspect', name);
    if (this.unknown !== undefined) return { kind: 'unknown', reason: this.unknown };
    const terminal = this.terminals.get(name);
    return terminal ? { kind: 'present', session: sessionOf(name, terminal) } : { kind: 'absent' };
  }

  async inspectAll(): Promise<InspectionOfAll> {
    this.#record('inspectAll', '');
    if (this.unknown !== undefined) return { kind: 'unknown', reason: this.unknown };
    return {
      kind: 'seen',
      sessions: new Map([...this.terminals].map(([name, terminal]) => [name, sessionOf(name, terminal)])),
    };
  }

  async kill(name: string, _graceMs: number): Promise<void> {
    this.#record('kill', name);
    this.kills.push(name);
    this.terminals.get(name)?.exit({ signal: 'SIGTERM' });
    this.terminals.delete(name);
  }

  async interrupt(name: string): Promise<void> {
    await this.sendKeys(name, ['C-c']);
  }

  async capture(name: string, _lines: number): Promise<ScreenText> {
    this.#record('capture', name);
    const terminal = this.#terminal(name);
    return {
      lines: terminal.lines,
      cursor: terminal.cursor,
      visibleRows: terminal.lines.length,
      bracketedPaste: terminal.bracketedPaste,
    };
  }

  async paste(name: string, text: string): Promise<void> {
    this.#record('paste', name);
    const terminal = this.#terminal(name);
    terminal.program.paste(terminal, text);
  }

  async sendKeys(name: string, keys: readonly string[]): Promise<void> {
    this.#record('sendKeys', name);
    const terminal = this.#terminal(name);
    for (const key of keys) if (terminal.state.kind === 'alive') terminal.program.key(terminal, key);
  }

  async wake(name: string): Promise<void> {
    this.#record('wake', name);
  }

  async inputLimit(name: string): Promise<number | undefined> {
    return this.#terminal(name).inputLimit;
  }

  async clearScrollback(name: string): Promise<void> {
    this.#terminal(name);
  }

  async setMeta(name: string, key: string, value: string): Promise<void> {
    this.#record('setMeta', name);
    this.#terminal(name).meta.set(key, value);
  }

  async getMeta(name: string, key: string): Promise<string> {
    return this.terminals.get(name)?.meta.get(key) ?? '';
  }

  async removeMeta(name: string, key: string): Promise<void> {
    this.terminals.get(name)?.meta.delete(key);
  }

  async attach(name: string): Promise<AttachPlan> {
    this.#terminal(name);
    return { kind: 'spawn', argv: ['true'], env: {}, leave: 'Ctrl-b d' };
  }

  async *watch(_signal: AbortSignal): AsyncIterable<RuntimeEvent> {
    for (const [name, { state }] of this.terminals) {
      if (state.kind === 'dead') yield { kind: 'exited', name, exit: state.exit, lastLines: state.lastLines };
    }
  }

  setupEnv(): Readonly<Record<string, string>> {
    return { GC_TMUX_SOCKET: 'scripted' };
  }

  async close(): Promise<void> {
    this.#record('close', '');
  }

  #record(call: BackendCall, name: string): void {
    this.calls.push(`${call} ${name}`.trim());
    this.before(call, name);
  }

  #terminal(name: string): ScriptedTerminal {
    const terminal = this.terminals.get(name);
    if (!terminal) throw new SessionNotFoundError(name);
    return terminal;
  }
}

function sessionOf(name: string, terminal: ScriptedTerminal): BackendSession {
  return {
    name,
    state: terminal.state,
    attached: terminal.attached,
    lastActivity: terminal.lastActivity,
    processNames: terminal.processNames,
    meta: Object.fromEntries(terminal.meta),
  };
}
