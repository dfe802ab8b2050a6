import { messageOf, unreachable } from '../../platform/errors.ts';
import { Resumability } from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import type { HarnessSpec } from '../../protocol/generated/agentsessions/v1/harness_registry_pb.ts';
import { CITY_HARNESS } from '../log/city-origin.ts';
import type { HarnessRow, HarnessTable } from '../log/harness-table.ts';
import type { Harness } from '../turn/harness.ts';
import { CITY_REFUSAL } from './city-sessions.ts';
import { parseSpec } from './harness-spec.ts';
import type { Placement } from './placement.ts';
import { ServiceError } from './sessions-host.ts';

export interface RosterOptions {
  /** Those that come with the host or with its command line, by name. */
  readonly harnesses: ReadonlyMap<string, Harness>;
  /** One of `harnesses`. */
  readonly defaultName: string;
  /** Names that belong to harnesses which are not served now; nobody may register them. */
  readonly reserved?: readonly string[];
  readonly table: HarnessTable;
  /** Makes a harness of an address, without dialing. Absent: why registered harnesses cannot be run here. */
  readonly remote: { readonly connect: (address: string) => Harness } | { readonly refused: string };
}

export type RosterEntry =
  | { readonly kind: 'served'; readonly placement: Placement }
  /** Known, and why nobody can use it. */
  | { readonly kind: 'unservable'; readonly reason: string };

/**
 * The harnesses of a host: those it comes with, those that were registered, and those it knows but cannot serve.
 * Registered ones are never replaced or taken away while the host runs.
 * Source: agentsessions.v1 registry, override and pinning rules.
 */
export class HarnessRoster {
  readonly #entries = new Map<string, RosterEntry>();
  readonly #statics: ReadonlySet<string>;
  readonly #table: HarnessTable;
  readonly #remote: RosterOptions['remote'];
  readonly defaultName: string;

  private constructor({ harnesses, defaultName, table, remote }: RosterOptions) {
    this.#statics = new Set(harnesses.keys());
    this.#table = table;
    this.#remote = remote;
    this.defaultName = defaultName;
    for (const [name, harness] of harnesses) {
      const placement = {
        name,
        source: 'static',
        harness,
        descriptorId: '',
        needsMemory: false,
      } as const;
      this.#entries.set(name, { kind: 'served', placement });
    }
    this.#entries.set(CITY_HARNESS, { kind: 'unservable', reason: CITY_REFUSAL });
  }

  /**
   * Keeps the built-in names for good and loads what was registered; an entry that cannot be used stops nobody else.
   * @throws ServiceError INVALID_ARGUMENT for a default that is not there, GcError `harness-registered`
   */
  static async open(options: RosterOptions): Promise<HarnessRoster> {
    const { harnesses, defaultName, table, reserved = [] } = options;
    if (!harnesses.has(defaultName)) throw unknownHarness(defaultName, [...harnesses.keys()]);
    await table.reserve([...new Set([...harnesses.keys(), ...reserved, CITY_HARNESS])]);
    const roster = new HarnessRoster(options);
    for (const row of await table.list()) roster.add(row.name, roster.#stored(row));
    return roster;
  }

  /** In order. */
  get staticNames(): readonly string[] {
    return [...this.#statics].sort();
  }

  isStatic(name: string): boolean {
    return this.#statics.has(name);
  }

  /** How a spec would be run here, or why it cannot. Nothing is dialed. */
  build(name: string, spec: HarnessSpec): RosterEntry {
    const { placement, descriptorId, capabilities } = spec;
    switch (placement.case) {
      case undefined:
        return { kind: 'unservable', reason: 'its spec says nothing about where it is' };
      case 'substrate':
        return { kind: 'unservable', reason: 'this host has no substrate runtime' };
      case 'remote': {
        if ('refused' in this.#remote) return { kind: 'unservable', reason: this.#remote.refused };
        let harness: Harness;
        try {
          harness = this.#remote.connect(placement.value.address);
        } catch (error) {
          return { kind: 'unservable', reason: messageOf(error) };
        }
        const isStateful = capabilities?.resumability === Resumability.REQUIRES_MEMORY_SNAPSHOT;
        const placed: Placement = {
          name,
          source: 'registered',
          harness,
          descriptorId,
          needsMemory: isStateful,
        };
        return { kind: 'served', placement: placed };
      }
      default:
        return unreachable(placement);
    }
  }

  /** Takes a registration into use. One that is served already stays what it is. */
  add(name: string, entry: RosterEntry): void {
    if (this.#entries.get(name)?.kind !== 'served') this.#entries.set(name, entry);
  }

  /** Of a registration that this host has loaded. */
  entry(name: string): RosterEntry | undefined {
    return this.#entries.get(name);
  }

  /**
   * By its exact name; '' is the default.
   * @throws ServiceError INVALID_ARGUMENT when nobody knows it, FAILED_PRECONDITION when it cannot be served
   */
  resolve(name: string): Placement {
    const wanted = name === '' ? this.defaultName : name;
    const entry = this.#entries.get(wanted);
    if (entry === undefined) throw unknownHarness(wanted, this.#served());
    if (entry.kind === 'unservable') {
      throw new ServiceError(
        'FAILED_PRECONDITION',
        `harness ${JSON.stringify(wanted)} cannot be served: ${entry.reason}`,
      );
    }
    this.#refuseCollision(wanted);
    return entry.placement;
  }

  /**
   * What runs the next turn of a session.
   * @throws ServiceError as `resolve`, and FAILED_PRECONDITION when a registered harness would be mixed with another
   */
  route(stored: string, override: string): Placement {
    if (override === '' || override === this.#named(stored)) return this.resolve(stored);
    this.#refuseMixing(stored, override);
    const placement = this.resolve(override);
    // Another process may have registered one of the names meanwhile.
    this.#refuseMixing(stored, override);
    return placement;
  }

  /**
   * What goes on with a turn that began under the name `recorded`; '' = the log does not say.
   * @throws ServiceError FAILED_PRECONDITION when that harness is not served here, and as `route`
   */
  recorded(stored: string, recorded: string): Placement {
    if (recorded === '') return this.resolve(stored);
    if (!this.#entries.has(recorded)) {
      throw new ServiceError(
        'FAILED_PRECONDITION',
        `the turn was begun by harness ${JSON.stringify(recorded)}, which is not served here`,
        {
          next: `serve it again, or call Exec with new inputs (served: ${this.#served().join(', ')})`,
        },
      );
    }
    return this.route(stored, recorded);
  }

  /**
   * To be asked inside the transaction that makes a session.
   * @throws ServiceError FAILED_PRECONDITION
   */
  refuseNewSession({ name, source }: Placement): void {
    const row = this.#table.find(name);
    if (source === 'static') {
      this.#refuseCollision(name);
      return;
    }
    if (row === undefined) {
      throw new ServiceError(
        'FAILED_PRECONDITION',
        `harness ${JSON.stringify(name)} is not registered any more`,
      );
    }
    if (row.state === 'retired') {
      throw new ServiceError(
        'FAILED_PRECONDITION',
        `harness ${JSON.stringify(name)} is retired: no new session can use it`,
        { next: 'register it again, or choose another one' },
      );
    }
  }

  #stored({ name, spec }: HarnessRow): RosterEntry {
    try {
      return this.build(name, parseSpec(spec));
    } catch (error) {
      return { kind: 'unservable', reason: messageOf(error) };
    }
  }

  #named(stored: string): string {
    return stored === '' ? this.defaultName : stored;
  }

  #served(): string[] {
    return [...this.#entries]
      .filter(([, entry]) => entry.kind === 'served')
      .map(([name]) => name)
      .sort();
  }

  #isRegistered(name: string): boolean {
    return !this.#statics.has(name) && this.#table.find(name) !== undefined;
  }

  #refuseMixing(stored: string, override: string): void {
    const pinned = [this.#named(stored), override].find((name) => this.#isRegistered(name));
    if (pinned === undefined) return;
    throw new ServiceError(
      'FAILED_PRECONDITION',
      `harness ${JSON.stringify(pinned)} is registered: a session stays with it, and no other session may borrow it`,
      { next: `create a session with the harness ${JSON.stringify(override)}` },
    );
  }

  #refuseCollision(name: string): void {
    if (!this.#statics.has(name) || this.#table.find(name) === undefined) return;
    throw new ServiceError(
      'FAILED_PRECONDITION',
      `harness ${JSON.stringify(name)} is built in here and registered by another host in the same store`,
      { next: 'let one of the hosts use another name' },
    );
  }
}

function unknownHarness(name: string, served: readonly string[]): ServiceError {
  return new ServiceError(
    'INVALID_ARGUMENT',
    `unknown harness ${JSON.stringify(name)}; served: ${served.join(', ')}`,
  );
}
