import { type Act, type Cast, target } from './cast.ts';
import type { Dice } from './dice.ts';

/** What sessions wait for, what keeps them in order, and standing answers. */
export const UPKEEP_ACTS: Readonly<Record<string, readonly [weight: number, act: Act]>> = {
  'wait for something': [3, waitForSomething],
  'end a wait': [
    1,
    (cast, dice) => {
      const what = dice.pick(['cancel', 'ready', 'inspect'] as const);
      return cast.people.ask(`${what} a wait`, async (api) => {
        const wait = dice.maybe(await api.waits.list());
        if (!wait) return;
        cast.world.note(`  ${what} ${wait.id} of ${wait.session_name} (${wait.state})`);
        await api.waits[what](wait.id);
      });
    },
  ],
  pin: [
    1.5,
    (cast, dice) => {
      const whom = target(cast, dice);
      const what = dice.pick(['pin', 'unpin'] as const);
      return cast.people.holding(whom, (api) => api.upkeep[what](whom), what);
    },
  ],
  reset: [
    0.7,
    (cast, dice) => {
      const whom = target(cast, dice);
      return cast.people.holding(whom, (api) => api.upkeep.reset(whom), 'reset');
    },
  ],
  prune: [
    0.4,
    (cast, dice) => {
      cast.people.holds.clear();
      return cast.people.ask('prune', (api) =>
        api.upkeep.prune({ before_ms: dice.pick([1_000, 60_000, 3_600_000]) }),
      );
    },
  ],
  submit: [2, (cast, dice) => cast.people.submit(target(cast, dice), dice)],
  match: [
    0.3,
    (cast, dice) => cast.people.ask('match', (api) => api.upkeep.matching(dice.pick(['*', 'a*', 'x?']))),
  ],
  'add a rule': [
    0.7,
    (cast, dice) => {
      const effect = dice.pick(['allow', 'deny'] as const);
      const agent = dice.pick(cast.world.text.agents).name;
      const rule = { effect, scope: 'city', agent, tool: dice.pick(['Bash', '*']) } as const;
      return cast.people.ask(`rule ${effect} ${agent}`, (api) => api.rules.add(rule));
    },
  ],
  'remove a rule': [
    0.4,
    (cast, dice) =>
      cast.people.ask('no rule', async (api) => {
        const rule = dice.maybe(await api.rules.list());
        if (rule) await api.rules.remove(rule.id);
      }),
  ],
  trace: [
    0.4,
    (cast, dice) => {
      const template = dice.pick(cast.world.text.agents).name;
      return cast.people.ask(`trace ${template}`, (api) =>
        dice.chance(0.7)
          ? api.trace.arm({ template, for_ms: 60_000, level: 'detail', source: 'manual' })
          : api.trace.disarm({ template, all: true }),
      );
    },
  ],
};

/** On work, on a time or on another session, awake or asleep meanwhile. */
function waitForSomething(cast: Cast, dice: Dice): Promise<void> {
  const whom = target(cast, dice);
  const other = target(cast, dice);
  const kind = dice.pick(['work', 'work', 'time', 'session'] as const);
  const sleep = dice.chance(0.5);
  const forMs = dice.int(2_000, 120_000);
  const expiresMs = dice.chance(0.3) ? dice.int(10_000, 300_000) : undefined;
  const mode = dice.pick(['all', 'any'] as const);
  return cast.people.holding(
    whom,
    async (api) => {
      const open = await cast.world.openWork();
      const bead = dice.maybe(open);
      await api.waits.register(whom, {
        on_beads: kind === 'work' && bead !== undefined ? [bead] : [],
        on_sessions: kind === 'session' ? [other] : [],
        ...(kind === 'time' ? { for_ms: forMs } : {}),
        ...(expiresMs === undefined ? {} : { expires_in_ms: expiresMs }),
        mode,
        note: 'go on',
        sleep,
        created_by: '',
      });
    },
    `wait on ${kind}${sleep ? ' asleep' : ''}`,
  );
}
