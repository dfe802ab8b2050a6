import { existsSync } from 'node:fs';
import { RevisionConflictError } from '../beads/store.ts';
import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { codeOf, messageOf } from '../platform/errors.ts';
import { type MachineState, readMachine } from '../platform/machine.ts';
import type { ConfigState, ReloadReply, StopReply } from './city-api.ts';
import { CityEngine } from './city-engine.ts';
import type { CityParts } from './city-parts.ts';
import { stopCity } from './city-stop.ts';
import { ConfigReloader } from './config-reload.ts';
import { type ConfigWatch, watchConfig } from './config-watch.ts';
import { checkImages } from './image-check.ts';
import { InboxKeeper } from './inbox-keeper.ts';
import { JournalKeeper } from './journal-keeper.ts';
import type { TimeGap } from './lived-time.ts';
import { CityPasses } from './passes.ts';
import { PoolKeeper } from './pool-keeper.ts';
import { machineIsPressed } from './pressure.ts';
import { followProvider } from './provider-events.ts';
import { QuestionKeeper } from './question-keeper.ts';
import { type RunCommand, runCommand } from './run-command.ts';
import type { Tenure } from './tenure.ts';
import { creditGap } from './time-credit.ts';
import { Troubles } from './troubles.ts';
import { WorkKeeper } from './work-keeper.ts';

/** After a pass that failed (the store is full, say), before the next one. */
const FAILED_PASS_PAUSE_MS = 5_000;
/** While it is not certain whether this controller may act, before the next look. */
const TENURE_PAUSE_MS = 500;

/** What a runtime takes from the machine by itself. */
export interface Surroundings {
  readonly watchConfig: typeof watchConfig;
  /** Sessions come up one at a time then. */
  readonly isPressed: () => boolean;
  readonly machine: () => MachineState;
  /** Commands of the config that are no agents. */
  readonly runCommand: RunCommand;
  /** Absent: the city's own lock is all that is needed. */
  readonly tenure: Tenure;
}

/**
 * Owns one city: looks, decides, acts, until it is stopped or let go. Everything is level-triggered: events and timers
 * only say when to look again. Whoever makes one holds the city's lock.
 */
export class CityRuntime {
  readonly parts: CityParts;
  readonly engine: CityEngine;
  readonly troubles: Troubles;
  readonly inbox: InboxKeeper;
  readonly questions: QuestionKeeper;
  readonly #journal: JournalKeeper;
  readonly #work: WorkKeeper;
  readonly #passes: CityPasses;
  readonly #pools: PoolKeeper;
  readonly #reloader: ConfigReloader;
  readonly #lifetime = new AbortController();
  readonly #background: Promise<unknown>[] = [];
  #watch: ConfigWatch | undefined;
  #startedAt = 0;
  #gap: TimeGap | undefined;
  #poked = false;
  #wakeLoop: () => void = () => undefined;
  #configTouched = false;
  #loop: Promise<void> = Promise.resolve();
  #stopping: Promise<StopReply> | undefined;
  #loopOver = false;
  readonly #over = new AbortController();

  readonly #watchConfigFiles: typeof watchConfig;
  readonly #tenure: Tenure | undefined;

  constructor(parts: CityParts, surroundings: Partial<Surroundings> = {}) {
    this.parts = parts;
    this.#watchConfigFiles = surroundings.watchConfig ?? watchConfig;
    this.#tenure = surroundings.tenure;
    this.troubles = new Troubles(parts.log);
    const machine = surroundings.machine ?? readMachine;
    this.engine = new CityEngine(
      parts,
      {
        poke: () => this.#look(),
        trouble: (error) => this.troubles.note(error),
        gap: (gap) => this.#noticeGap(gap),
      },
      machine,
    );
    this.#pools = new PoolKeeper({
      parts,
      time: this.engine.time,
      run: surroundings.runCommand ?? runCommand,
      signal: this.#lifetime.signal,
      poke: () => this.#look(),
      complain: (key, what) =>
        what === undefined ? this.troubles.clear(key) : this.troubles.noteText(key, what),
    });
    this.#passes = new CityPasses(
      this.engine,
      surroundings.isPressed ?? (() => machineIsPressed(machine())),
      this.#pools,
    );
    this.#reloader = new ConfigReloader(this.engine);
    this.inbox = new InboxKeeper(
      this.engine,
      () => this.#look(),
      (error) => this.troubles.note(error, 'inbox'),
    );
    this.questions = new QuestionKeeper({
      engine: this.engine,
      poke: () => this.#look(),
      say: (record, id, text) => this.inbox.say(record, id, text),
      trouble: (error) => this.troubles.note(error, 'questions'),
      complain: (key, what) =>
        what === undefined ? this.troubles.clear(key) : this.troubles.noteText(key, what),
    });
    this.#journal = new JournalKeeper(this.engine, (error) => this.troubles.note(error, 'journal'));
    this.#work = new WorkKeeper(parts, {
      changed: () => this.#look(),
      trouble: (error) =>
        error === undefined ? this.troubles.clear('work') : this.troubles.noteText('work', messageOf(error)),
    });
  }

  /** Milliseconds since the epoch; 0 before `start`. */
  get startedAt(): number {
    return this.#startedAt;
  }

  get configState(): ConfigState {
    return this.#reloader.state;
  }

  get passes(): CityPasses {
    return this.#passes;
  }

  get stopping(): boolean {
    return this.#stopping !== undefined;
  }

  /** Aborts when the runtime has ended, by `stop` or `detach`. */
  get ended(): AbortSignal {
    return this.#over.signal;
  }

  /** Adopts what lives, makes the first plan, begins to carry it out. Resolves when that has begun; starts go on. */
  async start(): Promise<void> {
    const { parts } = this;
    this.#startedAt = parts.clock.now();
    const { signal } = this.#lifetime;
    try {
      await checkImages(parts.provider, parts.city);
      await parts.db.commit({ events: [{ type: 'controller.started', actor: CONTROLLER_ACTOR }] });
      this.#background.push(this.engine.time.heartbeat(signal), this.#followProvider(signal));
      this.#watch = this.#watchConfig(signal);
      this.#journal.start();
      this.#work.start();
      await this.#pass();
    } catch (error) {
      await this.#end();
      throw error;
    }
    this.#loop = this.#run(signal);
  }

  /** A full pass, now: somebody says that something has changed, perhaps also what scale checks look at. */
  poke(): void {
    this.#pools.recheck();
    this.#look();
  }

  #look(): void {
    this.#poked = true;
    this.#wakeLoop();
  }

  /** Reads the city file again; a second request while one is under way gets the same answer. */
  async reload(): Promise<ReloadReply> {
    const reply = await this.#reloader.reload();
    if (reply.kind === 'applied') this.#watch?.rewatch(this.engine.city);
    if (reply.kind === 'rejected') this.parts.log(`config reload: ${reply.error} (keeping old config)`);
    if (reply.kind === 'applied') this.parts.log(reply.message);
    this.engine.forgetResolved();
    this.#look();
    return reply;
  }

  /** Ends every session, gracefully, then the runtime, whatever came of it. Repeated calls get the first one's answer. */
  stop(progress?: (line: string) => void): Promise<StopReply> {
    this.#stopping ??= this.#stop(progress).catch(async (error: unknown) => {
      // Half of it has ended already: one that lives on and does nothing would keep others from the city.
      await this.#end();
      throw error;
    });
    return this.#stopping;
  }

  /** Ends the runtime and leaves every session running, to be adopted by the next controller. A stop that has begun is done first. */
  async detach(): Promise<void> {
    // What came of it is told to whoever asked for it.
    await this.#stopping?.catch(() => undefined);
    await this.#end();
  }

  async #stop(progress?: (line: string) => void): Promise<StopReply> {
    await this.#endLoop();
    await this.inbox.end();
    await this.questions.end();
    await this.engine.executor.drainAll('shutdown');
    const records = await this.parts.store.list('open');
    const reply = await stopCity(
      {
        context: this.engine.executor.context,
        desired: await this.engine.desired(records),
        shutdownTimeoutMs: this.engine.city.daemon.shutdownTimeoutMs,
        ...(progress ? { progress } : {}),
      },
      this.#lifetime.signal,
    );
    if (reply.left.length === 0) await this.parts.tidy().catch((error: unknown) => this.troubles.note(error));
    await this.parts.db.commit({ events: [{ type: 'controller.stopped', actor: CONTROLLER_ACTOR }] });
    await this.#end();
    return reply;
  }

  async #end(): Promise<void> {
    await this.#endLoop();
    await this.inbox.end();
    await this.questions.end();
    await this.engine.executor.drainAll('shutdown');
    this.#lifetime.abort();
    await Promise.allSettled([...this.#background, this.#pools.end(), this.#journal.end(), this.#work.end()]);
    this.#over.abort();
  }

  async #endLoop(): Promise<void> {
    this.#loopOver = true;
    this.#wakeLoop();
    await this.#loop;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!this.#loopOver && !signal.aborted) {
      await this.#rest(signal);
      if (this.#loopOver || signal.aborted) return;
      if (this.#configTouched) {
        this.#configTouched = false;
        await this.reload().catch((error: unknown) => this.troubles.note(error));
      }
      await this.#pass();
    }
  }

  async #pass(): Promise<void> {
    this.#poked = false;
    if (this.#halted()) return;
    try {
      this.engine.time.lived();
      await this.#creditGap();
      await this.#passes.pass();
      await this.inbox.passed(this.#passes.sighting);
      await this.questions.passed(this.#passes.sighting);
      this.#journal.passed(this.#passes.sighting);
      this.#work.passed(this.#passes.sighting?.records ?? []);
      this.troubles.clearPass();
    } catch (error) {
      if (error instanceof RevisionConflictError) this.#look();
      else this.#passFailed(error);
    }
  }

  #passFailed(error: unknown): void {
    this.troubles.note(error, 'pass');
    this.#passes.retryIn(FAILED_PASS_PAUSE_MS);
  }

  /** What was removed under us is not made again, and nothing is written into what is not there. */
  #halted(): boolean {
    if (this.#tenure && !this.#tenure.held()) {
      this.troubles.noteText(
        'tenure',
        'the right to control the city is in doubt: nothing is done meanwhile',
      );
      this.#passes.retryIn(TENURE_PAUSE_MS);
      return true;
    }
    this.troubles.clear('tenure');
    if (existsSync(this.parts.db.file)) return false;
    this.troubles.noteText(
      'store-removed',
      `${this.parts.gcDir} was removed under the running city: nothing is written any more, sessions are left alone`,
    );
    return true;
  }

  /** Until a poke, or until the plan says that time alone changes something. */
  async #rest(signal: AbortSignal): Promise<void> {
    if (this.#poked || this.#loopOver) return;
    const nap = new AbortController();
    const wake = () => nap.abort();
    this.#wakeLoop = wake;
    signal.addEventListener('abort', wake, { once: true });
    try {
      await this.parts.clock.sleep(this.#passes.restMs(), nap.signal);
    } catch {
      // Woken early, which is what naps are for.
    } finally {
      signal.removeEventListener('abort', wake);
      this.#wakeLoop = () => undefined;
    }
  }

  #noticeGap(gap: TimeGap): void {
    this.#gap = {
      stoppedMs: (this.#gap?.stoppedMs ?? 0) + gap.stoppedMs,
      wallShiftMs: (this.#gap?.wallShiftMs ?? 0) + gap.wallShiftMs,
    };
    this.#passes.gapSeen();
    this.#look();
  }

  async #creditGap(): Promise<void> {
    const gap = this.#gap;
    if (!gap) return;
    this.#gap = undefined;
    const { db, store, clock, log } = this.parts;
    const beads = creditGap(await store.list('open'), gap.wallShiftMs, clock.now());
    if (beads.length > 0) await db.commit({ beads });
    await this.inbox.credit(gap.wallShiftMs);
    this.engine.memory.clockShifted(gap.wallShiftMs);
    await this.#passes.waits.credit(gap.wallShiftMs);
    log(`time went on without this process (${Math.round(gap.wallShiftMs / 1_000)}s): deadlines were moved`);
  }

  #followProvider(signal: AbortSignal): Promise<void> {
    const { provider, clock } = this.parts;
    return followProvider(
      provider,
      this.engine.memory,
      clock,
      {
        died: () => this.#look(),
        attachment: () => this.#look(),
        infrastructureLost: (what) => {
          this.engine.lost();
          this.#passes.infrastructureLost(what);
          this.#look();
        },
        activity: (name) => {
          this.inbox.activity(name);
          this.questions.activity(name);
          this.#journal.activity(name);
          if (this.#passes.waitsForPerson(name)) this.#look();
        },
        failed: (error) => this.troubles.note(error, 'watch'),
      },
      signal,
    );
  }

  #watchConfig(signal: AbortSignal): ConfigWatch | undefined {
    try {
      return this.#watchConfigFiles(this.engine.city, signal, {
        changed: () => {
          this.#configTouched = true;
          this.#look();
        },
        failed: (error) => this.troubles.note(error, 'config-watch'),
      });
    } catch (error) {
      this.troubles.noteText(
        'config-watch',
        `cannot watch the config, reload by hand: ${messageOf(error)} (${codeOf(error) ?? ''})`,
      );
      return undefined;
    }
  }
}
