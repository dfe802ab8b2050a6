import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { isSessionName as isRuntimeName } from '../runtime/name-rule.ts';
import { checkAlias, isSessionName } from '../session/names.ts';
import { decidePools } from './pools.ts';
import type { CommandRequest, CommandResult } from './run-command.ts';
import { CityHarness, type HarnessOptions } from './testing/city-harness.ts';
import { anAgent, aPoolCity, aPoolScene, waiting } from './testing/pools.fixtures.ts';

let h: CityHarness | undefined;
afterEach(async () => {
  await h?.end();
  h = undefined;
});

const yaml = (lines: readonly string[]) => ['workspace: { name: test }', ...lines, ''].join('\n');
const city = async (lines: readonly string[], options: HarnessOptions = {}) => {
  h = new CityHarness(yaml(lines), options);
  await h.up();
  return h;
};
const living = (of: CityHarness) =>
  [...of.provider.sessions].flatMap(([name, s]) => (s.ended ? [] : [name])).toSorted();
const work = (of: CityHarness, template: string) =>
  of.city.db.beads.create({ title: 'work', metadata: { 'gc.routed_to': template } });
const printed = (stdout: string): CommandResult => ({ kind: 'ok', stdout });
const answering = (answer: (command: string) => string) => {
  const asked: CommandRequest[] = [];
  const runCommand = async (request: CommandRequest) => {
    asked.push(request);
    return printed(answer(request.command));
  };
  return { asked, runCommand };
};

const POOL = (more: string) => ['agents:', `  - { name: p, start_command: run-p${more} }`];

describe('a pool whose config is edited', () => {
  it.each([
    ['a lower maximum', POOL(', max_active_sessions: 2')],
    ['a maximum of one', POOL(', max_active_sessions: 1')],
    ['none at all', POOL(', max_active_sessions: 0')],
    [
      'a limit of the city',
      [
        'workspace: { name: test, max_active_sessions: 1 }',
        ...POOL(', max_active_sessions: 5, drain_timeout: 20s'),
      ],
    ],
    ['no such agent', ['agents:', '  - { name: other, start_command: run-other }']],
    ['another command', POOL(', max_active_sessions: 5, args: [x]').map((l) => l.replace('run-p', 'run-q'))],
    ['names from a list', POOL(', max_active_sessions: 5, namepool: names.txt')],
  ])('ends nobody who works: %s', async (_what, lines) => {
    const of = await city(POOL(', max_active_sessions: 5, drain_timeout: 20s'));
    writeFileSync(join(of.dir, 'names.txt'), 'tom\nfelix\n');
    const beads = [await work(of, 'p'), await work(of, 'p'), await work(of, 'p')];
    of.runtime.poke();
    await of.until(() => living(of).length === 3);
    await of.running(3);
    for (const [i, name] of living(of).entries()) {
      of.provider.waitForIdleErrors.set(name, undefined);
      await of.city.db.beads.claim(beads[i]?.id ?? '', name);
    }
    of.runtime.poke();
    const without = lines[0]?.startsWith('workspace') ? lines : ['workspace: { name: test }', ...lines];
    of.writeConfig([...without, ''].join('\n').replace(', args: [x]', ''));
    await of.settled(of.api.reload());
    await of.pass(35_000);
    expect(living(of)).toEqual(['p-1', 'p-2', 'p-3']);
    expect(of.provider.log.count('Stop')).toBe(0);
    expect(of.starts()).toBe(3);
    for (const bead of beads) await of.city.db.beads.close(bead.id);
    of.runtime.poke();
    await of.until(() => living(of).length === 0);
    expect(await of.city.db.events.list({ type: 'session.crashed' })).toEqual([]);
  });

  it('work that is taken in the last moment keeps its session', async () => {
    const of = await city(POOL(', max_active_sessions: 2, drain_timeout: 20s'));
    const bead = await work(of, 'p');
    of.runtime.poke();
    await of.running(1);
    await of.city.db.beads.close(bead.id);
    const late = await of.city.db.beads.create({ title: 'late' });
    of.provider.waitForIdleErrors.set('p-1', undefined);
    const apply = of.city.db.transaction.bind(of.city.db);
    let taken = false;
    // Between the decision to stop and the first thing that the stop does.
    of.city.db.transaction = async (work) => {
      const [record] = await of.records();
      if (
        !taken &&
        record?.state === 'draining' &&
        of.runtime.engine.executor.operations.get('p-1')?.kind === 'stop'
      ) {
        taken = true;
        await of.city.db.beads.claim(late.id, 'p-1');
      }
      return apply(work);
    };
    of.runtime.poke();
    await of.until(() => taken);
    await of.pass(60_000);
    expect(living(of)).toEqual(['p-1']);
    expect((await of.records('active')).length).toBe(1);
    await of.city.db.beads.close(late.id);
    of.runtime.poke();
    await of.until(() => living(of).length === 0);
  });
});

describe('public reports about pools', () => {
  const SINGLE = [
    'agents:',
    '  - { name: a, start_command: run-a, max_active_sessions: 1 }',
    'named_sessions: [{ template: a, mode: always }]',
  ];
  const NUMBERED = ['agents:', '  - { name: a, start_command: run-a, max_active_sessions: 3 }'];

  it.each([true, false])(
    'POL-03 a leftover a-1 is gone before a comes, with a record: %s',
    async (recorded) => {
      const of = await city(NUMBERED);
      await work(of, 'a');
      of.runtime.poke();
      await of.running(1);
      of.provider.waitForIdleErrors.set('a-1', undefined);
      const [bead] = await of.city.db.beads.list({ status: 'open', notTypes: ['session'] });
      await of.city.db.beads.close(bead?.id ?? '');
      if (!recorded) for (const { id } of await of.records()) await of.city.db.beads.close(id);
      of.kill();
      of.writeConfig(yaml(SINGLE));
      await of.up();
      let most = 0;
      await of.until(() => {
        most = Math.max(most, living(of).length);
        return living(of).join() === 'a';
      });
      await of.pass(60_000);
      expect(most).toBe(1);
      expect((await of.records()).map((r) => r.sessionName)).toEqual(['a']);
    },
  );

  it('POL-03 a leftover that works is let finish, and a waits for it', async () => {
    const of = await city(NUMBERED);
    const bead = await work(of, 'a');
    of.runtime.poke();
    await of.running(1);
    of.provider.waitForIdleErrors.set('a-1', undefined);
    await of.city.db.beads.claim(bead.id, 'a-1');
    of.kill();
    of.writeConfig(yaml(SINGLE));
    await of.up();
    await of.pass(60_000);
    expect(living(of)).toEqual(['a-1']);
    expect((await of.api.explain('a')).decisions.at(-1)).toMatchObject({
      what: 'wait',
      why: 'for a place: max_active_sessions of agent a is 1',
    });
    await of.city.db.beads.close(bead.id);
    of.runtime.poke();
    await of.until(() => living(of).join() === 'a');
  });

  it.each([
    ['a pool', '', 'a-1'],
    ['an agent of one session', ', max_active_sessions: 1', 'a'],
  ])('POL-06 the scale check of %s runs beside an on-demand session', async (_what, more, woken) => {
    let count = '0';
    const { asked, runCommand } = answering(() => count);
    const of = await city(
      [
        'agents:',
        `  - { name: a, start_command: run-a, scale_check: count-work${more} }`,
        'named_sessions: [{ template: a, mode: on_demand }]',
      ],
      { runCommand },
    );
    await of.pass(100_000);
    expect(asked.length).toBeGreaterThanOrEqual(3);
    expect(living(of)).toEqual([]);
    count = '1';
    await of.until(() => living(of).length === 1);
    expect(living(of)).toEqual([woken]);
  });

  it('POL-01 says that its sessions come and go in vain, until some work is taken', async () => {
    let count = '1';
    const { runCommand } = answering(() => count);
    const of = await city(POOL(', max_active_sessions: 2, scale_check: echo'), { runCommand });
    of.provider.scripts.set('p-1', { livesMs: 500 });
    await of.until(async () => (await of.api.status()).problems.length > 0);
    expect((await of.api.status()).problems).toEqual([
      expect.stringContaining('sessions of agent "p" come and go and take no work'),
    ]);
    count = '0';
    await of.until(async () => (await of.api.status()).problems.length === 0);
  });

  it('POL-08 hooks of many pools run a few at once, and all of them', async () => {
    let now = 0;
    let most = 0;
    const done: string[] = [];
    const runCommand = async ({ command }: CommandRequest) => {
      now += 1;
      most = Math.max(most, now);
      for (let i = 0; i < 3; i += 1) await new Promise((resolve) => setImmediate(resolve));
      now -= 1;
      done.push(command);
      return printed('');
    };
    const pools = Array.from(
      { length: 30 },
      (_, i) => `  - { name: p${i}, start_command: run, on_boot: boot-${i} }`,
    );
    const of = await city(['agents:', ...pools], { runCommand });
    await of.until(() => done.length === 30);
    expect(most).toBe(8);
    expect(new Set(done).size).toBe(30);
  });

  const someName = fc.oneof(
    fc.constantFrom(
      'human',
      'status',
      's-1',
      'gc-12',
      'tom cat',
      '-x',
      'a.b',
      'x/y',
      'é',
      '.',
      'poll',
      'felix',
    ),
    fc.string({ maxLength: 12 }),
    fc.stringMatching(/^[a-zA-Z0-9_.-]{1,20}$/),
    fc.string({ minLength: 60, maxLength: 220, unit: fc.constantFrom('a', 'b', '-') }),
  );

  it('POL-07 every name that a pool can produce is valid in every layer, and no two are the same', () => {
    const agentName = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,70}$/);
    fc.assert(
      fc.property(
        fc.record({
          agents: fc.uniqueArray(agentName, { minLength: 1, maxLength: 3 }),
          dir: fc.constantFrom('', 'R'),
          names: fc.array(someName, { maxLength: 6 }),
          template: fc.constantFrom('', '{{.City}}-{{.Name}}', '{{.Agent}}'),
          demand: fc.integer({ min: 1, max: 8 }),
        }),
        ({ agents, dir, names, template, demand }) => {
          const pools = agents.map((name) => anAgent({ name, dir, namepoolNames: names }));
          const of = aPoolCity({ agents: pools, workspace: { sessionTemplate: template } });
          const counts = Object.fromEntries(pools.map((agent) => [agent.qualifiedName, demand]));
          const { slots, wanted } = decidePools(aPoolScene(of, { work: waiting(counts) }));
          for (const { sessionName, identity } of slots) {
            expect(isSessionName(sessionName) && isRuntimeName(sessionName)).toBe(true);
            expect(() => checkAlias(identity)).not.toThrow();
          }
          expect(new Set(slots.map((slot) => slot.sessionName)).size).toBe(slots.length);
          expect(wanted.size).toBe(slots.length);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('POL-07 names that nobody can have are left out, and the pool goes on without them', () => {
    const names = ['tom cat', 'human', 'felix', 's-1', 'x'.repeat(201)];
    const agent = anAgent({ name: 'cat', namepoolNames: names });
    const scene = aPoolScene(aPoolCity({ agents: [agent] }), { work: waiting({ cat: 3 }) });
    expect([...decidePools(scene).wanted.keys()]).toEqual(['felix', 'cat-6', 'cat-7']);
  });
});

describe('what a command may answer', () => {
  it.each([
    ['-1', 'printed "-1", less than none'],
    ['10001', 'printed "10001", more than 10000'],
    ['9'.repeat(400), `printed "${'9'.repeat(80)}", more than 10000`],
    ['x'.repeat(60_000), `printed no number: "${'x'.repeat(80)}"`],
    ['1 2', 'printed no number: "1 2"'],
    ['2.5', 'printed no number: "2.5"'],
    ['', 'printed nothing'],
  ])('%.20s is told once, and leaves the floor', async (answer, told) => {
    const { runCommand } = answering((command) => (command === 'bad' ? answer : '2'));
    const of = await city(
      [
        'agents:',
        '  - { name: p, start_command: run-p, min_active_sessions: 1, max_active_sessions: 4, scale_check: bad }',
        '  - { name: q, start_command: run-q, max_active_sessions: 4, scale_check: good }',
      ],
      { runCommand },
    );
    await of.until(() => living(of).join() === 'p-1,q-1,q-2', 1_000);
    await of.pass(35_000);
    expect((await of.api.status()).problems).toEqual([
      `scale_check of agent "p" ${told}: its pool keeps min_active_sessions`,
    ]);
    expect(of.lines.filter((line) => line.includes('scale_check')).length).toBeLessThanOrEqual(1);
    expect(living(of)).toEqual(['p-1', 'q-1', 'q-2']);
  });

  it('a work_query of its own wakes an on-demand session, and keeps one worker of a pool', async () => {
    let found = '[]';
    const { asked, runCommand } = answering((command) => (command.startsWith('find') ? found : ''));
    const of = await city(
      [
        'agents:',
        '  - { name: r, start_command: run-r, max_active_sessions: 1, work_query: find-for-r, sleep_after_idle: 1m }',
        '  - { name: p, start_command: run-p, max_active_sessions: 3, work_query: find-for-p }',
        'named_sessions: [{ template: r, mode: on_demand }]',
      ],
      { runCommand },
    );
    await of.pass(100_000);
    expect(living(of)).toEqual([]);
    expect(asked.every(({ env }) => env['GC_SESSION_NAME'] === '')).toBe(true);
    found = '{"id": "x-1"}';
    await of.until(() => living(of).length === 1);
    expect(living(of)).toEqual(['r']);
    const bead = await work(of, 'p');
    of.runtime.poke();
    await of.until(() => living(of).includes('p-1'));
    for (const name of living(of)) of.provider.waitForIdleErrors.set(name, undefined);
    await of.city.db.beads.close(bead.id);
    await of.pass(100_000);
    expect(living(of)).toEqual(['p-1', 'r']);
    found = 'No ready work found';
    await of.until(() => living(of).length === 0);
  });
});

describe('from demand to a ready worker', () => {
  it('takes one look and the start of the agent, and no patrol', async () => {
    const of = await city(POOL(', max_active_sessions: 20'));
    of.provider.scripts.fallback = { delayMs: 700 };
    await of.pass(5_000);
    const looks = of.provider.log.count('Observe');
    for (let i = 0; i < 3; i += 1) await work(of, 'p');
    const began = of.clock.monotonic();
    of.runtime.poke();
    await of.until(() => of.starts() === 3, 100);
    expect(of.clock.monotonic() - began).toBeLessThanOrEqual(100);
    await of.running(3);
    expect(of.clock.monotonic() - began).toBeLessThanOrEqual(900);
    // One that decides, one after each start.
    expect(of.provider.log.count('Observe') - looks).toBeLessThanOrEqual(5);
  });

  it('takes one scale check and the start of the agent', async () => {
    let count = '0';
    const { asked, runCommand } = answering(() => count);
    const of = await city(POOL(', max_active_sessions: 20, scale_check: count-work'), { runCommand });
    of.provider.scripts.fallback = { delayMs: 700 };
    await of.pass(5_000);
    const before = asked.length;
    count = '3';
    const began = of.clock.monotonic();
    of.runtime.poke();
    await of.until(() => of.starts() === 3, 200);
    expect(asked.length - before).toBe(1);
    await of.running(3);
    expect(of.clock.monotonic() - began).toBeLessThanOrEqual(1_000);
  });
});
