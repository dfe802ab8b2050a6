import { readFileSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import { installAgent } from '../conformance/provider/agents.ts';
import { rounds } from '../internal/platform/testing/campaign.ts';
import { mainly } from './support/cities.ts';
import { until, World } from './support/program.ts';
import { heardBy, recorderLine } from './support/recorder.ts';

const COUNT = rounds(1_000, 48);
const SENDERS = 8;
const SESSIONS = ['a', 'b', 'c', 'd', 'e'];
/** Controller and what hosts the sessions, in turn. */
const KILLS = rounds(20, 2);
const KILL_AT = Array.from({ length: KILLS }, (_, n) => Math.round((COUNT * (n + 1)) / (KILLS + 1)));
const LIMIT_MS = COUNT * 2_000;
/** A status costs as much as a delivery. */
const STATUS_PAUSE_MS = 1_000;
/** Characters of the messages, in turn. */
const SIZES = [12, 300, 4_000, 80, 20_000, 30];

let world: World;
afterEach(() => world.dispose());

interface Message {
  readonly sender: number;
  readonly session: string;
  readonly text: string;
}

function messages(): readonly Message[] {
  return Array.from({ length: COUNT }, (_, n) => {
    const size = SIZES[n % SIZES.length] ?? 0;
    const body = `line of ${n}\n`
      .repeat(Math.ceil(size / 12))
      .slice(0, size)
      .trim();
    return { sender: n % SENDERS, session: SESSIONS[n % SESSIONS.length] ?? 'a', text: `#${n} ${body}` };
  });
}

const heard = (city: string, session: string): readonly string[] =>
  heardBy(city, session).filter((text) => text.startsWith('#'));

interface Dead {
  readonly message: string;
  readonly last_error?: string;
}

async function waitingIn(
  city: string,
): Promise<{ readonly waiting: number; readonly dead: readonly Dead[] }> {
  const queues = JSON.parse(
    await world.ok(['--city', city, 'nudge', 'status', '--all', '--json']),
  ) as readonly { readonly waiting: number; readonly dead: readonly Dead[] }[];
  return {
    waiting: queues.reduce((sum, queue) => sum + queue.waiting, 0),
    dead: queues.flatMap((queue) => queue.dead),
  };
}

/** The session host, or the tmux server. */
function hostPids(of: World): readonly number[] {
  const hosts = of
    .processes()
    .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('/host.js'));
  return [...hosts, ...of.tmuxServers()];
}

it.each(mainly('subprocess'))(
  `${COUNT} messages of ${SENDERS} processes arrive once, whole and in order, while controller and host are killed ${KILLS} times ($provider)`,
  async ({ provider }) => {
    world = new World(provider);
    const city = world.city('busy', {
      'city.yaml': [
        'workspace: { name: busy }',
        'agents:',
        ...SESSIONS.map(recorderLine),
        'named_sessions:',
        ...SESSIONS.map((name) => `  - { template: ${name}, mode: always }`),
        '',
      ].join('\n'),
    });
    installAgent({ kind: 'recorder' }, city);
    await world.ok(['--city', city, 'start']);

    const accepted: Message[] = [];
    const all = messages();
    let sent = 0;
    let killed = 0;
    let kills: Promise<unknown> = Promise.resolve();
    const kill = async () => {
      killed += 1;
      if (killed % 2 === 0) {
        for (const pid of hostPids(world)) process.kill(pid, 'SIGKILL');
        return;
      }
      const { controller } = await world.status(city);
      if (controller.pid) process.kill(controller.pid, 'SIGKILL');
      await world.ok(['--city', city, 'start']);
    };
    const sender = async (number: number) => {
      for (const message of all.filter((each) => each.sender === number)) {
        const words = ['--city', city, 'session', 'nudge', message.session, '-', '--delivery', 'queue'];
        const ran = await world.gc(words, { input: message.text });
        if (ran.code === 0) accepted.push(message);
        sent += 1;
        if (KILL_AT.includes(sent)) kills = kills.then(kill);
      }
    };
    await Promise.all(Array.from({ length: SENDERS }, (_, number) => sender(number)));
    await kills;
    const { dead } = await until(
      'an end of every message',
      async () => {
        const found = await waitingIn(city);
        if (found.waiting === 0) return found;
        await new Promise((resolve) => setTimeout(resolve, STATUS_PAUSE_MS));
        return undefined;
      },
      LIMIT_MS,
    );

    expect(killed).toBe(KILLS);
    expect(accepted.length).toBeGreaterThan(COUNT * 0.9);
    // At most what was being typed at a kill, one per session; each says that it may have arrived.
    expect(dead.length).toBeLessThanOrEqual(KILLS * SESSIONS.length);
    for (const item of dead) expect(item.last_error).toMatch(/^uncertain/);
    const uncertain = new Set(dead.map((item) => item.message));
    for (const session of SESSIONS) {
      const got = heard(city, session);
      expect(new Set(got).size).toBe(got.length);
      const mine = accepted.filter((message) => message.session === session);
      for (const { text } of mine) {
        expect(got.includes(text) || uncertain.has(text), text.slice(0, 20)).toBe(true);
      }
      for (let number = 0; number < SENDERS; number += 1) {
        const order = mine.filter((message) => message.sender === number && got.includes(message.text));
        const texts = new Set(order.map(({ text }) => text));
        expect(got.filter((text) => texts.has(text))).toEqual(order.map(({ text }) => text));
      }
    }
  },
  LIMIT_MS + 120_000,
);
