import type { Clock } from '../../../platform/clock.ts';
import { GcError } from '../../../platform/errors.ts';
import type { HarnessRow, HarnessTable } from '../harness-table.ts';
import { UniqueNanos } from '../unique-nanos.ts';

/** A folder of logs has no place for registrations: a host over it runs the harnesses that it comes with, and no others. */
export class FixedHarnessTable implements HarnessTable {
  readonly #folder: string;
  readonly #nanos: UniqueNanos;
  readonly #reserved = new Set<string>();

  constructor(folder: string, clock: Pick<Clock, 'now'>) {
    this.#folder = folder;
    this.#nanos = new UniqueNanos(() => clock.now());
  }

  find(): undefined {
    return undefined;
  }

  async list(): Promise<readonly HarnessRow[]> {
    return [];
  }

  isReserved(name: string): boolean {
    return this.#reserved.has(name);
  }

  async reserve(names: readonly string[]): Promise<void> {
    for (const name of names) this.#reserved.add(name);
  }

  /** @throws GcError `no-harness-registry` */
  async put(): Promise<never> {
    throw noHarnessRegistry(this.#folder);
  }

  now(): bigint {
    return this.#nanos.next();
  }
}

export function noHarnessRegistry(folder: string): GcError {
  return new GcError(
    'no-harness-registry',
    `${folder} is a folder of JSON lines: it keeps no registered harnesses`,
    {
      next: 'keep the logs in a database file (--journal logs.db), or name harnesses when serving (--harness, --command)',
    },
  );
}
