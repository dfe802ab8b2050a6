import type { CityDatabase } from '../beads/sqlite/city-database.ts';
import type { City } from '../config/city.ts';
import type { NewEvent } from '../events/event.ts';
import type { Environment } from '../platform/paths.ts';
import { parseObject, parseTexts } from './json-text.ts';

/** What a city remembers of itself between controllers. */
export interface CityRecord {
  /** Where its sessions live; `undefined`: it never ran. */
  readonly provider: string | undefined;
  readonly tmuxSocket: string | undefined;
  /** The environment that `gc start` sent. */
  readonly env: Environment | undefined;
  /** The last config that was in force. */
  readonly city: City | undefined;
}

export interface CityRecordChanges {
  readonly provider: string;
  readonly tmuxSocket: string;
  readonly env: Environment;
  readonly city: City;
}

const PROVIDER = 'provider';
const TMUX_SOCKET = 'tmux_socket';
const ENVIRONMENT = 'environment';
const LAST_GOOD_CONFIG = 'last_good_config';

export async function readCityRecord(db: CityDatabase): Promise<CityRecord> {
  const state = await db.allState();
  return {
    provider: state[PROVIDER],
    tmuxSocket: state[TMUX_SOCKET],
    env: parseTexts(state[ENVIRONMENT]),
    city: readCity(state[LAST_GOOD_CONFIG]),
  };
}

export async function writeCityRecord(
  db: CityDatabase,
  changes: CityRecordChanges,
  events: readonly NewEvent[] = [],
): Promise<void> {
  await db.commit({
    events,
    state: {
      [PROVIDER]: changes.provider,
      [TMUX_SOCKET]: changes.tmuxSocket,
      [ENVIRONMENT]: JSON.stringify(changes.env),
      [LAST_GOOD_CONFIG]: cityText(changes.city),
    },
  });
}

/** Another config is in force. */
export async function writeLastGoodConfig(db: CityDatabase, city: City): Promise<void> {
  await db.commit({ state: { [LAST_GOOD_CONFIG]: cityText(city) } });
}

/** Everything that a config says, as one text. Where each value was written is not kept: the file has changed since. */
export function cityText(city: City): string {
  const { provenance: _provenance, ...data } = city;
  return JSON.stringify(data);
}

function readCity(text: string | undefined): City | undefined {
  const data = parseObject(text);
  // We wrote it ourselves, from a checked config; another version's is told by its missing parts.
  const isWhole = ['agents', 'packs', 'commands'].every((key) => Array.isArray(data?.[key]));
  if (!data || !isWhole || typeof data['daemon'] !== 'object') return undefined;
  return {
    ...(data as Omit<City, 'provenance'>),
    provenance: { positionOf: () => undefined, layerOf: () => undefined },
  };
}
