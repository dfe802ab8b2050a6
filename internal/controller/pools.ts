import { sessionNameIn } from '../agent/session-name.ts';
import { allowsGeneric, instanceName, isPool } from '../config/capacity.ts';
import type { Agent, City } from '../config/city.ts';
import type { SessionRecord } from '../session/record.ts';
import { canNameSlot } from './pool-names.ts';
import { isHeldBack, isUpOrAsked, stampedSlot } from './pool-record.ts';
import { Room } from './pool-room.ts';
import { isAmong, type WorkFacts } from './work-facts.ts';

/** The place of one session among those of its agent. */
export interface PoolSlot {
  readonly agent: Agent;
  /** The first is 1. */
  readonly slot: number;
  /** The agent's instance, qualified. */
  readonly identity: string;
  readonly sessionName: string;
}

/** What the scale check of an agent said last. */
export type ScaleCount =
  | { readonly kind: 'count'; readonly count: number }
  /** It has not answered yet: everybody stays where he is. */
  | { readonly kind: 'unknown' }
  /** It said nothing that is a number: the pool keeps its floor. */
  | { readonly kind: 'invalid' };

export interface PoolScene {
  readonly city: City;
  /** Open session records. */
  readonly records: readonly SessionRecord[];
  readonly work: WorkFacts;
  /** By qualified name of the agent; without an entry the waiting work is counted. */
  readonly counts: ReadonlyMap<string, ScaleCount>;
  /** On-demand sessions that work is waiting for, by identity. */
  readonly called: ReadonlySet<string>;
  /** Agents whose own work query found something, by qualified name. */
  readonly queried: ReadonlySet<string>;
}

export interface PoolDecision {
  /** Every slot that is wanted, or that has a record. */
  readonly slots: readonly PoolSlot[];
  /** By session name, with what asks for it. */
  readonly wanted: ReadonlyMap<string, string>;
  /** Those of them that work asks for, and not the floor alone. */
  readonly called: ReadonlySet<string>;
  /** Slots with open work, by session name. */
  readonly busy: ReadonlySet<string>;
}

/** Agents whose sessions come and go with the work. */
export function poolAgents(city: City): readonly Agent[] {
  return city.agents.filter((agent) => allowsGeneric(agent) && isPool(city, agent));
}

/**
 * Which slots of which pools are to be up. Work in hands is never given up; then what the demand asks for, pool by pool
 * in the order of the file, then the floors, as far as the limits of agent, rig and city allow. A slot that runs keeps
 * its number; new ones get the lowest that is free. Source: Gas City pool demand and caps.
 */
export function decidePools(scene: PoolScene): PoolDecision {
  const pools = poolAgents(scene.city).map((agent) => poolOf(scene, agent));
  const slotRecords = new Set(pools.flatMap((pool) => pool.held.map((held) => held.record)));
  const room = new Room(
    scene.city,
    scene.records.filter((record) => !slotRecords.has(record)),
    scene.called,
  );
  for (const pool of pools) for (const _ of pool.busy) pool.take(room);
  for (const pool of pools) while (pool.accepted < pool.demand && room.has(pool.agent)) pool.take(room);
  for (const pool of pools) while (pool.accepted < pool.floor && room.has(pool.agent)) pool.take(room);
  const names = takenNames(scene, slotRecords);
  for (const { held } of pools) for (const { slot } of held) names.add(slot.sessionName).add(slot.identity);
  const wanted = new Map<string, string>();
  const called = new Set<string>();
  const slots = pools.flatMap((pool) => {
    const ranked = chooseSlots(scene.city, pool, names);
    for (const slot of ranked.slice(0, pool.demand)) called.add(slot.sessionName);
    const chosen = ranked.toSorted((a, b) => a.slot - b.slot);
    for (const slot of chosen) wanted.set(slot.sessionName, whyWanted(pool, slot, called));
    const held = pool.held.map((h) => h.slot);
    return [...held, ...chosen.filter((slot) => held.every((h) => h.slot !== slot.slot))];
  });
  const busy = pools.flatMap((pool) => pool.busy.map((held) => held.slot.sessionName));
  return { slots, wanted, called, busy: new Set(busy) };
}

/** One that no work asks for is up because of the floor. */
function whyWanted(pool: Pool, { sessionName }: PoolSlot, called: ReadonlySet<string>): string {
  const isBusy = pool.busy.some(({ slot }) => slot.sessionName === sessionName);
  if (called.has(sessionName) || isBusy) return pool.why;
  return `${pool.why}; min_active_sessions is ${pool.agent.minActiveSessions}`;
}

/** Slots that have a record, for whoever does not decide. */
export function recordedSlots(city: City, records: readonly SessionRecord[]): readonly PoolSlot[] {
  return poolAgents(city).flatMap((agent) => heldSlots(city, agent, records).map((held) => held.slot));
}

interface HeldSlot {
  readonly slot: PoolSlot;
  readonly record: SessionRecord;
}

class Pool {
  readonly agent: Agent;
  readonly held: readonly HeldSlot[];
  readonly busy: readonly HeldSlot[];
  readonly demand: number;
  readonly floor: number;
  readonly why: string;
  accepted = 0;

  constructor(parts: Pick<Pool, 'agent' | 'held' | 'busy' | 'demand' | 'floor' | 'why'>) {
    this.agent = parts.agent;
    this.held = parts.held;
    this.busy = parts.busy;
    this.demand = parts.demand;
    this.floor = parts.floor;
    this.why = parts.why;
  }

  take(room: Room): void {
    this.accepted += 1;
    room.take(this.agent);
  }
}

function poolOf(scene: PoolScene, agent: Agent): Pool {
  const { city, records, work } = scene;
  const held = heldSlots(city, agent, records);
  const busy = held.filter(
    ({ slot, record }) => !isHeldBack(record) && isAmong(work.assignees, record, slot.identity),
  );
  const named = namedSupply(scene, agent);
  const { demand, why } = demandOf(scene, agent, held, busy.length, named);
  // What its query finds asks for one of those that are up, and for no new one.
  const isQueried = scene.queried.has(agent.qualifiedName) && held.some(({ record }) => isUpOrAsked(record));
  const suspended = city.workspace.suspended || agent.suspended || rigIsSuspended(city, agent);
  return new Pool({
    agent,
    held,
    busy,
    demand: suspended ? 0 : isQueried ? Math.max(1, demand) : demand,
    floor: suspended ? 0 : Math.max(0, agent.minActiveSessions - named),
    why: isQueried && demand === 0 ? 'its work_query finds work' : why,
  });
}

function rigIsSuspended(city: City, agent: Agent): boolean {
  return city.rigs.some((rig) => rig.suspended && rig.name === agent.dir);
}

function demandOf(
  scene: PoolScene,
  agent: Agent,
  held: readonly HeldSlot[],
  busy: number,
  named: number,
): { readonly demand: number; readonly why: string } {
  const count = scene.counts.get(agent.qualifiedName);
  if (!count) {
    const waiting = scene.work.waiting.get(agent.qualifiedName)?.size ?? 0;
    return { demand: waiting + busy, why: `${waiting} waiting, ${busy} in hands` };
  }
  switch (count.kind) {
    case 'count':
      // A scale check counts sessions: a named one of the same agent is one of them.
      return { demand: Math.max(count.count - named, busy), why: `scale_check said ${count.count}` };
    case 'unknown':
      return {
        demand: held.filter(({ record }) => isUpOrAsked(record)).length,
        why: 'scale_check has yet to answer',
      };
    case 'invalid':
      return { demand: busy, why: 'scale_check gave no number' };
  }
}

/** Named sessions of the agent that stand, or that work has called. */
function namedSupply(scene: PoolScene, agent: Agent): number {
  return scene.city.namedSessions.filter(
    (named) =>
      named.templateQualifiedName === agent.qualifiedName &&
      (named.mode === 'always' || scene.called.has(named.identity)),
  ).length;
}

function heldSlots(city: City, agent: Agent, records: readonly SessionRecord[]): readonly HeldSlot[] {
  return records
    .flatMap((record) => {
      const slot = slotOfRecord(city, agent, record);
      return slot ? [{ slot, record }] : [];
    })
    .toSorted((a, b) => a.slot.slot - b.slot.slot);
}

/** A session name belongs to one slot: that is what makes a slot's number stable. */
function slotOfRecord(city: City, agent: Agent, record: SessionRecord): PoolSlot | undefined {
  if (record.template !== agent.qualifiedName || record.dependencyOnly || record.sessionName === '')
    return undefined;
  if (record.origin !== 'ephemeral') return undefined;
  const stamped = stampedSlot(record);
  const slot = stamped > 0 ? slotOf(city, agent, stamped) : undefined;
  if (slot?.sessionName === record.sessionName) return slot;
  // Adopted, or its pool's names were changed since: its own name tells.
  const named = slotNamed(city, agent, record.sessionName);
  return named?.sessionName === record.sessionName ? named : undefined;
}

/** The slot of an agent that has this name, as its identity or as its session. */
export function slotNamed(city: City, agent: Agent, name: string): PoolSlot | undefined {
  return numbersIn(agent, name)
    .map((number) => slotOf(city, agent, number))
    .find((slot) => slot.sessionName === name || slot.identity === name);
}

function numbersIn(agent: Agent, text: string): readonly number[] {
  const pooled = agent.namepoolNames.flatMap((name, i) => (text.includes(name) ? [i + 1] : []));
  const number = Number(/(\d{1,6})$/.exec(text)?.[1] ?? '0');
  return number > 0 ? [...pooled, number] : pooled;
}

function slotOf(city: City, agent: Agent, slot: number): PoolSlot {
  const identity = instanceName(agent, slot);
  return { agent, slot, identity, sessionName: sessionNameIn(city, identity) };
}

/**
 * Those that work first, then those that are up, then other records, each from the lowest number; then new ones.
 * @param names what is taken; the names of new slots are added
 */
function chooseSlots(city: City, pool: Pool, names: Set<string>): readonly PoolSlot[] {
  const busy = new Set(pool.busy);
  const rank = (held: HeldSlot) => (busy.has(held) ? 0 : isUpOrAsked(held.record) ? 1 : 2);
  const chosen = pool.held
    .filter((held) => !isHeldBack(held.record))
    .toSorted((a, b) => rank(a) - rank(b) || a.slot.slot - b.slot.slot)
    .slice(0, pool.accepted)
    .map((held) => held.slot);
  const numbers = new Set(pool.held.map((held) => held.slot.slot));
  // A name template that gives every slot one name leaves nothing to find.
  const last = pool.accepted + numbers.size + names.size + pool.agent.namepoolNames.length;
  for (let number = 1; chosen.length < pool.accepted && number <= last; number += 1) {
    if (numbers.has(number)) continue;
    const slot = slotOf(city, pool.agent, number);
    if (names.has(slot.sessionName) || names.has(slot.identity)) continue;
    if (!canNameSlot(slot.sessionName, slot.identity)) continue;
    names.add(slot.sessionName).add(slot.identity);
    chosen.push(slot);
  }
  return chosen;
}

/** Names that belong to somebody else: other agents, named sessions, other records. */
function takenNames(scene: PoolScene, slotRecords: ReadonlySet<SessionRecord>): Set<string> {
  const { city, records } = scene;
  const identities = [
    ...city.agents.map((agent) => agent.qualifiedName),
    ...city.namedSessions.map((named) => named.identity),
  ];
  const others = records.filter((record) => !slotRecords.has(record));
  return new Set([
    ...identities,
    ...identities.map((identity) => sessionNameIn(city, identity)),
    ...others.flatMap((record) => [record.sessionName, record.alias].filter((name) => name !== '')),
  ]);
}
