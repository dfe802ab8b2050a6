import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { shortDuration } from '../platform/duration.ts';
import { GcError } from '../platform/errors.ts';
import { canRoute } from '../runtime/provider.ts';
import { displayName } from '../session/display.ts';
import type { SessionRecord } from '../session/record.ts';
import { admit } from './admission.ts';
import type { CityEngine } from './city-engine.ts';
import { remoteMatch } from './remote-match.ts';

/** A start that waits for the machine longer than this is told of in an event, once. */
const ROOM_PATIENCE_MS = 120_000;
/** The names among these whose sessions do not run on this machine: pods, wherever the city sends its sessions by name. */
export function runningElsewhere({ parts, city }: CityEngine, names: Iterable<string>): ReadonlySet<string> {
  const { provider, providerInfo, env } = parts;
  const match = remoteMatch(env, city);
  const isElsewhere = (name: string): boolean => {
    // Another back end than the city's own is one of this machine.
    if (canRoute(provider) && provider.routeOf(name) !== '') return false;
    if (providerInfo.name === 'hybrid') return match !== '' && name.includes(match);
    return providerInfo.name === 'k8s';
  };
  return new Set([...names].filter(isElsewhere));
}

/** Remembers who waits for the machine since when, and says so where it takes long. */
export async function noteRoomWaits(
  engine: CityEngine,
  waits: ReadonlyMap<string, string>,
  records: readonly SessionRecord[],
): Promise<void> {
  const { memory, time, parts } = engine;
  for (const name of memory.roomWaits.keys()) if (!waits.has(name)) memory.roomWaits.delete(name);
  const now = time.lived();
  for (const [name, why] of waits) {
    const { since, told } = memory.roomWaits.get(name) ?? { since: now, told: false };
    const isDue = !told && now - since >= ROOM_PATIENCE_MS;
    memory.roomWaits.set(name, { since, why, told: told || isDue });
    if (!isDue) continue;
    const record = records.find((each) => each.sessionName === name);
    const subject = record ? displayName(record) : name;
    const message = `has waited ${shortDuration(now - since)} to be started: ${why}`;
    await parts.db.commit({
      events: [{ type: 'session.waits_for_room', actor: CONTROLLER_ACTOR, subject, message }],
    });
  }
}

/** @throws GcError `no-room` when a start that a person asks for would have to wait */
export function refuseWithoutRoom(engine: CityEngine, sessionName: string, who: string, force: string): void {
  const room = engine.room();
  if (!room || runningElsewhere(engine, [sessionName]).size > 0) return;
  const starting = [...engine.executor.operations.values()].filter(({ kind }) => kind === 'start').length;
  const admission = admit(room, starting);
  if (admission.kind === 'admitted') return;
  throw new GcError('no-room', `${who} would have to wait for ${admission.why}`, {
    next: `${force} starts it all the same; daemon.min_free_memory, memory_per_session and max_load_per_core set the limits`,
  });
}
