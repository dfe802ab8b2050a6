import type { LocalCityApi } from '../../local-city-api.ts';
import { stopIntent } from '../../session-facts.ts';
import type { Dice } from './dice.ts';
import type { People } from './people.ts';
import type { AgentLife } from './sim-runtime.ts';
import type { World } from './world.ts';

/** What the agents do by themselves. */
export class Agents {
  readonly #world: World;
  readonly #people: People;

  constructor(world: World, people: People) {
    this.#world = world;
    this.#people = people;
  }

  /** A living one that came up. */
  some(dice: Dice): AgentLife | undefined {
    return dice.maybe(this.#world.runtime.allLiving().filter((life) => life.ready));
  }

  /** Takes a piece of work that waits for its agent, or that is its own already. */
  async claim(life: AgentLife): Promise<void> {
    const record = this.#world.recordsNow().find((candidate) => candidate.sessionName === life.name);
    const isFree = record?.state === 'active' && stopIntent(record) === undefined;
    if (!isFree || record.instanceToken !== life.token) return;
    const names = [record.alias, record.sessionName].filter((name) => name !== '');
    await this.#world.with(async ({ parts, runtime }) => {
      const store = parts.work;
      const ready = await store.ready({ notTypes: ['session', 'message'] });
      const own = ready.find((bead) => names.includes(bead.assignee));
      const routed = ready.find(
        (bead) => bead.assignee === '' && bead.metadata['gc.routed_to'] === record.template,
      );
      const bead = own ?? (record.origin === 'named' ? undefined : routed);
      if (!bead) return;
      await store.claim(bead.id, record.sessionName);
      this.#world.note(`  agent ${life.name}#${life.number} took ${bead.id}`);
      runtime?.poke();
    });
  }

  /** Somebody's work is done. */
  async finish(dice: Dice, all = false): Promise<void> {
    const tells = dice.chance(0.7);
    await this.#world.with(async ({ parts, runtime }) => {
      const taken = await parts.work.list({ statuses: ['in_progress'], notTypes: ['session', 'message'] });
      for (const bead of all ? taken : taken.slice(0, 1)) {
        await parts.work.close(bead.id);
        this.#world.note(`  ${bead.id} is done`);
      }
      if (tells && taken.length > 0) runtime?.poke();
    });
  }

  /** Its hook takes what waits for it, tells it, and says so. */
  takeNudges(life: AgentLife, dice: Dice): Promise<void> {
    return this.#people.ask(`hook ${life.name}`, async (api: LocalCityApi) => {
      const taken = await api.takeNudges(life.name);
      if (life.ended || this.#world.runtime.sessions.get(life.name) !== life) return;
      for (const { message } of taken.items) this.#world.runtime.tell(life, message);
      if (taken.items.length === 0 || dice.chance(0.2)) return;
      await api.acknowledgeNudges(life.name, taken.items);
    });
  }

  /** Says something about its own life. */
  speaks(life: AgentLife, what: 'ack' | 'restart' | 'handoff'): Promise<void> {
    const word = { instance_token: life.token };
    const { name } = life;
    switch (what) {
      case 'ack':
        return this.#people.holding(name, (api) => api.acknowledgeDrain(name, word), 'ack');
      case 'restart':
        return this.#people.holding(name, (api) => api.requestRestart(name, word), 'restart');
      case 'handoff':
        return this.#people.holding(
          name,
          (api) => api.handoff(name, { ...word, from: name, subject: 'on', body: 'go on', by: 'session' }),
          'handoff',
        );
    }
  }
}
