import type { Clock } from '../../platform/clock.ts';
import type { Ids } from '../../platform/ids.ts';
import type {
  GetHarnessRequest,
  HarnessRegistration,
  RegisterHarnessRequest,
  RegisterHarnessResponse,
  RetireHarnessRequest,
} from '../../protocol/generated/agentsessions/v1/harness_registry_pb.ts';
import {
  RegisterHarnessResponseSchema,
  RegisterOutcome,
} from '../../protocol/generated/agentsessions/v1/harness_registry_pb.ts';
import { create } from '../../protocol/protobuf.ts';
import type { HarnessRow, HarnessTable } from '../log/harness-table.ts';
import { refuseWhenInterrupted } from './error-table.ts';
import type { HarnessRoster, RosterEntry } from './harness-roster.ts';
import { type CanonicalSpec, checkHarnessName, checkSpec, parseSpec } from './harness-spec.ts';
import { required } from './host-context.ts';
import { listHarnesses } from './list-harnesses.ts';
import { operation, type ServiceLog } from './operation-log.ts';
import { observed, registrationOf, staticRegistration } from './registration-view.ts';
import { type HarnessRegistryHost, ServiceError } from './sessions-host.ts';

const MAX_REASON_BYTES = 1024;
const UID_BYTES = 12;

export interface RegistryHostOptions {
  readonly roster: HarnessRoster;
  /** The one that the roster was opened with. */
  readonly table: HarnessTable;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: ServiceLog;
}

/** Source: agentsessions.v1 HarnessRegistry. */
export function createHarnessRegistryHost(options: RegistryHostOptions): HarnessRegistryHost {
  const call = <T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> =>
    operation(options, { component: 'registry', name, doing: 'decide' }, async () => {
      refuseWhenInterrupted(signal);
      return await work();
    });
  return {
    registerHarness: (request, signal) => call('register_harness', signal, () => register(options, request)),
    getHarness: (request, signal) => call('get_harness', signal, () => get(options, request, signal)),
    listHarnesses: (request, signal) => call('list_harnesses', signal, () => listHarnesses(options, request)),
    retireHarness: (request, signal) => call('retire_harness', signal, () => retire(options, request)),
  };
}

async function register(
  { roster, table, ids }: RegistryHostOptions,
  { name, spec }: RegisterHarnessRequest,
): Promise<RegisterHarnessResponse> {
  checkHarnessName(name);
  if (roster.isStatic(name) || table.isReserved(name)) throw reservedName(name);
  const canonical = checkSpec(spec);
  const entry = placed(roster, name, canonical);
  const uid = `harness-${ids.hex(UID_BYTES)}`;
  let decided: Decided | undefined;
  const row = await table.put(name, (current) => {
    if (table.isReserved(name)) throw reservedName(name);
    decided = decide(current, { name, uid, canonical, at: table.now() });
    return decided.changed ? decided.row : undefined;
  });
  if (decided === undefined) throw new ServiceError('INTERNAL', `${JSON.stringify(name)} was not stored`);
  const stored = row ?? decided.row;
  roster.add(name, entry);
  return create(RegisterHarnessResponseSchema, {
    harness: registrationOf(roster, stored),
    outcome: decided.outcome,
  });
}

/** @throws ServiceError FAILED_PRECONDITION when this host has no way to run it */
function placed(roster: HarnessRoster, name: string, { json }: CanonicalSpec): RosterEntry {
  const known = roster.entry(name);
  const entry = known?.kind === 'served' ? known : roster.build(name, parseSpec(json));
  if (entry.kind === 'served') return entry;
  throw new ServiceError(
    'FAILED_PRECONDITION',
    `${JSON.stringify(name)} cannot be run here: ${entry.reason}`,
  );
}

interface Decided {
  readonly outcome: RegisterOutcome;
  readonly row: HarnessRow;
  readonly changed: boolean;
}

interface Registration {
  readonly name: string;
  readonly uid: string;
  readonly canonical: CanonicalSpec;
  readonly at: bigint;
}

/** @throws ServiceError ALREADY_EXISTS when the name stands for something else */
function decide(current: HarnessRow | undefined, { name, uid, canonical, at }: Registration): Decided {
  const { json: spec, digest: specDigest } = canonical;
  const active = { state: 'active', retireReason: '', retiredAt: 0n, updatedAt: at } as const;
  if (current === undefined) {
    const row = { name, uid, spec, specDigest, createdAt: at, ...active };
    return { outcome: RegisterOutcome.CREATED, row, changed: true };
  }
  if (current.specDigest !== specDigest) {
    throw new ServiceError(
      'ALREADY_EXISTS',
      `harness ${JSON.stringify(name)} is registered with another spec (${current.specDigest})`,
      { next: 'register the new spec under another name; sessions stay with what they were made with' },
    );
  }
  if (current.state === 'active') {
    return { outcome: RegisterOutcome.UNCHANGED, row: current, changed: false };
  }
  return { outcome: RegisterOutcome.REACTIVATED, row: { ...current, ...active }, changed: true };
}

function reservedName(name: string): ServiceError {
  return new ServiceError('ALREADY_EXISTS', `harness ${JSON.stringify(name)} is built in`, {
    next: 'choose another name',
  });
}

async function get(
  { roster, table, clock }: RegistryHostOptions,
  { name, observe }: GetHarnessRequest,
  signal: AbortSignal,
): Promise<HarnessRegistration> {
  required('name', name);
  const row = roster.isStatic(name) ? undefined : table.find(name);
  if (row === undefined && !roster.isStatic(name)) throw unknownName(name);
  const registration = row === undefined ? staticRegistration(name) : registrationOf(roster, row);
  return observe ? await observed(registration, roster.entry(name), clock, signal) : registration;
}

async function retire(
  { roster, table }: RegistryHostOptions,
  { name, reason }: RetireHarnessRequest,
): Promise<HarnessRegistration> {
  required('name', name);
  if (Buffer.byteLength(reason, 'utf8') > MAX_REASON_BYTES) {
    throw new ServiceError('INVALID_ARGUMENT', `reason is longer than ${MAX_REASON_BYTES} bytes`);
  }
  if (roster.isStatic(name)) {
    throw new ServiceError('FAILED_PRECONDITION', `harness ${JSON.stringify(name)} is built in`, {
      next: 'start the host without it',
    });
  }
  let before: HarnessRow | undefined;
  const row = await table.put(name, (current) => {
    before = current;
    if (current === undefined || current.state === 'retired') return undefined;
    const at = table.now();
    return { ...current, state: 'retired', retireReason: reason, retiredAt: at, updatedAt: at };
  });
  const stored = row ?? before;
  if (stored === undefined) throw unknownName(name);
  return registrationOf(roster, stored);
}

function unknownName(name: string): ServiceError {
  return new ServiceError('NOT_FOUND', `no harness ${JSON.stringify(name)}`);
}
