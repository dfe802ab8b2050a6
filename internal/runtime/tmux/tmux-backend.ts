import type { Clock } from '../../platform/clock.ts';
import { type Ids, systemIds } from '../../platform/ids.ts';
import type { Environment } from '../../platform/paths.ts';
import { assertSessionName } from '../name-rule.ts';
import type { AttachPlan, RuntimeEvent } from '../provider.ts';
import type {
  Inspection,
  InspectionOfAll,
  Launch,
  ScreenText,
  TerminalBackend,
} from '../terminal/backend.ts';
import { attachPlan } from './attach.ts';
import { AutoTransport } from './auto-transport.ts';
import { outputsFor, requirePane, requireSession, type TmuxContext } from './context.ts';
import { ControlTransport } from './control-transport.ts';
import { createSession } from './create.ts';
import { clearHistory, paneInputLimit, pasteText, sendKeyNames, wakePane } from './input.ts';
import { killSession } from './kill.ts';
import { getMetadata, removeMetadata, setMetadata } from './metadata.ts';
import { Observer, paneKey } from './observe.ts';
import { type City, cityOf, exactTarget } from './ownership.ts';
import { PlainTransport } from './plain-transport.ts';
import { captureGroup, readScreen } from './screen.ts';
import { serverEnvironment, type TmuxServer } from './server.ts';
import { type Shutdown, shutdownIfEmpty } from './shutdown.ts';
import { DEFAULT_SILENCE_MS, type Transport } from './transport.ts';
import { type TmuxVersion, tmuxVersion } from './version.ts';
import { CONTROL_WATCH_MS, PLAIN_WATCH_MS, watchSessions } from './watch.ts';

export interface TmuxBackendOptions {
  /** From `chooseSocket`. */
  readonly socketName: string;
  /** Marks what is ours on a server that others use too. */
  readonly cityId: string;
  /** `auto`: the control connection, and plain commands where it is refused. */
  readonly transport: 'control' | 'plain' | 'auto';
  readonly clock: Clock;
  /** The caller's own environment: a new server gets a small part of it, `attach` needs TMUX of it. */
  readonly env: Environment;
  /** Default `tmux`, found on the PATH. */
  readonly tmuxPath?: string;
  readonly ids?: Ids;
  /** A server that gives no answer for this long is silent: its sessions are unknown, not gone. */
  readonly silenceMs?: number;
  /** Told once when the control connection is refused. */
  readonly onNotice?: (text: string) => void;
  /** Told of every process that is about to be started. */
  readonly onSpawn?: (argv: readonly string[]) => void;
}

const CONTROL_POLL_MS = 100;
const PLAIN_POLL_MS = 250;
/** A capture of more lines than this goes over a connection of its own. */
const BULK_LINES = 2_000;
/** How many ends that we caused are remembered, so that a watch does not report them. */
const REMEMBERED_ENDS = 2_000;

/** Terminals in tmux sessions. Sees and touches nothing but the sessions that this city made. */
export class TmuxBackend implements TerminalBackend {
  readonly kind = 'tmux';
  readonly #context: TmuxContext;
  readonly #env: Environment;
  readonly #observer: Observer;
  readonly #endedByUs = new Set<string>();

  constructor(options: TmuxBackendOptions) {
    const server: TmuxServer = {
      tmuxPath: options.tmuxPath ?? 'tmux',
      socketName: options.socketName,
      env: serverEnvironment(options.env),
      onSpawn: options.onSpawn ?? (() => undefined),
    };
    const city = cityOf(options.cityId);
    const { clock } = options;
    const transport = makeTransport(options, server, city);
    this.#context = { server, city, clock, transport, ids: options.ids ?? systemIds };
    this.#env = options.env;
    this.#observer = new Observer(this.#context);
  }

  get pollMs(): number {
    return this.#context.transport.kind === 'control' ? CONTROL_POLL_MS : PLAIN_POLL_MS;
  }

  /** What carries commands right now, for `gc status`. */
  get transportKind(): 'control' | 'plain' {
    return this.#context.transport.kind;
  }

  /** @throws GcError `tmux-not-found`, `tmux-too-old`, `tmux-broken` */
  version(): Promise<TmuxVersion> {
    return tmuxVersion(this.#context.server);
  }

  async create(name: string, launch: Launch, signal: AbortSignal): Promise<void> {
    assertSessionName(name);
    await createSession(this.#context, name, launch, signal);
  }

  inspect(name: string): Promise<Inspection> {
    return this.#observer.one(name);
  }

  inspectAll(): Promise<InspectionOfAll> {
    return this.#observer.all();
  }

  async kill(name: string, graceMs: number): Promise<void> {
    let remembered = '';
    try {
      await killSession(this.#context, name, graceMs, (pane) => {
        remembered = paneKey(pane);
        this.#rememberEnd(remembered);
      });
    } catch (error) {
      this.#endedByUs.delete(remembered);
      throw error;
    }
  }

  async interrupt(name: string): Promise<void> {
    await sendKeyNames(this.#context, name, ['C-c']);
  }

  async capture(name: string, lines: number): Promise<ScreenText> {
    const { paneId } = await requirePane(this.#context, name);
    const bulk = lines < 0 || lines > BULK_LINES;
    const reply = await this.#context.transport.run(captureGroup(paneId, lines), { bulk, repeatable: true });
    return readScreen(outputsFor(this.#context, name, reply), lines);
  }

  async paste(name: string, text: string): Promise<void> {
    await pasteText(this.#context, name, text);
  }

  async sendKeys(name: string, keys: readonly string[]): Promise<void> {
    await sendKeyNames(this.#context, name, keys);
  }

  inputLimit(name: string): Promise<number | undefined> {
    return paneInputLimit(this.#context, name);
  }

  async wake(name: string): Promise<void> {
    await wakePane(this.#context, name);
  }

  async clearScrollback(name: string): Promise<void> {
    await clearHistory(this.#context, name);
  }

  async setMeta(name: string, key: string, value: string): Promise<void> {
    await setMetadata(this.#context, name, key, value);
  }

  getMeta(name: string, key: string): Promise<string> {
    return getMetadata(this.#context, name, key);
  }

  async removeMeta(name: string, key: string): Promise<void> {
    await removeMetadata(this.#context, name, key);
  }

  async attach(name: string): Promise<AttachPlan> {
    await requireSession(this.#context, name);
    const group = [
      ['show-options', '-A', '-v', '-t', exactTarget(name), 'prefix'],
      ['list-keys', '-T', 'prefix'],
    ];
    const reply = await this.#context.transport.run(group, { repeatable: true });
    const [prefix, bindings] = outputsFor(this.#context, name, reply);
    return attachPlan(this.#context.server, name, this.#env, {
      prefix: prefix ?? '',
      bindings: bindings ?? '',
    });
  }

  watch(signal: AbortSignal): AsyncIterable<RuntimeEvent> {
    const pollMs = () => (this.#context.transport.kind === 'control' ? CONTROL_WATCH_MS : PLAIN_WATCH_MS);
    return watchSessions(this.#context, { pollMs, wasEndedByUs: (key) => this.#endedByUs.has(key) }, signal);
  }

  setupEnv(): Readonly<Record<string, string>> {
    return { GC_TMUX_SOCKET: this.#context.server.socketName };
  }

  /** Takes the keeper away when no session of this city is left, so that no server stays behind. For the end of a stop. */
  shutdownIfEmpty(): Promise<Shutdown> {
    return shutdownIfEmpty(this.#context);
  }

  /** Lets the connections go. Sessions and the server stay. */
  async close(): Promise<void> {
    await this.#context.transport.close();
  }

  #rememberEnd(key: string): void {
    this.#endedByUs.add(key);
    const [oldest] = this.#endedByUs;
    if (this.#endedByUs.size > REMEMBERED_ENDS && oldest !== undefined) this.#endedByUs.delete(oldest);
  }
}

function makeTransport(options: TmuxBackendOptions, server: TmuxServer, city: City): Transport {
  const silenceMs = options.silenceMs ?? DEFAULT_SILENCE_MS;
  const plain = () => new PlainTransport(server, silenceMs);
  const control = () => new ControlTransport(server, city, options.clock, silenceMs);
  switch (options.transport) {
    case 'plain':
      return plain();
    case 'control':
      return control();
    case 'auto':
      return new AutoTransport(control(), plain(), options.clock, options.onNotice ?? (() => undefined));
  }
}
