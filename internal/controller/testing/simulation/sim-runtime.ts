import type { ExitInfo, Observation, PendingInteraction, RuntimeEvent } from '../../../runtime/provider.ts';
import { META_INSTANCE_TOKEN } from '../../../runtime/provider.ts';
import type { RuntimeConfig } from '../../../runtime/runtime-config.ts';
import type { Dice } from './dice.ts';
import type { SimClock } from './sim-clock.ts';

/** One life of an agent: what really runs, whatever anybody believes. */
export interface AgentLife {
  /** In the order of their starts. */
  readonly number: number;
  readonly name: string;
  readonly config: RuntimeConfig;
  /** Which start it is of, for the provider's own mark. */
  readonly token: string;
  readonly template: string;
  /** Monotonic. */
  readonly startedAt: number;
  readonly meta: Map<string, string>;
  /** The screen, oldest line first. */
  readonly screen: string[];
  /** What it was told, in order, prompts included. */
  readonly told: string[];
  /** A text that stands in its input box. */
  draft: string;
  ready: boolean;
  prompted: boolean;
  /** A start-up question that only a person answers. */
  question: string | undefined;
  pending: PendingInteraction | undefined;
  /** Monotonic; Infinity: it hangs. */
  busyUntil: number;
  attached: number;
  /** Wall clock. */
  lastActivity: number;
  /** Its terminal lives, the program in it does not. */
  empty: boolean;
  ended: { readonly exit: ExitInfo; readonly lastLines: string } | undefined;
}

type Watcher = (event: RuntimeEvent) => void;

/** What becomes of a notification: for each time that it arrives, after how many milliseconds. */
export type Delivery = () => readonly number[];

/** The machine with the agents: the truth that controllers look at through their providers. */
export class SimRuntime {
  readonly #clock: SimClock;
  readonly #note: (what: string) => void;
  readonly #watchers = new Set<Watcher>();
  /** What runs, and screens of what ended, by name. */
  readonly sessions = new Map<string, AgentLife>();
  /** Everything that ever ran. */
  readonly lives: AgentLife[] = [];
  /** Request ids of questions that were answered, with how often. */
  readonly answers = new Map<string, number>();
  /** The server is gone, and nothing was started since. */
  gone: string | undefined;
  delivery: Delivery = () => [0];
  #questions = 0;

  constructor(clock: SimClock, note: (what: string) => void) {
    this.#clock = clock;
    this.#note = note;
  }

  living(name: string): AgentLife | undefined {
    const life = this.sessions.get(name);
    return life?.ended ? undefined : life;
  }

  allLiving(): readonly AgentLife[] {
    return [...this.sessions.values()].filter((life) => !life.ended);
  }

  create(name: string, config: RuntimeConfig): AgentLife {
    this.gone = undefined;
    const life: AgentLife = {
      number: this.lives.length + 1,
      name,
      config,
      token: config.env[META_INSTANCE_TOKEN] ?? '',
      template: config.env['GC_TEMPLATE'] ?? '',
      startedAt: this.#clock.monotonic(),
      meta: new Map(Object.entries(config.env).filter(([, value]) => value !== '')),
      screen: ['welcome'],
      told: [],
      draft: '',
      ready: false,
      prompted: false,
      question: undefined,
      pending: undefined,
      busyUntil: 0,
      attached: 0,
      lastActivity: this.#clock.now(),
      empty: false,
      ended: undefined,
    };
    this.lives.push(life);
    this.sessions.set(name, life);
    return life;
  }

  /** It ends by itself; its last screen stays. */
  ends(life: AgentLife, exit: ExitInfo, lastLines = ''): void {
    if (life.ended || this.sessions.get(life.name) !== life) return;
    life.ended = { exit, lastLines };
    this.#note(`  agent ${life.name}#${life.number} ends ${JSON.stringify(exit)} ${lastLines}`);
    this.#emit({ kind: 'exited', name: life.name, exit, lastLines });
  }

  remove(life: AgentLife): void {
    if (this.sessions.get(life.name) === life) this.sessions.delete(life.name);
    life.ended ??= { exit: { signal: 'SIGKILL' }, lastLines: '' };
  }

  /** The server or host goes, with everything in it. */
  lose(what: string): void {
    this.#note(`  all is lost: ${what}`);
    for (const life of [...this.sessions.values()]) this.remove(life);
    this.gone = what;
    this.#emit({ kind: 'infrastructure-gone', what });
  }

  tell(life: AgentLife, text: string): void {
    life.told.push(text);
    life.screen.push(`> ${text}`, 'done');
    life.draft = '';
    this.#note(`  agent ${life.name}#${life.number} is told "${text}"`);
    this.shows(life);
  }

  shows(life: AgentLife): void {
    life.lastActivity = this.#clock.now();
    this.#emit({ kind: 'activity', name: life.name });
  }

  attach(life: AgentLife, clients: number): void {
    life.attached = clients;
    this.#emit({ kind: clients > 0 ? 'attached' : 'detached', name: life.name });
  }

  asks(life: AgentLife, dice: Dice): void {
    this.#questions += 1;
    life.pending = {
      request_id: `q${this.#questions}`,
      kind: dice.pick(['approval', 'question']),
      prompt: `may I, ${life.name}?`,
      options: ['yes', 'no'],
      metadata: { tool: 'Bash', input: 'ls' },
    };
    this.#note(`  agent ${life.name}#${life.number} asks ${life.pending.request_id}`);
    life.lastActivity = this.#clock.now();
    this.#emit({ kind: 'changed', name: life.name });
  }

  answered(life: AgentLife, id: string): void {
    this.answers.set(id, (this.answers.get(id) ?? 0) + 1);
    life.pending = undefined;
    this.shows(life);
  }

  isBusy(life: AgentLife): boolean {
    return (
      life.busyUntil > this.#clock.monotonic() || life.pending !== undefined || life.question !== undefined
    );
  }

  observation(life: AgentLife): Observation {
    const { ended } = life;
    return {
      name: life.name,
      liveness: ended ? { kind: 'exited', ...ended } : { kind: 'running', pid: life.number },
      attached: ended ? 0 : life.attached,
      lastActivity: life.lastActivity,
      processNames: ended ? [] : ['sh', ...(life.empty ? [] : life.config.processNames)],
      meta: Object.fromEntries(life.meta),
    };
  }

  screenOf(life: AgentLife): string {
    const question = life.pending?.prompt ?? life.question;
    return [...life.screen, ...(question === undefined ? [] : [question]), `> ${life.draft}`].join('\n');
  }

  watch(watcher: Watcher, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#watchers.add(watcher);
    signal.addEventListener('abort', () => this.#watchers.delete(watcher), { once: true });
  }

  #emit(event: RuntimeEvent): void {
    for (const afterMs of this.delivery()) {
      if (afterMs === 0) this.#push(event);
      else void this.#clock.sleep(afterMs).then(() => this.#push(event));
    }
  }

  #push(event: RuntimeEvent): void {
    for (const watcher of [...this.#watchers]) watcher(event);
  }
}
