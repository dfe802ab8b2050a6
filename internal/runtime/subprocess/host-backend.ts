import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import type { Ids } from '../../platform/ids.ts';
import { KeyedMutex } from '../../platform/keyed-mutex.ts';
import { InvalidSessionNameError, RuntimeUnavailableError, SessionNotFoundError } from '../errors.ts';
import {
  type HostRequest,
  PART_CHARS,
  RESULTS,
  type WireLaunch,
  type WireSession,
} from '../host/protocol.ts';
import type { Shape } from '../host/shape.ts';
import { isSessionName } from '../name-rule.ts';
import type { AttachPlan, RuntimeEvent } from '../provider.ts';
import type {
  BackendSession,
  Inspection,
  InspectionOfAll,
  Launch,
  ScreenText,
  TerminalBackend,
} from '../terminal/backend.ts';
import { openAttachStream } from './attach-stream.ts';
import type { HostAnswer } from './host-client.ts';
import { HostLostError } from './host-link.ts';
import { HostPresence, type Presence } from './host-presence.ts';
import { HostWatch } from './host-watch.ts';

const POLL_MS = 50;
const INSPECT_TIMEOUT_MS = 2_000;
const REQUEST_TIMEOUT_MS = 10_000;
const CREATE_TIMEOUT_MS = 15_000;
/** The host itself gives a paste back when the program takes nothing; a slow reader may take long. */
const PASTE_TIMEOUT_MS = 600_000;
/** On top of a kill's own grace: KILL, and the host's verification. */
const KILL_EXTRA_MS = 12_000;

export interface HostBackendOptions {
  /** The city's folder in the runtime directory. */
  readonly dir: string;
  readonly cityId: string;
  /** What runs the host, without its own options: `nodeHostCommand(process.execPath, 'dist/host.js')`. */
  readonly hostCommand: readonly string[];
  /** The host's own, small environment. Agents get nothing of it. */
  readonly env: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly ids: Ids;
  /**
   * `controller` (the default) is told of exits and of lost sessions, and thereby acknowledges them; a `visitor` (one
   * command beside a controller) leaves them to be told.
   */
  readonly role?: 'controller' | 'visitor';
}

/** Sessions in the embedded session host. It is started by the first `create`, never by a look. */
export class HostBackend implements TerminalBackend {
  readonly kind = 'subprocess';
  readonly pollMs = POLL_MS;
  readonly #options: HostBackendOptions;
  readonly #presence: HostPresence;
  readonly #watches = new Set<HostWatch>();
  readonly #lifetime = new AbortController();
  readonly #pastes = new KeyedMutex();
  /** What `inspectAll` has yet to tell. */
  #untold: string | undefined;
  #watchWasTold = false;

  constructor(options: HostBackendOptions) {
    const { dir, cityId: city, hostCommand: argv, env, clock, ids } = options;
    this.#options = options;
    this.#presence = new HostPresence({
      command: { dir, city, argv, env },
      clock,
      ids,
      decides: this.#decides,
      onLoss: (names) => this.#lose(names),
    });
  }

  async create(name: string, launch: Launch, signal: AbortSignal): Promise<void> {
    const { argv, cwd, env, pty, columns, rows } = launch;
    await this.open(name, { argv, cwd, env, pty, columns, rows }, signal);
  }

  /** `create`, for back ends whose sessions in a host are more than a terminal. */
  async open(name: string, launch: WireLaunch, signal: AbortSignal): Promise<void> {
    if (!isSessionName(name)) throw new InvalidSessionNameError(name);
    const client = await this.#presence.started(signal);
    await client.request({ op: 'create', name, launch }, CREATE_TIMEOUT_MS);
    // Once there is a session again, the loss of the earlier ones must not be taken for its own.
    if (this.#watchWasTold) this.#untold = undefined;
    for (const watch of this.#watches) watch.hostStarted();
    if (!signal.aborted) return;
    await this.kill(name, 0);
    signal.throwIfAborted();
  }

  async inspect(name: string): Promise<Inspection> {
    if (!isSessionName(name)) return { kind: 'absent' };
    const found = await this.#look({ op: 'inspect', name }, RESULTS.inspect);
    if (found.kind === 'gone') return { kind: 'absent' };
    if (found.kind === 'unknown') return { kind: 'unknown', reason: found.reason };
    const { session } = found.result;
    return session ? { kind: 'present', session: toSession(session) } : { kind: 'absent' };
  }

  async inspectAll(): Promise<InspectionOfAll> {
    const found = await this.#look({ op: 'list' }, RESULTS.list);
    if (found.kind === 'unknown') return { kind: 'unknown', reason: found.reason };
    this.#presence.tellLosses();
    const what = this.#untold;
    this.#untold = undefined;
    if (what !== undefined) return { kind: 'infrastructure-gone', what };
    if (found.kind === 'gone') return { kind: 'seen', sessions: new Map() };
    return { kind: 'seen', sessions: new Map(found.result.sessions.map((s) => [s.name, toSession(s)])) };
  }

  async kill(name: string, graceMs: number): Promise<void> {
    if (!isSessionName(name)) return;
    const found = await this.#presence.look();
    if (found.kind === 'gone') return;
    if (found.kind === 'unknown') throw new RuntimeUnavailableError(found.reason);
    await found.client.request({ op: 'kill', name, graceMs: Math.round(graceMs) }, graceMs + KILL_EXTRA_MS);
  }

  async interrupt(name: string): Promise<void> {
    await this.#ask({ op: 'interrupt', name });
  }

  async capture(name: string, lines: number): Promise<ScreenText> {
    const answer = await this.#ask({ op: 'capture', name, lines: lines < 0 ? -1 : Math.floor(lines) });
    const { screen, continued } = RESULTS.capture(answer.result, 'capture');
    const { cursor, visibleRows, bracketedPaste } = screen;
    const history = answer.parts === '' ? [] : answer.parts.split('\n');
    const all = continued ? joinAt(history, screen.lines) : [...history, ...screen.lines];
    return { lines: all.map((line) => line.trimEnd()), cursor, visibleRows, bracketedPaste };
  }

  paste(name: string, text: string): Promise<void> {
    // The parts of two pastes must not mix.
    return this.#pastes.run(name, async () => {
      for (let from = 0; from === 0 || from < text.length; from += PART_CHARS) {
        const done = from + PART_CHARS >= text.length;
        const part = text.slice(from, from + PART_CHARS);
        await this.#ask({ op: 'paste', name, text: part, done }, PASTE_TIMEOUT_MS);
      }
    });
  }

  async sendKeys(name: string, keys: readonly string[]): Promise<void> {
    await this.#ask({ op: 'keys', name, keys });
  }

  async inputLimit(name: string): Promise<number | undefined> {
    const answer = await this.#ask({ op: 'inputLimit', name });
    return RESULTS.inputLimit(answer.result, 'inputLimit').bytes;
  }

  async wake(name: string): Promise<void> {
    await this.#ask({ op: 'wake', name });
  }

  async clearScrollback(name: string): Promise<void> {
    await this.#ask({ op: 'clear', name });
  }

  async setMeta(name: string, key: string, value: string): Promise<void> {
    await this.#ask({ op: 'setMeta', name, key, value });
  }

  async getMeta(name: string, key: string): Promise<string> {
    return this.#orMissing('', async () => {
      const answer = await this.#ask({ op: 'getMeta', name, key });
      return RESULTS.getMeta(answer.result, 'getMeta').value;
    });
  }

  async removeMeta(name: string, key: string): Promise<void> {
    await this.#orMissing(undefined, () => this.#ask({ op: 'removeMeta', name, key }));
  }

  async attach(name: string): Promise<AttachPlan> {
    const found = await this.inspect(name);
    if (found.kind === 'unknown') throw new RuntimeUnavailableError(found.reason);
    if (found.kind === 'absent') throw new SessionNotFoundError(name);
    const { address } = this.#presence;
    return { kind: 'stream', leave: 'Ctrl-Q', open: (size) => openAttachStream(address, name, size) };
  }

  async *watch(signal: AbortSignal): AsyncIterable<RuntimeEvent> {
    const watch = new HostWatch(
      {
        presence: this.#presence,
        sleep: (ms, until) => this.#options.clock.sleep(ms, until),
        acknowledges: this.#decides,
      },
      AbortSignal.any([signal, this.#lifetime.signal]),
    );
    this.#watches.add(watch);
    try {
      yield* watch.events();
    } finally {
      this.#watches.delete(watch);
    }
  }

  setupEnv(): Readonly<Record<string, string>> {
    return {};
  }

  /** Ends the host when no session is left in it: a stopped city leaves nothing behind. Otherwise nothing happens. */
  async release(): Promise<void> {
    await this.#presence.dismiss();
  }

  async close(): Promise<void> {
    this.#lifetime.abort();
    this.#presence.close();
  }

  get #decides(): boolean {
    return this.#options.role !== 'visitor';
  }

  #lose(names: readonly string[]): void {
    const what = `the session host is gone, and its sessions with it: ${names.join(', ')}`;
    this.#untold = what;
    this.#watchWasTold = this.#watches.size > 0;
    for (const watch of this.#watches) watch.lost(what);
  }

  /** One request about one session, for back ends whose sessions in a host are more than a terminal. Throws as `#ask`. */
  async ask<T>(request: SessionRequest, shape: Shape<T>, timeoutMs = REQUEST_TIMEOUT_MS): Promise<T> {
    const answer = await this.#ask(request, timeoutMs);
    return shape(answer.result, request.op);
  }

  /** @throws SessionNotFoundError when there is no host: then there is no session. */
  async #ask(request: SessionRequest, timeoutMs = REQUEST_TIMEOUT_MS): Promise<HostAnswer> {
    if (!isSessionName(request.name)) throw new SessionNotFoundError(request.name);
    const found = await this.#presence.look();
    if (found.kind === 'gone') throw new SessionNotFoundError(request.name);
    if (found.kind === 'unknown') throw new RuntimeUnavailableError(found.reason);
    return found.client.request(request, timeoutMs);
  }

  /** Asks without ever starting a host. A host that goes while it is asked is looked at once more: is it gone? */
  async #look<T>(request: HostRequest, shape: Shape<T>, again = true): Promise<Looked<T>> {
    const found = await this.#presence.look();
    if (found.kind !== 'up') return found;
    try {
      const answer = await found.client.request(request, INSPECT_TIMEOUT_MS);
      return { kind: 'answered', result: shape(answer.result, request.op) };
    } catch (error) {
      if (again && error instanceof HostLostError) return this.#look(request, shape, false);
      return { kind: 'unknown', reason: messageOf(error) };
    }
  }

  async #orMissing<T, M>(missing: M, work: () => Promise<T>): Promise<T | M> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof SessionNotFoundError) return missing;
      throw error;
    }
  }
}

type SessionRequest = Extract<HostRequest, { name: string }>;
type Looked<T> = { readonly kind: 'answered'; readonly result: T } | Exclude<Presence, { kind: 'up' }>;

function toSession(wire: WireSession): BackendSession {
  const { name, attached, lastActivity, processNames, meta } = wire;
  const state: BackendSession['state'] = wire.exit
    ? { kind: 'dead', exit: wire.exit, lastLines: wire.lastLines ?? '' }
    : { kind: 'alive', pid: wire.pid ?? 0 };
  return { name, state, attached, lastActivity, processNames, meta };
}

/** The history's last line goes on in the screen's first. */
function joinAt(history: readonly string[], lines: readonly string[]): readonly string[] {
  const [first = '', ...rest] = lines;
  return [...history.slice(0, -1), (history.at(-1) ?? '') + first, ...rest];
}
