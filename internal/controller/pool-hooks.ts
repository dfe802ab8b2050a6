import type { CityDatabase } from '../beads/sqlite/city-database.ts';
import type { WorkBeads } from '../beads/work.ts';
import type { Agent, City } from '../config/city.ts';
import { messageOf } from '../platform/errors.ts';
import { Slots } from '../runtime/exec/slots.ts';
import { type Survey, unseenAnswer } from '../runtime/provider.ts';
import type { SessionRecord } from '../session/record.ts';
import type { CommandSubject, PoolCommands } from './pool-commands.ts';
import { poolAgents, recordedSlots } from './pools.ts';
import { releaseOrphanedWork, releaseWorkOf } from './release-work.ts';
import { holdsWorkBeads } from './work-facts.ts';

/** Source: Gas City. */
const HOOK_TIMEOUT_MS = 30_000;
/** So many run at once; the others wait in order. */
const HOOKS_AT_ONCE = 8;

export interface PoolHooksOptions {
  readonly db: CityDatabase;
  readonly work: WorkBeads;
  readonly commands: PoolCommands;
  /** One line for the log of whoever runs the city. */
  readonly log: (line: string) => void;
  /** Work waits for anybody again. */
  readonly released: () => void;
}

interface Member {
  readonly agent: Agent;
  readonly subject: CommandSubject;
}

/**
 * What pools do when the controller comes up and when one of their sessions ends: `on_boot` and `on_death`, beside the
 * passes. Without a command of its own, a pool gives the work of a session that does not come back to the others.
 */
export class PoolHooks {
  readonly #options: PoolHooksOptions;
  readonly #underWay = new Set<Promise<void>>();
  readonly #slots = new Slots(HOOKS_AT_ONCE);
  /** Slots that were last seen alive, by session name; `undefined`: nobody has looked yet. */
  #living: ReadonlyMap<string, Member> | undefined;
  /** Ended sessions whose record may still come back. */
  readonly #ended = new Map<string, Member>();

  constructor(options: PoolHooksOptions) {
    this.#options = options;
  }

  /** After each pass, with the records that it left. */
  passed(city: City, survey: Survey, records: readonly SessionRecord[]): void {
    if (survey.kind === 'unknown') return;
    const before = this.#living;
    const members = membersOf(city, records);
    const living = new Map(members.filter(([name]) => mayLive(survey, name)));
    for (const [name, member] of before ?? []) {
      if (living.has(name)) continue;
      // Its record may be closed already: it is not among the members any more.
      if (mayLive(survey, name)) living.set(name, member);
      else this.#died(city, name, member);
    }
    this.#living = living;
    this.#settleEnded(city, living, records);
    if (!before) this.#boot(city, records);
  }

  async end(): Promise<void> {
    await Promise.allSettled([...this.#underWay]);
  }

  #boot(city: City, records: readonly SessionRecord[]): void {
    for (const agent of poolAgents(city)) {
      if (agent.implicit) continue;
      if (agent.onBoot !== '') this.#command(city, agent, 'on_boot', agent.onBoot);
      else if (holdsWorkBeads(city)) {
        this.#release(agent, () => releaseOrphanedWork(this.#options, city, agent, records));
      }
    }
  }

  #died(city: City, name: string, member: Member): void {
    const { agent, subject } = member;
    if (agent.onDeath !== '') this.#command(city, agent, 'on_death', agent.onDeath, subject);
    else if (holdsWorkBeads(city)) this.#ended.set(name, member);
  }

  /** One that comes back goes on with its work; of one that is closed, others do. */
  #settleEnded(city: City, living: ReadonlyMap<string, Member>, records: readonly SessionRecord[]): void {
    if (this.#ended.size === 0) return;
    const open = new Set(records.map((record) => record.id));
    for (const [name, { agent, subject }] of this.#ended) {
      const isOpen = open.has(subject.recordId);
      if (isOpen && !living.has(name)) continue;
      this.#ended.delete(name);
      if (isOpen || !holdsWorkBeads(city)) continue;
      const { recordId, sessionName, identity } = subject;
      this.#release(agent, () => releaseWorkOf(this.#options.work, [recordId, sessionName, identity]));
    }
  }

  #command(city: City, agent: Agent, what: string, command: string, subject?: CommandSubject): void {
    this.#inBackground(`${what} of agent "${agent.qualifiedName}"`, async () => {
      const request = { city, agent, command, timeoutMs: HOOK_TIMEOUT_MS, ...(subject ? { subject } : {}) };
      const result = await this.#slots.run(() => this.#options.commands.run(request), undefined);
      if (result.kind === 'failed') throw new Error(result.how);
    });
  }

  #release(agent: Agent, work: () => Promise<readonly string[]>): void {
    this.#inBackground(`releasing the work of agent "${agent.qualifiedName}"`, async () => {
      const ids = await work();
      if (ids.length === 0) return;
      this.#options.log(`${ids.join(', ')} of agent "${agent.qualifiedName}" waits for anybody again`);
      this.#options.released();
    });
  }

  #inBackground(what: string, work: () => Promise<void>): void {
    const run = work()
      .catch((error: unknown) => this.#options.log(`${what} failed: ${messageOf(error)}`))
      .finally(() => this.#underWay.delete(run));
    this.#underWay.add(run);
  }
}

function membersOf(city: City, records: readonly SessionRecord[]): readonly (readonly [string, Member])[] {
  const byName = new Map(records.map((record) => [record.sessionName, record]));
  return recordedSlots(city, records).map(({ agent, identity, sessionName }) => [
    sessionName,
    { agent, subject: { recordId: byName.get(sessionName)?.id ?? '', sessionName, identity } },
  ]);
}

/** What could not be told counts as alive. */
function mayLive(survey: Survey, name: string): boolean {
  if (survey.kind !== 'seen') return false;
  const found = survey.sessions.get(name);
  if (!found) return unseenAnswer(survey, name)?.kind === 'unknown';
  return found.liveness.kind !== 'exited';
}
