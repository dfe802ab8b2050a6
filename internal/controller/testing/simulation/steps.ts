import type { Agents } from './agents.ts';
import { type Act, type Cast, target } from './cast.ts';
import { agentText } from './city-text.ts';
import type { Dice } from './dice.ts';
import { UPKEEP_ACTS } from './upkeep-steps.ts';

const verb =
  (what: 'kill' | 'suspend' | 'wake' | 'close' | 'drain' | 'undrain' | 'interrupt'): Act =>
  (cast, dice) => {
    const whom = target(cast, dice);
    const makes = what === 'suspend' ? 'suspended' : what === 'drain' ? 'drained' : undefined;
    return cast.people.holding(whom, (api) => api[what](whom), what, makes);
  };

const toAgent =
  (
    act: (cast: Cast, life: NonNullable<ReturnType<Agents['some']>>, dice: Dice) => void | Promise<void>,
  ): Act =>
  async (cast, dice) => {
    const life = cast.agents.some(dice);
    if (life) await act(cast, life, dice);
  };

const edit =
  (change: (cast: Cast, dice: Dice) => void): Act =>
  (cast, dice) => {
    change(cast, dice);
    cast.world.writeConfig();
    cast.world.note('  the city file is edited');
    if (dice.chance(0.8)) cast.world.touchConfig();
  };

/** Everything that can happen, with its weight. */
export const ACTS: Readonly<Record<string, readonly [weight: number, act: Act]>> = {
  nothing: [3, () => undefined],
  // What people do.
  kill: [2, verb('kill')],
  suspend: [2, verb('suspend')],
  wake: [3, verb('wake')],
  close: [1.5, verb('close')],
  drain: [2, verb('drain')],
  undrain: [1, verb('undrain')],
  interrupt: [0.7, verb('interrupt')],
  nudge: [9, (cast, dice) => cast.people.nudge(target(cast, dice), dice)],
  deliver: [
    1,
    (cast, dice) => {
      const whom = target(cast, dice);
      return cast.people.ask(`deliver ${whom}`, (api) => api.deliverNudges(whom));
    },
  ],
  'new session': [
    1.5,
    (cast, dice) => {
      const template = dice.pick(cast.world.text.agents).name;
      const alias = dice.chance(0.5) ? `${template}-${dice.pick(['x', 'y'])}` : undefined;
      return cast.people.ask(`new ${template} ${alias ?? ''}`, (api) =>
        api.newSession({ template, ...(alias === undefined ? {} : { alias }) }),
      );
    },
  ],
  rename: [
    0.5,
    (cast, dice) => {
      const whom = target(cast, dice);
      return cast.people.ask(`rename ${whom}`, (api) => api.rename(whom, `title ${dice.int(1, 9)}`));
    },
  ],
  'handoff by another': [
    0.7,
    (cast, dice) => {
      const whom = target(cast, dice);
      const letter = { from: 'ann', subject: 'hand over', body: 'please', by: 'other' } as const;
      return cast.people.holding(whom, (api) => api.handoff(whom, letter), 'handoff');
    },
  ],
  look: [
    1.5,
    (cast, dice) => {
      const whom = target(cast, dice);
      return cast.people.ask(`look ${whom}`, async (api) => {
        await api.status();
        await api.nudgeQueues();
        await api.questions();
        await api.drainState(whom);
        await api.explain(whom);
        await api.peek(whom, 10);
      });
    },
  ],
  'suspend agent': [
    0.7,
    (cast, dice) => {
      const agent = dice.pick(cast.world.text.agents);
      const suspended = !agent.suspended && dice.chance(0.6);
      agent.suspended = suspended;
      return cast.people.ask(`agent ${agent.name} suspended ${suspended}`, (api) =>
        api.setAgentSuspended(agent.name, suspended),
      );
    },
  ],
  reload: [0.5, (cast) => cast.people.ask('reload', (api) => api.reload())],
  'stop the city': [
    0.6,
    async (cast, dice) => {
      const { world } = cast;
      const { controller } = world;
      if (!controller || !world.isUp) return;
      await cast.people.ask('stop', async (api) => {
        try {
          await api.stop();
        } finally {
          if (controller.runtime?.ended.aborted) {
            await controller.close();
            world.left(controller);
          }
        }
      });
      await world.clock.pass(dice.pick([0, 1_000, 60_000]));
    },
  ],
  'leave the city': [
    0.6,
    async ({ world }) => {
      const { controller } = world;
      if (!controller?.runtime || !world.isUp) return;
      world.note(`${controller.life.name} lets go`);
      void controller.runtime.detach().then(async () => {
        await controller.close();
        world.left(controller);
      });
      await world.clock.pass(60_000, () => world.controller !== controller);
    },
  ],
  answer: [
    2,
    (cast, dice) => {
      const asking = dice.maybe(cast.world.runtime.allLiving().filter((life) => life.pending));
      const id = asking?.pending?.request_id;
      if (!asking || id === undefined) return;
      return cast.people.answer(asking.name, id, dice.pick(['1', 'yes', 'no', 'approve']));
    },
  ],
  attach: [1, toAgent(({ world }, life) => world.runtime.attach(life, life.attached > 0 ? 0 : 1))],
  'answer at the start': [
    1,
    ({ world }) => {
      for (const life of world.runtime.allLiving()) {
        if (life.question === undefined) continue;
        life.question = undefined;
        world.runtime.shows(life);
      }
    },
  ],
  'clear the input box': [
    0.7,
    ({ world }) => {
      for (const life of world.runtime.allLiving()) life.draft = '';
    },
  ],
  ...UPKEEP_ACTS,
  // What agents do.
  crash: [3, toAgent(({ world }, life) => world.runtime.ends(life, { code: 1 }, 'oh no'))],
  exit: [1.5, toAgent(({ world }, life) => world.runtime.ends(life, { code: 0 }))],
  'usage limit': [
    0.5,
    toAgent(({ world }, life) =>
      world.runtime.ends(life, { code: 1 }, "You've hit your usage limit. Try again in 5 minutes."),
    ),
  ],
  'empty terminal': [
    0.5,
    toAgent((_cast, life) => {
      life.empty = true;
    }),
  ],
  busy: [
    2,
    toAgent(({ world }, life, dice) => {
      life.busyUntil = world.clock.monotonic() + dice.int(1_000, 60_000);
      world.runtime.shows(life);
    }),
  ],
  hang: [
    0.5,
    toAgent((_cast, life) => {
      life.busyUntil = Number.POSITIVE_INFINITY;
    }),
  ],
  speak: [1.5, toAgent(({ world }, life) => world.runtime.shows(life))],
  ask: [3, toAgent(({ world }, life, dice) => void (life.pending ?? world.runtime.asks(life, dice)))],
  'clear screen': [0.5, toAgent((_cast, life) => void life.screen.splice(0))],
  hook: [1.5, toAgent(({ agents }, life, dice) => agents.takeNudges(life, dice))],
  'say done': [1.5, toAgent(({ agents }, life) => agents.speaks(life, 'ack'))],
  'want a new life': [1, toAgent(({ agents }, life) => agents.speaks(life, 'restart'))],
  'hand over': [0.5, toAgent(({ agents }, life) => agents.speaks(life, 'handoff'))],
  'late word': [
    0.7,
    (cast, dice) => {
      const { runtime } = cast.world;
      const past = dice.maybe(runtime.lives.filter((life) => runtime.sessions.get(life.name) !== life));
      if (!past) return;
      const word = { instance_token: past.token };
      const record = cast.world.recordsNow().find((candidate) => candidate.sessionName === past.name);
      const isNow = record?.instanceToken === past.token;
      return cast.people.ask(
        `late word ${past.name}`,
        (api) =>
          dice.chance(0.5) ? api.acknowledgeDrain(past.name, word) : api.requestRestart(past.name, word),
        () => {
          if (record && !isNow) cast.world.violates(`${past.name} was told by an earlier life of it`);
        },
      );
    },
  ],
  // Work.
  'new work': [
    5,
    async ({ world }, dice) => {
      const agent = dice.pick(world.text.agents);
      const isNamed = agent.role === 'always' || agent.role === 'on_demand';
      const to = isNamed ? { assignee: agent.name } : { metadata: { 'gc.routed_to': agent.name } };
      const tells = dice.chance(0.7);
      await world.with(async ({ parts, runtime }) => {
        const bead = await parts.work.create({ title: 'work', ...to });
        world.note(`  work ${bead.id} for ${agent.name}`);
        if (tells) runtime?.poke();
      });
    },
  ],
  claim: [6, toAgent(({ agents }, life) => agents.claim(life))],
  finish: [3, ({ agents }, dice) => agents.finish(dice)],
  // The city file.
  'edit command': [
    1.5,
    edit(({ world }, dice) => {
      const agent = dice.pick(world.text.agents);
      agent.command = `run-${agent.name}-${dice.int(1, 3)}`;
    }),
  ],
  'edit limits': [
    1,
    edit(({ world }, dice) => {
      const pool = dice.maybe(world.text.agents.filter((agent) => agent.role === 'pool'));
      if (!pool) return;
      pool.max = dice.int(2, 4);
      pool.min = dice.int(0, 2);
    }),
  ],
  'add agent': [
    0.7,
    edit(({ world }, dice) => {
      if (world.text.agents.length > 7) return;
      const name = `new-${world.text.agents.length}-${dice.int(1, 9)}`;
      if (world.text.agents.some((agent) => agent.name === name)) return;
      world.text.agents.push(agentText(name, dice, world.text.agents));
    }),
  ],
  'remove agent': [
    0.7,
    edit(({ world }, dice) => {
      const { agents } = world.text;
      if (agents.length < 3) return;
      const { name } = dice.pick(agents);
      agents.splice(0, agents.length, ...agents.filter((agent) => agent.name !== name));
      for (const agent of agents) agent.dependsOn = agent.dependsOn.filter((other) => other !== name);
    }),
  ],
  'break the file': [
    0.6,
    edit(({ world }) => {
      world.text.broken = true;
    }),
  ],
  'mend the file': [
    1,
    edit(({ world }) => {
      world.text.broken = false;
    }),
  ],
  // The machine.
  'kill the controller': [3, ({ world }) => world.controller && world.kill(world.controller)],
  'stand still': [
    1,
    async ({ world }, dice) => {
      const { controller } = world;
      if (!controller) return;
      const ms = dice.pick([3_000, 10_000, 120_000]);
      world.note(`${controller.life.name} stands still for ${ms} ms`);
      controller.life.stoppedUntil = world.clock.monotonic() + ms;
      await world.clock.pass(ms);
    },
  ],
  'machine sleeps': [
    0.7,
    ({ world }, dice) => {
      const ms = dice.pick([60_000, 3_600_000, 90_000_000]);
      world.note(`  the machine sleeps for ${ms} ms`);
      world.clock.jumpWall(ms);
    },
  ],
  'clock is set': [
    0.7,
    ({ world }, dice) => {
      const ms = dice.pick([-3_600_000, -20_000, 4_000, 20_000]);
      world.note(`  the clock is set by ${ms} ms`);
      world.clock.jumpWall(ms);
    },
  ],
  'all is lost': [0.7, ({ world }) => world.runtime.lose('server gone')],
  'blind for a while': [
    0.7,
    async ({ world }, dice) => {
      world.weather.blind = true;
      world.note('  the runtime cannot be asked');
      await world.clock.pass(dice.int(1_000, 60_000));
      world.weather.blind = false;
    },
  ],
  'time goes on': [3, ({ world }, dice) => world.clock.pass(dice.int(10_000, 100_000))],
};
