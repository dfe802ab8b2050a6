import type { AttachPlan, ExitInfo, RuntimeEvent } from '../provider.ts';
import type { RunShell } from '../run-shell.ts';
import type { RuntimeConfig } from '../runtime-config.ts';

/**
 * What a back end with terminals must provide: the primitive acts on one terminal per session name. Start,
 * readiness, dialogs, nudge, idle and live re-apply are built once over it, in terminal-provider.ts.
 *
 * Acts on a session that does not exist throw SessionNotFoundError (`kill` and `removeMeta` resolve, `getMeta` is
 * `''`); a server or host that could not be asked is RuntimeUnavailableError. `inspect` and `inspectAll` never throw
 * for either: they answer `absent` or `unknown`. A dead session can still be captured and has its metadata.
 */
export interface TerminalBackend {
  readonly kind: string;
  /** How often `capture` may be polled without harm, milliseconds. */
  readonly pollMs: number;
  /** Set when agents do not run on this machine: what a start does here is done there. */
  readonly elsewhere?: Elsewhere | undefined;

  /** @throws SessionExistsError when any session, dead or alive, has the name. Atomic: on any other error nothing is left. */
  create(name: string, launch: Launch, signal: AbortSignal): Promise<void>;
  /** Fresh, never from a cache. */
  inspect(name: string): Promise<Inspection>;
  /** All of our sessions in one call. */
  inspectAll(): Promise<InspectionOfAll>;
  /** Ends the tree of the session's own process (TERM, grace, KILL), verifies that it is gone, removes the session. Missing is fine. */
  kill(name: string, graceMs: number): Promise<void>;
  /** Ctrl-C in a terminal; SIGINT to the group without one. */
  interrupt(name: string): Promise<void>;

  /** The last `lines` lines of history and screen, joined; 0: only the visible screen; negative: everything. */
  capture(name: string, lines: number): Promise<ScreenText>;
  /** Types text as one paste, framed when the program asked for bracketed paste; leaves copy mode first. Any bytes, any size. */
  paste(name: string, text: string): Promise<void>;
  /** tmux key names: `Enter`, `Escape`, `C-c`, `Up`, `Down`, `C-u`, single characters. */
  sendKeys(name: string, keys: readonly string[]): Promise<void>;
  /**
   * Bytes per line that the program can take right now: a terminal in canonical mode cuts longer lines silently.
   * `undefined`, or no such method: no limit known.
   */
  inputLimit?(name: string): Promise<number | undefined>;
  /** Makes a detached full-screen program redraw (two size changes). Best effort. */
  wake(name: string): Promise<void>;
  clearScrollback(name: string): Promise<void>;

  setMeta(name: string, key: string, value: string): Promise<void>;
  getMeta(name: string, key: string): Promise<string>;
  removeMeta(name: string, key: string): Promise<void>;

  attach(name: string): Promise<AttachPlan>;
  watch(signal: AbortSignal): AsyncIterable<RuntimeEvent>;
  /** Environment that set-up commands get besides the session's own (GC_TMUX_SOCKET). */
  setupEnv(): Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** The other place where a back end's agents run. It takes part in a start where work on this machine would miss them. */
export interface Elsewhere {
  /**
   * How the agent is launched there, instead of a launcher on this machine. The work dir, overlays, files and pre_start
   * commands of `config` are `create`'s to bring and to run, in that order, before the agent.
   */
  prepareLaunch(name: string, config: RuntimeConfig): Promise<ElsewhereLaunch>;
  /** Runs a set-up command beside the session's agent. */
  runShell(name: string): RunShell;
  /** As `Provider.copyTo`. */
  copyTo(name: string, source: string, relativeTarget: string, signal: AbortSignal): Promise<void>;
}

export interface ElsewhereLaunch {
  readonly launch: Launch;
  /** The part of the prompt that is too long for an argument: typed once the agent is ready. */
  readonly typedPrompt: string;
}

export interface Launch {
  /** Run without a shell of ours in between where possible. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** Set in the session; readable afterwards through `getMeta`. Never empty values. */
  readonly env: Readonly<Record<string, string>>;
  /** Must not be set in the session, whatever the back end's own environment is. */
  readonly unsetEnv: readonly string[];
  readonly pty: boolean;
  /** The whole configuration, for a back end whose agents run elsewhere. */
  readonly config?: RuntimeConfig;
  readonly columns: number;
  readonly rows: number;
}

export interface BackendSession {
  readonly name: string;
  readonly state: /** `pid` 0: not a process of this machine. */
    | { readonly kind: 'alive'; readonly pid: number }
    | { readonly kind: 'dead'; readonly exit: ExitInfo; readonly lastLines: string };
  readonly attached: number;
  /** Milliseconds since the epoch. */
  readonly lastActivity: number | undefined;
  readonly processNames: readonly string[] | undefined;
  readonly meta: Readonly<Record<string, string>>;
  /** As `Observation.note`. */
  readonly note?: string;
  /** It is being made: its agent has not begun, and a start of the name has to wait. */
  readonly initializing?: boolean;
}

export type Inspection =
  | { readonly kind: 'present'; readonly session: BackendSession }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknown'; readonly reason: string };

export type InspectionOfAll =
  | { readonly kind: 'seen'; readonly sessions: ReadonlyMap<string, BackendSession> }
  | { readonly kind: 'infrastructure-gone'; readonly what: string }
  | { readonly kind: 'unknown'; readonly reason: string };

export interface ScreenText {
  /** Right-trimmed lines, wrapped ones joined, oldest first. */
  readonly lines: readonly string[];
  /**
   * Where the program's cursor is: `row` is the index among the visible entries of `lines` (wrapped lines count as
   * one, so not the terminal's raw row), `column` the cell within that entry. A cursor below the last entry has a row
   * of `visibleRows` or more. `undefined` when unknown; better unknown than wrong.
   */
  readonly cursor: { readonly row: number; readonly column: number } | undefined;
  /** How many of the last entries of `lines` are the visible screen. Blank rows at its bottom may be left out or kept. */
  readonly visibleRows: number;
  /** The program asked for bracketed paste. `undefined` when unknown. */
  readonly bracketedPaste: boolean | undefined;
}
