import { join } from 'node:path';
import { type CityDatabase, openCityDatabase } from '../beads/sqlite/city-database.ts';
import type { City } from '../config/city.ts';
import type { NewEvent } from '../events/event.ts';
import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { ensurePrivateDir } from '../platform/atomic-file.ts';
import type { Clock } from '../platform/clock.ts';
import { messageOf } from '../platform/errors.ts';
import type { Ids } from '../platform/ids.ts';
import { cityHash, type Environment } from '../platform/paths.ts';
import { canClose, canRoute } from '../runtime/provider.ts';
import { cityJournal } from '../session/journal/city-journal.ts';
import type { SessionLogStore } from '../session/log/session-log.ts';
import { SessionStore } from '../session/session-store.ts';
import { equipAgents } from './agent-files.ts';
import type { CityParts } from './city-parts.ts';
import { type CityRecord, readCityRecord, writeCityRecord } from './city-record.ts';
import { cityWithWork, workFor } from './city-work.ts';
import { lookPathIn } from './look-path.ts';
import { decideProvider, type MakeProvider } from './provider-decision.ts';
import { provideSystemPacks } from './system-packs.ts';
import { templateResolver } from './template-resolve.ts';
import type { FencedTenure } from './tenure.ts';
import { transcriptReaders } from './transcript-readers.ts';

type OpenLogs = (file: string, clock: Clock, ids: Ids) => SessionLogStore | Promise<SessionLogStore>;

export interface OpenCityOptions {
  /** The city's folder, absolute. */
  readonly cityDir: string;
  /** The caller's environment. A controller gives it to the city; a visitor uses the city's own where that is recorded. */
  readonly env: Environment;
  readonly clock: Clock;
  readonly ids: Ids;
  /** `visitor`: one command beside, or without, a controller. Only a controller changes what is recorded of the city. */
  readonly role: 'controller' | 'visitor';
  /** What agents call as `gc`: an absolute path. */
  readonly program: string;
  readonly makeProvider: MakeProvider;
  /** Opens the sessions' logs when they are first needed; `sessions.db` of the city unless told. */
  readonly openLogs?: OpenLogs;
  /** Read and checked already; otherwise it is read here. */
  readonly city?: City;
  /** The right to control the city, where more than its lock gives it. */
  readonly tenure?: FencedTenure | undefined;
  readonly log?: (line: string) => void;
}

export interface OpenedCity extends CityParts {
  /** Lets go of the database and of the provider's connections. Sessions are not touched. */
  close(): Promise<void>;
}

/**
 * Opens a city: its config, its database, the provider that its sessions live in (the recorded one while any lives).
 * With a broken config a visitor works with the last good one, so that what runs can be seen and stopped.
 * @throws GcError `config-invalid`, or what the store or the provider lacks
 */
export async function openCity(options: OpenCityOptions): Promise<OpenedCity> {
  const { cityDir, clock, ids } = options;
  const gcDir = join(cityDir, '.gc');
  ensurePrivateDir(gcDir);
  if (options.role === 'controller' && !options.city) {
    const { program, env, log = () => undefined } = options;
    await provideSystemPacks({ cityRoot: cityDir, program, env, log });
  }
  const db = openCityDatabase(join(gcDir, 'city.db'), clock, ids, cityJournal(ids));
  try {
    return await assemble(options, gcDir, db);
  } catch (error) {
    db.close();
    throw error;
  }
}

async function assemble(options: OpenCityOptions, gcDir: string, db: CityDatabase): Promise<OpenedCity> {
  const { clock, ids, program, role } = options;
  const record = await readCityRecord(db);
  const { city, error, choice, load } = await cityWithWork(options, record, db);
  const { provider, info, env, tidy, changes } = await decideProvider({
    city,
    gcDir,
    cityId: cityHash(city.root),
    env: options.env,
    role,
    record,
    clock,
    ids,
    makeProvider: options.makeProvider,
    tenure: options.tenure,
  });
  const log = options.log ?? (() => undefined);
  if (role === 'controller') {
    await writeCityRecord(db, { ...changes, city }, swapEvents(record, changes.provider));
    // Before anybody can ask what the agents are started with: the answer depends on these files.
    await equipAgents(city, { provider: info.name, program, env }, log);
  }
  const work = await workFor(options, db, choice, log);
  const beaconAt = clock.now();
  const lookPath = lookPathIn(city.root, env);
  const logFile = join(gcDir, 'sessions.db');
  const logs = new OpenedOnce(async () => (options.openLogs ?? openLogs)(logFile, clock, ids));
  const parts: CityParts = {
    city,
    ...(error === undefined ? {} : { configError: error }),
    gcDir,
    env,
    program,
    clock,
    ids,
    db,
    store: new SessionStore(db),
    work,
    provider,
    providerInfo: info,
    transcripts: transcriptReaders(city, env),
    logs: () => logs.get(),
    logFile,
    load,
    resolver: (loaded) =>
      templateResolver({
        city: loaded,
        env,
        lookPath,
        beaconAt,
        program,
        provider: info.name,
        isRouted: canRoute(provider) || info.name === 'fake' || info.name === 'fail',
      }),
    log,
    tidy,
  };
  return {
    ...parts,
    async close() {
      if (role === 'visitor') await tellLogs(parts).catch((error: unknown) => log(messageOf(error)));
      if (canClose(provider)) await provider.close();
      await logs.close();
      db.close();
    },
  };
}

/** Nothing lived in the old one any more. Source of type and text: Gas City. */
function swapEvents(record: CityRecord, provider: string): readonly NewEvent[] {
  if (record.provider === undefined || record.provider === provider) return [];
  const message = `${record.provider} → ${provider}`;
  return [{ type: 'provider.swapped', actor: CONTROLLER_ACTOR, message }];
}

/** The logs of the sessions are told by whoever changed them, unless a controller does it. Costs one look when nothing was. */
async function tellLogs(parts: CityParts): Promise<void> {
  const { db, city, log } = parts;
  if (db.isRemoved() || (await db.read(() => db.outbox.next(1))).length === 0) return;
  const { JournalPump } = await import('./journal-pump.ts');
  const trouble = (error: unknown) => log(messageOf(error));
  await new JournalPump({ parts, city: city.workspace.name, trouble }).deliver();
}

async function openLogs(file: string, clock: Clock, ids: Ids): Promise<SessionLogStore> {
  const { openSessionLogStore } = await import('../session/log/sqlite/session-log-store.ts');
  return openSessionLogStore(file, { clock, ids });
}

class OpenedOnce {
  readonly #open: () => Promise<SessionLogStore>;
  #store: Promise<SessionLogStore> | undefined;

  constructor(open: () => Promise<SessionLogStore>) {
    this.#open = open;
  }

  get(): Promise<SessionLogStore> {
    this.#store ??= this.#open().catch((error: unknown) => {
      this.#store = undefined;
      throw error;
    });
    return this.#store;
  }

  async close(): Promise<void> {
    const store = await this.#store?.catch(() => undefined);
    await store?.close();
  }
}
