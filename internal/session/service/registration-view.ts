import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import {
  type HarnessRegistration,
  HarnessRegistrationSchema,
  HarnessSource,
  type HarnessSpec,
  HarnessState,
} from '../../protocol/generated/agentsessions/v1/harness_registry_pb.ts';
import { create } from '../../protocol/protobuf.ts';
import type { HarnessRow } from '../log/harness-table.ts';
import { refuseWhenInterrupted } from './error-table.ts';
import type { HarnessRoster, RosterEntry } from './harness-roster.ts';
import { parseSpec } from './harness-spec.ts';
import { describe } from './placement.ts';
import { timestampOfNanos } from './timestamps.ts';

const NOT_LOADED =
  'registered through another host; register it here with the same spec, or restart this host';

/** A stored registration, with what keeps this host from serving it. */
export function registrationOf(roster: HarnessRoster, row: HarnessRow): HarnessRegistration {
  const entry = roster.entry(row.name);
  const spec = readable(row);
  const isRetired = row.state === 'retired';
  return create(HarnessRegistrationSchema, {
    metadata: {
      name: row.name,
      uid: row.uid,
      createTime: timestampOfNanos(row.createdAt),
      updateTime: timestampOfNanos(row.updatedAt),
    },
    specDigest: row.specDigest,
    state: isRetired ? HarnessState.RETIRED : HarnessState.ACTIVE,
    source: HarnessSource.REGISTERED,
    retireReason: row.retireReason,
    unservableReason: entry?.kind === 'unservable' ? entry.reason : '',
    ...(spec === undefined ? {} : { spec }),
    ...(isRetired ? { retireTime: timestampOfNanos(row.retiredAt) } : {}),
  });
}

/** A harness that the host comes with. */
export function staticRegistration(name: string): HarnessRegistration {
  return create(HarnessRegistrationSchema, {
    metadata: { name },
    state: HarnessState.ACTIVE,
    source: HarnessSource.STATIC,
  });
}

/** With what the harness says about itself now, or why it says nothing. */
export async function observed(
  registration: HarnessRegistration,
  entry: RosterEntry | undefined,
  clock: Clock,
  signal: AbortSignal,
): Promise<HarnessRegistration> {
  if (entry?.kind !== 'served') {
    registration.observeError = entry?.reason ?? NOT_LOADED;
    return registration;
  }
  try {
    registration.observed = await describe(entry.placement, clock, signal);
  } catch (error) {
    refuseWhenInterrupted(signal);
    registration.observeError = messageOf(error);
  }
  return registration;
}

function readable(row: HarnessRow): HarnessSpec | undefined {
  try {
    return parseSpec(row.spec);
  } catch {
    return undefined;
  }
}
