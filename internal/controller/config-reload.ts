import type { BeadWrite } from '../beads/sqlite/city-database.ts';
import type { City, ConfigProblem } from '../config/city.ts';
import { cleared, crashPatch, readCrashState } from '../session/crash-policy.ts';
import { equipAgents } from './agent-files.ts';
import type { ConfigState, ReloadReply } from './city-api.ts';
import type { CityEngine } from './city-engine.ts';
import { cityText, writeLastGoodConfig } from './city-record.ts';
import type { Desired } from './model.ts';

/** Reads the city file again and puts it in force when it is good; otherwise the last good one stays. */
export class ConfigReloader {
  readonly #engine: CityEngine;
  #error: string | undefined;
  #running: Promise<ReloadReply> | undefined;

  constructor(engine: CityEngine) {
    this.#engine = engine;
  }

  get state(): ConfigState {
    const { file, revision } = this.#engine.city;
    return { file, revision, ...(this.#error === undefined ? {} : { error: this.#error }) };
  }

  /** Requests while one is under way share it and one that follows, so that none misses an edit. */
  async reload(): Promise<ReloadReply> {
    while (this.#running) await this.#running;
    this.#running = this.#reload().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #reload(): Promise<ReloadReply> {
    const engine = this.#engine;
    const loaded = await engine.parts.load();
    if (loaded.kind === 'invalid') return this.#reject(problemText(loaded.problems));
    const { city } = loaded;
    const before = engine.city;
    if (city.workspace.name !== before.workspace.name) {
      return this.#reject(
        `workspace name changed from "${before.workspace.name}" to "${city.workspace.name}": stop and start the city to apply`,
      );
    }
    this.#error = undefined;
    const { providerInfo, program, env, log } = engine.parts;
    await equipAgents(city, { provider: providerInfo.name, program, env }, log);
    // The revision alone may already be that of an edit that came while the file was being read.
    if (city.revision === before.revision && cityText(city) === cityText(before))
      return { kind: 'unchanged', revision: city.revision };
    await this.#apply(before, city);
    return { kind: 'applied', revision: city.revision, message: summary(before, city) };
  }

  #reject(error: string): ReloadReply {
    this.#error = error;
    return { kind: 'rejected', error };
  }

  /** Whoever fixed an agent need not wait out its quarantine. */
  async #apply(before: City, city: City): Promise<void> {
    const engine = this.#engine;
    const records = await engine.parts.store.list('open');
    const old = await engine.desired(records);
    engine.use(city);
    const fresh = await engine.desired(records);
    const limitsChanged =
      before.daemon.maxRestarts !== city.daemon.maxRestarts ||
      before.daemon.restartWindowMs !== city.daemon.restartWindowMs;
    const beads = records.flatMap((record): BeadWrite[] => {
      const name = record.sessionName;
      if (!limitsChanged && hashOf(old.get(name)) === hashOf(fresh.get(name))) return [];
      if (readCrashState(record.metadata, 0).level === 0 && record.state !== 'quarantined') return [];
      const metadata = {
        ...crashPatch(cleared()),
        ...(record.state === 'quarantined' ? { state: 'asleep' } : {}),
      };
      return [{ kind: 'update', id: record.id, patch: { metadata } }];
    });
    if (beads.length > 0) await engine.parts.db.commit({ beads });
    await writeLastGoodConfig(engine.parts.db, city);
  }
}

function hashOf(desired: Desired | undefined): string {
  if (!desired) return '';
  return desired.resolution === 'resolved' ? desired.coreHash : desired.problem.message;
}

/** The first error with its place, and how many more there are. */
export function problemText(problems: readonly ConfigProblem[]): string {
  const errors = problems.filter((problem) => problem.severity === 'error');
  const [first] = errors.length > 0 ? errors : problems;
  if (!first) return 'the config could not be read';
  const { position, message, hint } = first;
  const place = position ? `${position.file}:${position.line}:${position.column} ` : '';
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return `${place}${message}${hint ? `; ${hint}` : ''}${more}`;
}

function summary(before: City, city: City): string {
  const agents = counted('agent', before.agents.length, city.agents.length);
  const rigs = counted('rig', before.rigs.length, city.rigs.length);
  return `Config reloaded: ${agents}, ${rigs} (rev ${city.revision.slice(0, 12)})`;
}

function counted(noun: string, before: number, now: number): string {
  const difference = now - before;
  const change = difference === 0 ? '' : ` (${difference > 0 ? '+' : ''}${difference})`;
  return `${now} ${noun}s${change}`;
}
