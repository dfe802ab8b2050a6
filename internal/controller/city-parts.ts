import type { CityDatabase } from '../beads/sqlite/city-database.ts';
import type { WorkBeads } from '../beads/work.ts';
import type { City } from '../config/city.ts';
import type { LoadResult } from '../config/load-city.ts';
import type { Clock } from '../platform/clock.ts';
import type { Ids } from '../platform/ids.ts';
import type { Environment } from '../platform/paths.ts';
import type { Provider } from '../runtime/provider.ts';
import type { SessionLogStore } from '../session/log/session-log.ts';
import type { SessionStore } from '../session/session-store.ts';
import type { TranscriptReader } from '../session/transcript/transcript-reader.ts';
import type { CityStatus } from './city-api.ts';
import type { TemplateResolver } from './template-resolve.ts';

/** One opened city: everything that works on it, put together once. */
export interface CityParts {
  readonly city: City;
  /** Why the city file as it is now is not in force; `city` is the last good one then. */
  readonly configError?: string;
  /** `<city>/.gc`. */
  readonly gcDir: string;
  readonly env: Environment;
  /** What agents call as `gc`, absolute. */
  readonly program: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly db: CityDatabase;
  readonly store: SessionStore;
  /** Where the city's work is kept. Session records, nudges and questions are always in `db`. */
  readonly work: WorkBeads;
  readonly provider: Provider;
  readonly providerInfo: CityStatus['provider'];
  /** One per agent program whose conversations can be read. */
  readonly transcripts: readonly TranscriptReader[];
  /** The sessions' durable logs, `<city>/.gc/sessions.db`: opened once, when somebody first needs them. */
  readonly logs: () => Promise<SessionLogStore>;
  readonly logFile: string;
  /** Reads the city file again. */
  load(): Promise<LoadResult>;
  /** After a stop that left nothing: takes away what only served the city's sessions. */
  tidy(): Promise<unknown>;
  /** One line for the log of whoever runs the city. */
  log(line: string): void;
  resolver(city: City): TemplateResolver;
}
