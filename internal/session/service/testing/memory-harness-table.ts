import { GcError } from '../../../platform/errors.ts';
import type { HarnessRow, HarnessTable } from '../../log/harness-table.ts';

/** Registrations in memory, one process. */
export class MemoryHarnessTable implements HarnessTable {
  readonly #rows = new Map<string, HarnessRow>();
  readonly #reserved = new Set<string>();
  #now = 1_700_000_000_000_000_000n;

  /** Another host writes into the same store. */
  insert(row: Partial<HarnessRow> & Pick<HarnessRow, 'name'>): void {
    const at = this.now();
    this.#rows.set(row.name, {
      uid: `harness-${'0'.repeat(24)}`,
      spec: '{}',
      specDigest: 'sha256:0',
      state: 'active',
      retireReason: '',
      retiredAt: 0n,
      createdAt: at,
      updatedAt: at,
      ...row,
    });
  }

  find(name: string): HarnessRow | undefined {
    return this.#rows.get(name);
  }

  async list(): Promise<readonly HarnessRow[]> {
    return [...this.#rows.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  isReserved(name: string): boolean {
    return this.#reserved.has(name);
  }

  async reserve(names: readonly string[]): Promise<void> {
    const taken = names.find((name) => this.#rows.has(name));
    if (taken !== undefined) throw new GcError('harness-registered', `${taken} is registered`);
    for (const name of names) this.#reserved.add(name);
  }

  async put(
    name: string,
    decide: (current: HarnessRow | undefined) => HarnessRow | undefined,
  ): Promise<HarnessRow | undefined> {
    const row = decide(this.#rows.get(name));
    if (row !== undefined) this.#rows.set(name, row);
    return row;
  }

  now(): bigint {
    this.#now += 1n;
    return this.#now;
  }
}
