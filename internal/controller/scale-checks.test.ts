import { expect, it } from 'vitest';
import type { Agent } from '../config/city.ts';
import type { CommandResult } from './run-command.ts';
import { type ScaleCheck, ScaleChecks } from './scale-checks.ts';
import { anAgent, aPoolCity } from './testing/pools.fixtures.ts';

interface Run {
  readonly key: string;
  readonly text: string;
  answer(stdout: string): Promise<void>;
}

function scene(names: readonly string[], atOnce = 2) {
  const agents = names.map((name) => anAgent({ name }));
  const daemon = { patrolIntervalMs: 30_000, probeConcurrency: atOnce };
  const city = { ...aPoolCity({ agents }), daemon } as unknown as ReturnType<typeof aPoolCity>;
  const running: Run[] = [];
  const told = new Map<string, string | undefined>();
  const time = { now: 1_000 };
  const checks = new ScaleChecks({
    time: { lived: () => time.now },
    run: (_city, { qualifiedName: key }: Agent, { text, signal }) =>
      new Promise<CommandResult>((resolve) => {
        const run: Run = {
          key,
          text,
          answer: async (stdout) => {
            running.splice(running.indexOf(run), 1);
            resolve({ kind: 'ok', stdout });
            await new Promise((done) => setImmediate(done));
          },
        };
        running.push(run);
        signal.addEventListener('abort', () => {
          running.splice(running.indexOf(run), 1);
          resolve({ kind: 'failed', how: 'ended' });
        });
      }),
    changed: () => undefined,
    progressed: () => undefined,
    complain: (key, what) => told.set(key, what),
  });
  const fresh = async (command = (agent: Agent) => `count ${agent.name}`) => {
    const all = agents.map(
      (agent): ScaleCheck => ({ key: agent.qualifiedName, agent, answers: 'count', command: command(agent) }),
    );
    checks.keepFresh(all, city);
    await new Promise((done) => setImmediate(done));
  };
  const runOf = (key: string) => running.find((run) => run.key === key);
  return { checks, running, runOf, told, time, fresh };
}

it('checks that hang keep nobody waiting for longer than they are thought to be quick, and are told of', async () => {
  const { checks, running, runOf, told, time, fresh } = scene(['a', 'b', 'c', 'd']);
  await fresh();
  expect(running.map(({ key }) => key)).toEqual(['a', 'b']);
  expect(told.size).toBe(0);
  time.now += 15_000;
  await fresh();
  expect(running.map(({ key }) => key)).toEqual(['a', 'b', 'c', 'd']);
  expect(told.get('a')).toBe('scale_check of agent "a" has not answered for 15 s: its pool stays as it is');
  await runOf('a')?.answer('3');
  expect(told.get('a')).toBeUndefined();
  expect(checks.count('a')).toEqual({ kind: 'count', count: 3 });
  time.now += 30_000;
  await fresh();
  time.now += 15_000;
  await fresh();
  expect(told.get('a')).toBe('scale_check of agent "a" has not answered for 15 s: its last answer stands');
});

it('a check that is written anew while it runs is ended, and the new one runs', async () => {
  const { checks, running, runOf, fresh } = scene(['a', 'b']);
  await fresh();
  await runOf('b')?.answer('1');
  await fresh(({ name }) => (name === 'a' ? 'mended' : `count ${name}`));
  await fresh(({ name }) => (name === 'a' ? 'mended' : `count ${name}`));
  expect(running.map(({ text }) => text)).toEqual(['mended']);
  expect(checks.count('a')).toEqual({ kind: 'unknown' });
  await runOf('a')?.answer('2');
  expect([checks.count('a'), checks.count('b')]).toMatchObject([{ count: 2 }, { count: 1 }]);
});

it('ends what runs when it ends, and what nobody asks for any more', async () => {
  const { checks, running, fresh } = scene(['a', 'b']);
  await fresh();
  checks.keepFresh([], aPoolCity({ agents: [] }));
  expect(running).toEqual([]);
  await fresh();
  expect(running).toHaveLength(2);
  await checks.end();
  expect(running).toEqual([]);
});
