import { afterEach, describe, expect, it } from 'vitest';
import type { CommandRequest, CommandResult } from './run-command.ts';
import { CityHarness, type HarnessOptions } from './testing/city-harness.ts';

let harness: CityHarness;
const city = (yaml: string, options: HarnessOptions = {}) => {
  harness = new CityHarness(yaml, options);
  return harness;
};

afterEach(() => harness.end());

const poolYaml = (lines: readonly string[] = [], more: readonly string[] = []) =>
  [
    'workspace: { name: test }',
    'agents:',
    '  - name: polecat',
    '    start_command: run-polecat',
    '    max_active_sessions: 3',
    ...lines.map((line) => `    ${line}`),
    '  - name: mayor',
    '    start_command: run-mayor',
    'named_sessions:',
    '  - { template: mayor, mode: always }',
    ...more,
    '',
  ].join('\n');

const work = (h: CityHarness, template = 'polecat') =>
  h.city.db.beads.create({ title: 'work', metadata: { 'gc.routed_to': template } });

/** What an agent does with its work: the store, then a word to the controller. */
const take = async (h: CityHarness, id: string, assignee: string) => {
  await h.city.db.beads.claim(id, assignee);
  h.runtime.poke();
};
const finish = async (h: CityHarness, id: string) => {
  await h.city.db.beads.close(id);
  h.runtime.poke();
};

const living = (h: CityHarness) =>
  [...h.provider.sessions].flatMap(([name, session]) => (session.ended ? [] : [name])).toSorted();
const poolRecords = async (h: CityHarness) => (await h.records()).filter((r) => r.template === 'polecat');
const are = (h: CityHarness, ...names: string[]) =>
  h.until(() => living(h).join() === ['mayor', ...names].toSorted().join());

describe('a pool without a scale check of its own', () => {
  it('has a session for each piece of waiting work, known by its instance', async () => {
    const h = city(poolYaml());
    await h.up();
    await h.running(1);
    await work(h);
    await work(h);
    h.runtime.poke();
    await are(h, 'polecat-1', 'polecat-2');
    expect(h.provider.log.lastStartConfig('polecat-2')?.env).toMatchObject({
      GC_AGENT: 'polecat-2',
      GC_ALIAS: 'polecat-2',
      GC_TEMPLATE: 'polecat',
      GC_SESSION_ORIGIN: 'ephemeral',
    });
    expect((await poolRecords(h)).map((r) => [r.agentName, r.metadata['pool_slot']]).toSorted()).toEqual([
      ['polecat-1', '1'],
      ['polecat-2', '2'],
    ]);
  });

  it('POL-05 sees new work at the next patrol even when nobody says so', async () => {
    const h = city(poolYaml());
    await h.up();
    await h.running(1);
    await h.pass(60_000);
    await work(h);
    await h.until(() => living(h).includes('polecat-1'), 61_000);
  });

  it('POL-02 never has more than its limit, however long they take to come up', async () => {
    const h = city(poolYaml());
    h.provider.scripts.fallback = { delayMs: 20_000 };
    await h.up();
    for (let i = 0; i < 6; i += 1) await work(h);
    for (let i = 0; i < 30; i += 1) {
      h.runtime.poke();
      await h.pass(1_000);
      expect(living(h).length).toBeLessThanOrEqual(4);
    }
    await are(h, 'polecat-1', 'polecat-2', 'polecat-3');
  });

  it('lets go of those without work when there is less, and closes their records', async () => {
    const h = city(poolYaml());
    for (const name of ['polecat-1', 'polecat-2']) h.provider.waitForIdleErrors.set(name, undefined);
    await h.up();
    const first = await work(h);
    const second = await work(h);
    h.runtime.poke();
    await are(h, 'polecat-1', 'polecat-2');
    await h.running(3);
    await take(h, first.id, 'polecat-2');
    await finish(h, second.id);
    await are(h, 'polecat-2');
    await h.pass(60_000);
    expect(living(h)).toEqual(['mayor', 'polecat-2']);
    await h.until(async () => (await poolRecords(h)).length === 1);
    await finish(h, first.id);
    await are(h);
    await h.until(async () => (await poolRecords(h)).length === 0);
    expect(await h.city.db.events.list({ type: 'session.crashed' })).toEqual([]);
  });

  it('a worker that takes work while it is let go is told so at once, and stays', async () => {
    const h = city(poolYaml());
    for (const name of ['polecat-1', 'polecat-2']) h.provider.busyUntil.set(name, Number.POSITIVE_INFINITY);
    await h.up();
    const [first, second] = [await work(h), await work(h)];
    h.runtime.poke();
    await h.running(3);
    await take(h, first.id, 'polecat-1');
    await finish(h, second.id);
    const flags = () =>
      [...(h.provider.meta.get('polecat-2')?.keys() ?? [])].filter((key) => /DRAIN/.test(key));
    await h.until(() => flags().length > 0);
    const third = await work(h);
    await take(h, third.id, 'polecat-2');
    await h.until(async () => (await h.api.session('polecat-2')).condition !== 'draining', 500);
    expect(flags()).toEqual([]);
    await h.pass(310_000);
    expect(living(h)).toEqual(['mayor', 'polecat-1', 'polecat-2']);
  });

  it('an agent that leaves when its work is done did not crash, and the next work gets a new session', async () => {
    const h = city(poolYaml());
    await h.up();
    await h.running(1);
    const ids = new Set<string>();
    for (let round = 0; round < 7; round += 1) {
      const bead = await work(h);
      const more = await work(h);
      h.runtime.poke();
      await are(h, 'polecat-1', 'polecat-2');
      await h.running(3);
      await take(h, bead.id, 'polecat-1');
      await finish(h, more.id);
      await finish(h, bead.id);
      await h.pass(100);
      for (const name of ['polecat-1', 'polecat-2'].filter((n) => living(h).includes(n))) {
        ids.add((await poolRecords(h)).find((r) => r.sessionName === name)?.id ?? '');
        h.provider.crash(name, { code: 0 });
      }
      await are(h);
      await h.until(async () => (await poolRecords(h)).length === 0);
    }
    expect(ids.size).toBeGreaterThanOrEqual(7);
    expect(await h.city.db.events.list({ type: 'session.crashed' })).toEqual([]);
  });

  it.each([{ code: 0 }, {}])(
    'an agent that is done before it was ready did not crash either: %j',
    async (exit) => {
      const h = city(poolYaml());
      await h.up();
      await h.running(1);
      h.provider.scripts.fallback = { delayMs: 5_000 };
      for (let round = 1; round <= 5; round += 1) {
        const bead = await work(h);
        h.runtime.poke();
        await are(h, 'polecat-1');
        await take(h, bead.id, 'polecat-1');
        await h.pass(1_000);
        await finish(h, bead.id);
        h.provider.crash('polecat-1', exit);
        await h.until(async () => (await poolRecords(h)).length === 0, 10_000);
        expect(h.starts('polecat-1')).toBe(round);
      }
      const told = await h.city.db.events.list({});
      expect(told.filter(({ type }) => /crashed|quarantined/.test(type))).toEqual([]);
      expect(told.filter(({ message }) => message === 'finished its work')).toHaveLength(5);
    },
  );

  it('goes on at once with the next piece when one is done', async () => {
    const h = city(poolYaml(['max_active_sessions: 2']).replace('    max_active_sessions: 3\n', ''));
    await h.up();
    const beads = [];
    for (let i = 0; i < 8; i += 1) beads.push(await work(h));
    h.runtime.poke();
    for (const bead of beads) {
      const free = await h.until(async () => {
        const busy = await h.city.db.beads.list({ status: 'in_progress' });
        return (await poolRecords(h)).find(
          (r) =>
            r.state === 'active' &&
            living(h).includes(r.sessionName) &&
            !busy.some((b) => b.assignee === r.alias),
        );
      }, 5_000);
      await take(h, bead.id, free.alias);
      await h.pass(1_000);
      await finish(h, bead.id);
      h.provider.crash(free.sessionName, { code: 0 });
    }
    await are(h);
    expect(await h.city.db.events.list({ type: 'session.crashed' })).toEqual([]);
  });

  it('POL-01 backs off when its sessions come and go and take nothing', async () => {
    const h = city(poolYaml());
    h.provider.scripts.set('polecat-1', { livesMs: 500 });
    await h.up();
    await work(h);
    h.runtime.poke();
    await h.pass(120_000);
    expect(h.starts('polecat-1')).toBeLessThanOrEqual(9);
    expect(await h.api.session('polecat-1')).toMatchObject({ condition: 'backing-off' });
  });

  it('a session that crashes comes back with its work in its hands', async () => {
    const h = city(poolYaml());
    await h.up();
    const bead = await work(h);
    h.runtime.poke();
    await are(h, 'polecat-1');
    await h.running(2);
    await take(h, bead.id, 'polecat-1');
    const [before] = await poolRecords(h);
    h.provider.crash('polecat-1', { code: 1 }, 'oh no');
    await h.until(() => h.starts('polecat-1') === 2);
    expect((await poolRecords(h)).map((r) => r.id)).toEqual([before?.id]);
    expect((await h.city.db.beads.get(bead.id)).assignee).toBe('polecat-1');
    expect(await h.city.db.events.list({ type: 'session.crashed' })).toHaveLength(1);
  });

  it('gives the work of a session that is closed to the others', async () => {
    const h = city(poolYaml());
    await h.up();
    const bead = await work(h);
    h.runtime.poke();
    await are(h, 'polecat-1');
    await h.running(2);
    await take(h, bead.id, 'polecat-1');
    await h.pass(500);
    await h.settled(h.api.close('polecat-1'));
    await h.until(async () => (await h.city.db.beads.get(bead.id)).assignee === '');
    await are(h, 'polecat-1');
    expect(h.starts('polecat-1')).toBe(2);
  });

  it('a new controller takes its sessions over, with what they have in hands', async () => {
    const h = city(poolYaml());
    await h.up();
    const bead = await work(h);
    const gone = await work(h);
    h.runtime.poke();
    await are(h, 'polecat-1', 'polecat-2');
    await h.running(3);
    await take(h, bead.id, 'polecat-1');
    await h.city.db.beads.claim(gone.id, 'polecat-3');
    h.kill();
    await h.up();
    await h.pass(60_000);
    expect((await h.city.db.beads.get(bead.id)).assignee).toBe('polecat-1');
    expect((await h.city.db.beads.get(gone.id)).assignee).toBe('');
    expect(living(h)).toEqual(['mayor', 'polecat-1', 'polecat-2']);
    expect(h.starts()).toBe(3);
  });

  it('one that is done while no controller looks did not crash, however much work is left', async () => {
    const h = city(poolYaml());
    await h.up();
    const bead = await work(h);
    for (let i = 0; i < 3; i += 1) await work(h);
    h.runtime.poke();
    await are(h, 'polecat-1', 'polecat-2', 'polecat-3');
    await h.running(4);
    await h.city.db.beads.claim(bead.id, 'polecat-1');
    await h.city.db.beads.close(bead.id);
    h.kill();
    h.provider.crash('polecat-1', { code: 0 });
    await h.up();
    await h.until(() => h.starts('polecat-1') === 2, 10_000);
    expect(await h.city.db.events.list({ type: 'session.crashed' })).toEqual([]);
  });

  it('costs nothing while nothing happens', async () => {
    const h = city(poolYaml(['min_active_sessions: 1']));
    await h.up();
    await h.running(2);
    await h.pass(35_000);
    const marker = h.city.db.changeMarker();
    await h.pass(300_000);
    expect(h.city.db.changeMarker()).toBe(marker);
    expect(h.starts()).toBe(2);
  });
});

describe('a session on demand', () => {
  const yaml = [
    'workspace: { name: test }',
    'agents:',
    '  - { name: refinery, start_command: run-refinery, sleep_after_idle: 1m }',
    'named_sessions:',
    '  - { template: refinery, mode: on_demand }',
    '',
  ].join('\n');

  it('is woken by work that is assigned to it, keeps up with it, and sleeps when it is done and silent', async () => {
    const h = city(yaml);
    h.provider.waitForIdleErrors.set('refinery', undefined);
    await h.up();
    await h.pass(60_000);
    expect(living(h)).toEqual([]);
    const bead = await h.city.db.beads.create({ title: 'merge', assignee: 'refinery' });
    h.runtime.poke();
    await h.running(1);
    expect(await h.api.session('refinery')).toMatchObject({ wanted: true, wake_reasons: ['work'] });
    await h.pass(300_000);
    expect(living(h)).toEqual(['refinery']);
    await finish(h, bead.id);
    await h.until(() => living(h).length === 0);
    await h.until(async () => (await h.api.session('refinery')).condition === 'asleep');
    const marker = h.city.db.changeMarker();
    await h.pass(120_000);
    expect(h.city.db.changeMarker()).toBe(marker);
    await h.city.db.beads.create({ title: 'merge more', assignee: 'refinery' });
    h.runtime.poke();
    await h.running(1);
  });

  it('is not woken by letters, nor by work that still waits for other work', async () => {
    const h = city(yaml);
    await h.up();
    const first = await h.city.db.beads.create({ title: 'first' });
    await h.city.db.beads.create({ title: 'then', assignee: 'refinery', needs: [first.id] });
    await h.city.db.beads.create({ title: 'hello', issue_type: 'message', assignee: 'refinery' });
    h.runtime.poke();
    await h.pass(35_000);
    expect(living(h)).toEqual([]);
    await finish(h, first.id);
    await h.running(1);
  });
});

describe('a scale check', () => {
  /** Answers by command; counts what runs. */
  class Commands {
    readonly requests: CommandRequest[] = [];
    most = 0;
    #now = 0;
    answer: (request: CommandRequest) => CommandResult | Promise<CommandResult>;

    constructor(answer: Commands['answer']) {
      this.answer = answer;
    }

    readonly run = async (request: CommandRequest): Promise<CommandResult> => {
      this.requests.push(request);
      this.#now += 1;
      this.most = Math.max(this.most, this.#now);
      const over = new AbortController();
      const ended = new Promise<CommandResult>((resolve) =>
        request.signal.addEventListener('abort', () => resolve({ kind: 'failed', how: 'ended' }), over),
      );
      const result = await Promise.race([this.answer(request), ended]);
      over.abort();
      this.#now -= 1;
      return result;
    };
  }

  const printed = (stdout: string): CommandResult => ({ kind: 'ok', stdout });

  it('says how many there are, in the rig, for nobody’s identity', async () => {
    const commands = new Commands(() => printed(' 2\n'));
    const h = city(poolYaml(['scale_check: count-work']), { runCommand: commands.run });
    await h.up();
    await are(h, 'polecat-1', 'polecat-2');
    expect(commands.requests[0]).toMatchObject({
      command: 'count-work',
      cwd: h.dir,
      timeoutMs: 180_000,
      env: { GC_TEMPLATE: 'polecat', GC_SESSION_ORIGIN: '', GC_SESSION_NAME: '', GC_CITY: h.dir },
    });
    commands.answer = () => printed('9');
    await are(h, 'polecat-1', 'polecat-2', 'polecat-3');
  });

  it('runs once per patrol, and soon after somebody says that something changed', async () => {
    const commands = new Commands(() => printed('0'));
    const h = city(poolYaml(['scale_check: count-work']), { runCommand: commands.run });
    await h.up();
    await h.running(1);
    await h.pass(300_000);
    expect(commands.requests.length).toBeLessThanOrEqual(11);
    expect(commands.requests.length).toBeGreaterThanOrEqual(9);
    const before = commands.requests.length;
    for (let i = 0; i < 50; i += 1) {
      h.runtime.poke();
      await h.pass(100);
    }
    expect(commands.requests.length - before).toBeLessThanOrEqual(3);
    expect(commands.requests.length - before).toBeGreaterThanOrEqual(2);
  });

  it('is asked again when one of its sessions has finished, before another one is started', async () => {
    let left = 3;
    const commands = new Commands(() => printed(String(left)));
    const h = city(poolYaml(['scale_check: count-work']), { runCommand: commands.run });
    await h.up();
    await are(h, 'polecat-1', 'polecat-2', 'polecat-3');
    await h.running(4);
    await h.pass(40_000);
    left = 2;
    h.provider.crash('polecat-2', { code: 0 });
    await are(h, 'polecat-1', 'polecat-3');
    await h.pass(60_000);
    expect(living(h)).toEqual(['mayor', 'polecat-1', 'polecat-3']);
    expect(h.starts()).toBe(4);
    h.provider.crash('polecat-3', { code: 0 });
    await are(h, 'polecat-1');
    await are(h, 'polecat-1', 'polecat-2');
    expect(await h.city.db.events.list({ type: 'session.crashed' })).toEqual([]);
  });

  it('POL-01 that asks for sessions which find nothing to do makes them back off', async () => {
    const commands = new Commands(() => printed('1'));
    const h = city(poolYaml(['scale_check: echo 1']), { runCommand: commands.run });
    h.provider.scripts.set('polecat-1', { livesMs: 500 });
    await h.up();
    await h.pass(120_000);
    expect(h.starts('polecat-1')).toBeLessThanOrEqual(9);
    expect(await h.api.session('polecat-1')).toMatchObject({ condition: 'backing-off' });
  });

  it('REC-10 that takes for ever holds nobody up', async () => {
    const commands = new Commands(() => new Promise(() => undefined));
    const h = city(poolYaml(['scale_check: sleep 30', 'min_active_sessions: 1']), {
      runCommand: commands.run,
    });
    await h.up();
    await are(h, 'polecat-1');
    await h.running(2);
    h.provider.crash('mayor', { code: 1 });
    await h.until(() => h.starts('mayor') === 2, 1_000);
    await h.pass(120_000);
    expect(commands.requests).toHaveLength(1);
  });

  it('that says no number leaves the floor, and says what is wrong until it is right', async () => {
    const commands = new Commands(() => printed('many'));
    const h = city(poolYaml(['scale_check: count-work', 'min_active_sessions: 1']), {
      runCommand: commands.run,
    });
    await h.up();
    await are(h, 'polecat-1');
    await h.until(async () => (await h.api.status()).problems.length === 1);
    expect((await h.api.status()).problems).toEqual([
      'scale_check of agent "polecat" printed no number: "many": its pool keeps min_active_sessions',
    ]);
    commands.answer = () => printed('2');
    await are(h, 'polecat-1', 'polecat-2');
    expect((await h.api.status()).problems).toEqual([]);
  });

  it('POL-08 waits for its turn beside many others', async () => {
    const commands = new Commands(async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return printed('0');
    });
    const pools = Array.from(
      { length: 20 },
      (_, i) => `  - { name: p${i}, start_command: run, scale_check: count-${i} }`,
    );
    const yaml = ['workspace: { name: test }', 'daemon: { probe_concurrency: 3 }', 'agents:', ...pools, ''];
    const h = city(yaml.join('\n'), { runCommand: commands.run });
    await h.up();
    await h.until(() => commands.requests.length === 20);
    expect(commands.most).toBe(3);
    expect(new Set(commands.requests.map((request) => request.command)).size).toBe(20);
  });

  it('on_boot and on_death run when the city comes up and when a session ended', async () => {
    const commands = new Commands(() => printed(''));
    const h = city(poolYaml(['on_boot: tidy-up', 'on_death: bury', 'min_active_sessions: 1']), {
      runCommand: commands.run,
    });
    await h.up();
    await h.running(2);
    h.provider.crash('polecat-1', { code: 1 });
    await h.until(() => h.starts('polecat-1') === 2);
    await h.until(() => commands.requests.length === 2);
    expect(
      commands.requests.map(({ command, timeoutMs, env }) => [command, timeoutMs, env['GC_AGENT']]),
    ).toEqual([
      ['tidy-up', 30_000, ''],
      ['bury', 30_000, 'polecat-1'],
    ]);
  });
});
