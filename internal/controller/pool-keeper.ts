import type { Agent, City } from '../config/city.ts';
import type { Survey } from '../runtime/provider.ts';
import type { SessionRecord } from '../session/record.ts';
import type { CityParts } from './city-parts.ts';
import { DemandWatch, type SeenDemand } from './demand.ts';
import type { LivedTime } from './lived-time.ts';
import type { Death } from './plan.ts';
import { PoolCommands } from './pool-commands.ts';
import { PoolHooks } from './pool-hooks.ts';
import type { RunCommand } from './run-command.ts';
import { ScaleChecks } from './scale-checks.ts';
import { VainLives } from './vain-lives.ts';

export interface PoolKeeperOptions {
  readonly parts: Pick<CityParts, 'db' | 'work' | 'env' | 'clock' | 'log'>;
  readonly time: LivedTime;
  readonly run: RunCommand;
  /** Ends every command that runs. */
  readonly signal: AbortSignal;
  readonly poke: () => void;
  /** Trouble for people, until it is over. */
  readonly complain: (key: string, what: string | undefined) => void;
}

/** Everything that a controller does for pools and on-demand sessions beside deciding. */
export class PoolKeeper {
  readonly #demand: DemandWatch;
  readonly #checks: ScaleChecks;
  readonly #hooks: PoolHooks;
  readonly #vain: VainLives;

  constructor(options: PoolKeeperOptions) {
    const { parts, time, run, signal, poke, complain } = options;
    const commands = new PoolCommands(parts.env, run, signal);
    this.#checks = new ScaleChecks({
      time,
      run: (city: City, agent: Agent, { text, ...how }) =>
        commands.run({ city, agent, command: text, ...how }),
      changed: poke,
      progressed: (template) => this.#demand.progressed(template),
      complain: (key, what) => complain(`scale-check:${key}`, what),
    });
    this.#vain = new VainLives((template, what) => complain(`pool-in-vain:${template}`, what));
    this.#demand = new DemandWatch({
      beads: parts.work,
      changeMarker: () => parts.work.changeMarker(),
      checks: this.#checks,
      now: () => parts.clock.now(),
      progressed: (template) => this.#vain.progressed(template),
    });
    this.#hooks = new PoolHooks({
      db: parts.db,
      work: parts.work,
      commands,
      log: (line) => parts.log(line),
      released: poke,
    });
  }

  look(city: City, records: readonly SessionRecord[]): Promise<SeenDemand> {
    if (!this.#vain.isQuiet)
      this.#vain.keepOnly(new Set(city.agents.map(({ qualifiedName }) => qualifiedName)));
    return this.#demand.look(city, records);
  }

  passed(city: City, survey: Survey, records: readonly SessionRecord[]): void {
    this.#hooks.passed(city, survey, records);
  }

  /** A life of this session ended. */
  ended(record: SessionRecord, death: Death): void {
    this.#checks.ended(record.template, death.cause === 'finished');
    this.#vain.ended(record, death);
  }

  /** Somebody says that something has changed: scale checks are asked again. */
  recheck(): void {
    this.#checks.recheck();
  }

  /** When a check that was asked for again may run, lived milliseconds. */
  nextCheckAt(): number | undefined {
    return this.#checks.nextAt();
  }

  /** After the signal: resolves when no command of it runs any more. */
  async end(): Promise<void> {
    await Promise.all([this.#checks.end(), this.#hooks.end()]);
  }
}
