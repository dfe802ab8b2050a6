import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../platform/clock.ts';
import { FakeClock } from '../../platform/fake-clock.ts';
import { seededIds } from '../../platform/ids.ts';
import type { MachineState } from '../../platform/machine.ts';
import { AutoProvider } from '../../runtime/auto/auto-provider.ts';
import { FakeProvider } from '../../runtime/fake.ts';
import { openSessionLogStore } from '../../session/log/sqlite/session-log-store.ts';
import type { SessionRecord } from '../../session/record.ts';
import { toSessionRecord } from '../../session/record-codec.ts';
import { CityEngine } from '../city-engine.ts';
import { CityRuntime } from '../city-runtime.ts';
import type { ConfigWatchEvents } from '../config-watch.ts';
import { LocalCityApi } from '../local-city-api.ts';
import { type OpenedCity, openCity } from '../open-city.ts';
import type { RunCommand } from '../run-command.ts';
import { type Faults, MortalClock, mortalProvider } from './mortal.ts';

export interface HarnessOptions {
  readonly seed?: number;
  readonly faults?: Faults;
  /** Instead of real processes. */
  readonly runCommand?: RunCommand;
  /** A second provider for agents with `session: acp`; every controller's router is a new one, which knows no routes. */
  readonly acp?: (clock: Clock) => FakeProvider;
  /** What the city believes of its machine. */
  readonly machine?: () => MachineState;
}

/** One city in a folder of its own, on a fake clock and the fake provider, whose controllers come and go. */
export class CityHarness {
  readonly dir = mkdtempSync(join(tmpdir(), 'gc-city-'));
  readonly clock = new FakeClock();
  readonly provider: FakeProvider;
  readonly acp: FakeProvider | undefined;
  readonly lines: string[] = [];
  readonly #seed: number;
  readonly #faults: Faults | undefined;
  readonly #runCommand: RunCommand | undefined;
  /** Whether the controller has the right to act on the city. */
  mayAct = true;
  readonly #machine: (() => MachineState) | undefined;
  #mortalClock: MortalClock | undefined;
  /** Of the controller that runs, or ran last: its process was killed. */
  killed = false;
  #generation = 0;
  #isUp = false;
  #watch: ConfigWatchEvents | undefined;
  #opened: OpenedCity | undefined;
  #runtime: CityRuntime | undefined;
  #api: LocalCityApi | undefined;

  constructor(yaml: string, options: HarnessOptions = {}) {
    this.provider = new FakeProvider(this.clock);
    this.acp = options.acp?.(this.clock);
    this.#seed = options.seed ?? 1;
    this.#faults = options.faults;
    this.#runCommand = options.runCommand;
    this.#machine = options.machine;
    this.writeConfig(yaml);
  }

  writeConfig(yaml: string): void {
    writeFileSync(join(this.dir, 'city.yaml'), yaml);
  }

  /** The watcher saw something. */
  touchConfig(): void {
    this.#watch?.changed();
  }

  get city(): OpenedCity {
    if (!this.#opened) throw new Error('the city is not open');
    return this.#opened;
  }

  get runtime(): CityRuntime {
    if (!this.#runtime) throw new Error('no controller runs');
    return this.#runtime;
  }

  get api(): LocalCityApi {
    const runtime = this.runtime;
    this.#api ??= new LocalCityApi({
      engine: runtime.engine,
      runtime,
      controller: { running: true, pid: 1, mode: 'standalone' },
      actor: 'human',
    });
    return this.#api;
  }

  async open(role: 'controller' | 'visitor'): Promise<OpenedCity> {
    this.#generation += 1;
    this.killed = false;
    this.#isUp = false;
    const clock = new MortalClock(this.clock);
    this.#mortalClock = clock;
    const own = this.#faults
      ? mortalProvider(this.provider, this.#faults, clock, () => this.kill(clock))
      : this.provider;
    const provider = this.acp ? new AutoProvider({ fallback: own, acp: this.acp, clock }) : own;
    this.#opened = await openCity({
      cityDir: this.dir,
      env: { PATH: process.env['PATH'], HOME: this.dir, TMPDIR: this.dir, GC_SESSION: 'fake' },
      clock,
      ids: seededIds(`${this.#seed}:${this.#generation}`),
      role,
      program: '/usr/bin/gc',
      makeProvider: async () => ({ provider }),
      // Loaded already: loading takes real time, which fake time would run away from.
      openLogs: (file, clock, ids) => openSessionLogStore(file, { clock, ids }),
      log: (line) => this.lines.push(line),
    });
    return this.#opened;
  }

  /** A controller comes up. */
  async up(): Promise<CityRuntime> {
    const opened = await this.open('controller');
    const runtime = new CityRuntime(opened, {
      watchConfig: (_city, _signal, events) => {
        this.#watch = events;
        return { rewatch: () => undefined };
      },
      isPressed: () => false,
      ...(this.#machine ? { machine: this.#machine } : {}),
      ...(this.#runCommand ? { runCommand: this.#runCommand } : {}),
      tenure: { held: () => this.mayAct },
    });
    this.#runtime = runtime;
    this.#api = undefined;
    await runtime.start();
    this.#isUp = true;
    return runtime;
  }

  /** The city as a command sees it when no controller lives. */
  async visitor(): Promise<LocalCityApi> {
    const opened = await this.open('visitor');
    const engine = new CityEngine(opened, { poke: noop, trouble: noop, gap: noop });
    return new LocalCityApi({ engine, controller: { running: false }, actor: 'human' });
  }

  /** `kill -9` of the controller: nothing of it goes on, nothing of it is cleaned up. */
  kill(clock = this.#mortalClock): void {
    if (!clock || clock.dead || clock !== this.#mortalClock) return;
    clock.dead = true;
    this.killed = true;
    this.#opened?.db.close();
    this.#opened = undefined;
    this.#runtime = undefined;
  }

  /** Everything is stopped, and goes on after so long. */
  freeze(ms: number): void {
    if (this.#mortalClock) this.#mortalClock.frozenMs += ms;
  }

  /** The time that the controller reads. */
  now(): number {
    return this.#mortalClock?.now() ?? this.clock.now();
  }

  /** The controller ends and leaves its sessions. */
  async down(): Promise<void> {
    const runtime = this.#runtime;
    this.#runtime = undefined;
    if (runtime) await this.settled(runtime.detach());
    await this.#opened?.close();
    this.#opened = undefined;
  }

  async end(): Promise<void> {
    await this.down();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Lets fake time and real work go on until `done`. @throws when it does not come within `limitMs` of fake time */
  async until<T>(
    done: () => T | undefined | false | Promise<T | undefined | false>,
    limitMs = 120_000,
  ): Promise<T> {
    for (let passed = 0; ; passed += STEP_MS) {
      await realWork();
      const found = await done();
      if (found) return found;
      if (passed > limitMs) throw new Error(`did not come about within ${limitMs} ms of fake time: ${done}`);
      await this.clock.advance(STEP_MS);
    }
  }

  /** The result of work that needs time to pass. */
  async settled<T>(work: Promise<T>): Promise<T> {
    let over: { value: T } | { error: unknown } | undefined;
    work.then(
      (value) => {
        over = { value };
      },
      (error: unknown) => {
        over = { error };
      },
    );
    const found = await this.until(() => over);
    if ('error' in found) throw found.error;
    return found.value;
  }

  /** So much fake time passes, with all the work that it brings. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      await realWork();
      await this.clock.advance(Math.min(STEP_MS, ms - passed));
    }
    await realWork();
  }

  async running(count: number): Promise<void> {
    await this.until(async () => (await this.records('active')).length === count);
  }

  /** A controller is up: its first pass is over. */
  get isUp(): boolean {
    return this.#isUp && !this.killed;
  }

  /** Records as the open city would read them now; none when it is not open. */
  recordsNow(): readonly SessionRecord[] {
    const found = this.#opened?.db.beadTable.list({ type: 'session' }) ?? [];
    return found.map(toSessionRecord);
  }

  async records(state?: string) {
    const all = await this.city.store.list('open');
    return state === undefined ? all : all.filter((record) => record.state === state);
  }

  /** The open record of a session. @throws where there is none */
  async record(name: string): Promise<SessionRecord> {
    const found = (await this.records()).find((record) => record.sessionName === name);
    if (!found) throw new Error(`no session ${name}`);
    return found;
  }

  /** Starts of a name so far. */
  starts(name?: string): number {
    return this.provider.log.count('Start', name);
  }

  async eventTypes(): Promise<string[]> {
    return (await this.city.db.events.list({})).map((event) => event.type);
  }
}

const STEP_MS = 100;
const noop = () => undefined;

/** Promises and file work that is under way come to their end; only time stands still. */
async function realWork(): Promise<void> {
  for (let quiet = 0; quiet < QUIET_ROUNDS; ) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    const atWork = process.getActiveResourcesInfo().some((resource) => FILE_WORK.test(resource));
    quiet = atWork ? 0 : quiet + 1;
  }
}

const QUIET_ROUNDS = 6;

/** Requests to files, and the closing of one. */
const FILE_WORK = /^(?:FSReq|CloseReq|FileHandle)/;

/** A city of always-wanted sessions of these agents. */
export function cityYaml(
  agents: readonly (string | readonly [name: string, lines: string])[],
  more = '',
): string {
  const named = agents.map((agent) => (typeof agent === 'string' ? ([agent, ''] as const) : agent));
  return [
    'workspace: { name: test }',
    more,
    'agents:',
    ...named.map(([name, lines]) => `  - name: ${name}\n    start_command: run-${name}\n${indented(lines)}`),
    'named_sessions:',
    ...named.map(([name]) => `  - { template: ${name}, mode: always }`),
    '',
  ].join('\n');
}

/** A city of always-wanted sessions of one program, which is known by its process. */
export function programYaml(program: string, options: string, agents: readonly string[]): string {
  return [
    'workspace: { name: test }',
    'daemon: { patrol_interval: 1s }',
    'providers:',
    `  ${program}: { command: sh, ${options}, process_names: [demo-agent] }`,
    'agents:',
    ...agents.map((name) => `  - { name: ${name}, provider: ${program} }`),
    'named_sessions:',
    ...agents.map((name) => `  - { template: ${name}, mode: always }`),
    '',
  ].join('\n');
}

function indented(lines: string): string {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => `    ${line}\n`)
    .join('');
}
