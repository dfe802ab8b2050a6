import type { WorkBeads, WorkTransaction, WorkView } from '../work.ts';
import { SqliteBeadStore } from './bead-store.ts';
import type { CityDatabase } from './city-database.ts';

/** A city's work in its own database: a change and its events are one transaction of it. */
export class SqliteWork extends SqliteBeadStore implements WorkBeads {
  readonly kind = 'database';
  readonly file: string;
  readonly cityPrefix = undefined;
  readonly #city: CityDatabase;

  constructor(city: CityDatabase) {
    super(city, city.beadTable, city.clock);
    this.#city = city;
    this.file = city.file;
  }

  look<T>(read: (view: WorkView) => T): Promise<T> {
    return this.#city.read(() => read(this.#city.beadTable));
  }

  transaction<T>(work: (tx: WorkTransaction) => T): Promise<T> {
    return this.#city.transaction(work);
  }

  changeMarker(): string {
    return this.#city.changeMarker();
  }
}
