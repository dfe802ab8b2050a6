import type { Agent, City } from '../config/city.ts';
import type { Survey } from '../runtime/provider.ts';
import type { SessionRecord } from '../session/record.ts';
import type { CityParts } from './city-parts.ts';
import { DemandWatch, type SeenDemand } from './demand.ts';
import type { LivedTime } from './lived-time.ts';
import { PoolCommands } from './pool-commands.ts';
import { PoolHooks } from './pool-hooks.ts';
import type { RunCommand } from './run-command.ts';
import { ScaleChecks } from './scale-checks.ts';

export interface PoolKeeperOptions {
  readonly parts: Pick<CityParts, 'db' | 'env' | 'clock' | 'log'>;
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

  constructor(options: PoolKeeperOptions) {
    const { parts, time, run, signal, poke, complain } = options;
    const commands = new PoolCommands(parts.env, run, signal);
    this.#checks = new ScaleChecks({
      time,
      run: (city: City, agent: Agent, command: string, timeoutMs: number) =>
        commands.run({ city, agent, command, timeoutMs }),
      changed: poke,
      progressed: (template) => this.#demand.progressed(template),
      complain: (template, what) => complain(`scale-check:${template}`, what),
    });
    this.#demand = new DemandWatch({
      beads: parts.db.beads,
      changeMarker: () => parts.db.changeMarker(),
      checks: this.#checks,
      now: () => parts.clock.now(),
    });
    this.#hooks = new PoolHooks({ db: parts.db, commands, log: (line) => parts.log(line), released: poke });
  }

  look(city: City, records: readonly SessionRecord[]): Promise<SeenDemand> {
    return this.#demand.look(city, records);
  }

  passed(city: City, survey: Survey, records: readonly SessionRecord[]): void {
    this.#hooks.passed(city, survey, records);
  }

  /** A session of this template ended. */
  ended(template: string, hasFinished: boolean): void {
    this.#checks.ended(template, hasFinished);
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
