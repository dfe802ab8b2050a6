import { afterEach, describe, expect, it } from 'vitest';
import { type Ids, seededIds } from '../platform/ids.ts';
import type { NudgeOptions, NudgeOutcome } from '../runtime/provider.ts';
import { UNCERTAIN } from '../session/inbox.ts';
import { CityHarness, cityYaml } from './testing/city-harness.ts';

/** Seeds that once failed stay; `GC_SIM_SEED` runs one alone. */
const ONE = process.env['GC_SIM_SEED'];
const SEEDS = ONE === undefined ? [1, 2, 3, 4, 5, 6] : [Number(ONE)];
const NAMES = ['mayor', 'worker'];
const SENDERS = ['human', 'witness', 'deacon'];
const MESSAGES = 36;
const GIVEN_UP = new RegExp(`^(${UNCERTAIN}|5 tries went wrong)`);

let h: CityHarness;
afterEach(() => h.end());

const told = (name: string): readonly string[] => h.provider.sessions.get(name)?.messages ?? [];

/** A screen as an agent draws it: what it was told, and an empty input box. */
function drawScreens(): void {
  for (const name of NAMES) {
    const lines = told(name).flatMap((text) => [`> ${text}`, 'done']);
    h.provider.peekOutput.set(name, ['welcome', ...lines, '> '].join('\n'));
  }
}

/** Each delivery may find the agent busy, or be the last thing that its controller does, at any of its steps. */
function chaos(ids: Ids): { calm: boolean } {
  const state = { calm: false };
  const { provider } = h;
  const nudge = provider.nudge.bind(provider);
  const peek = provider.peek.bind(provider);
  provider.peek = (name, lines) => {
    drawScreens();
    return peek(name, lines);
  };
  provider.nudge = async (name, content, options: NudgeOptions = {}) => {
    const roll = state.calm ? 1 : ids.random();
    const dies = () => {
      h.kill();
      return new Promise<NudgeOutcome>(() => undefined);
    };
    if (roll < 0.1) return dies();
    if (roll < 0.2) {
      await options.beforeTyping?.();
      return dies();
    }
    if (roll < 0.3) {
      await nudge(name, content, options);
      return dies();
    }
    if (roll < 0.5) return { kind: 'busy', detail: 'at work' };
    if (roll < 0.55) return { kind: 'failed', detail: 'a fault' };
    return nudge(name, content, options);
  };
  return state;
}

async function up(): Promise<void> {
  const rising = h.up();
  rising.catch(() => undefined); // killed while it came up
  await h.until(() => h.killed || h.isUp);
}

describe('messages while controllers are killed at every step', () => {
  it.each(SEEDS)('seed %i', async (seed) => {
    const ids = seededIds(`inbox:${seed}`);
    h = new CityHarness(cityYaml(NAMES.map((name) => [name, 'ready_prompt_prefix: "> "'] as const)), {
      seed,
    });
    await h.up();
    await h.running(NAMES.length);
    const weather = chaos(ids);
    const sent: { readonly id: string; readonly name: string; readonly sender: string }[] = [];
    for (let n = 0; n < MESSAGES; n += 1) {
      while (!h.isUp) await up();
      const name = NAMES[n % NAMES.length] ?? '';
      const sender = SENDERS[Math.floor(ids.random() * SENDERS.length)] ?? '';
      const id = `m${n}.`;
      const delivery = ids.random() < 0.5 ? 'queue' : 'wait-idle';
      const request = { id, text: `${id} from ${sender}`, sender, delivery, wait_idle_ms: 1_000 } as const;
      let isOver = false;
      const over = () => {
        isOver = true;
      };
      h.api.nudge(name, request).then(over, over);
      await h.until(() => isOver || h.killed);
      sent.push({ id, name, sender });
      await h.pass(ids.random() < 0.3 ? 3_000 : 100);
    }
    weather.calm = true;
    while (!h.isUp) await up();
    await h.until(async () => (await h.api.nudgeQueues()).every((queue) => queue.waiting === 0), 600_000);

    for (const name of NAMES) {
      const arrived = told(name).map((text) => text.split(' ')[0] ?? '');
      expect(new Set(arrived).size).toBe(arrived.length);
      const mine = sent.filter((each) => each.name === name);
      for (const { id } of mine) {
        const row = await h.runtime.inbox.store.find(id);
        if (row === undefined) continue; // killed before it was committed: its sender had no answer
        if (arrived.includes(id)) expect(['accepted', 'dead'], `${id} ${row.lastError}`).toContain(row.state);
        else if (row.state === 'dead') expect(row.lastError).toMatch(GIVEN_UP);
        else expect(row, id).toMatchObject({ state: 'refused', lastError: 'a fault' });
      }
      for (const sender of SENDERS) {
        const order = mine.filter((each) => each.sender === sender).map(({ id }) => id);
        expect(arrived.filter((id) => order.includes(id))).toEqual(
          order.filter((id) => arrived.includes(id)),
        );
      }
    }
  });
});
