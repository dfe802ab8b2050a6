import { afterEach, expect, it } from 'vitest';
import type { CityDatabase } from '../beads/sqlite/city-database.ts';
import { codeOf } from '../platform/errors.ts';
import { CityHarness, cityYaml } from './testing/city-harness.ts';

/** More of them with more runs of the simulation. */
const RUNS = Number(process.env['GC_SIM_RUNS'] ?? 6);
const STEP = RUNS > 6 ? 1 : 7;
const NEVER = new Promise<never>(() => undefined);

let h: CityHarness;
afterEach(() => h.end());

const told = (): readonly string[] => h.provider.sessions.get('mayor')?.messages ?? [];

/** What was told to lives that are over is on nobody's screen any more; here it is counted. */
function countTold(): { readonly texts: string[] } {
  const texts: string[] = [];
  const nudge = h.provider.nudge.bind(h.provider);
  h.provider.nudge = async (name, content, options) => {
    const outcome = await nudge(name, content, options);
    texts.push(...content.map((part) => ('text' in part ? part.text : '')));
    return outcome;
  };
  // Silent since long before anything is typed: what was cut off before its first byte is known not to have arrived.
  h.provider.getLastActivity = async () => 1;
  const peek = h.provider.peek.bind(h.provider);
  h.provider.peek = (name, lines) => {
    const lived = h.provider.sessions.get(name)?.messages ?? [];
    const drawn = lived.flatMap((text) => [`> ${text}`, 'done']);
    h.provider.peekOutput.set(name, ['welcome', ...drawn, '> '].join('\n'));
    return peek(name, lines);
  };
  return { texts };
}

/** Whichever commit is the n-th is the last thing that its controller does. */
function dieAfterCommit(at: number): { commits: number } {
  const counter = { commits: 0 };
  const open = h.open.bind(h);
  h.open = async (role) => {
    const opened = await open(role);
    if (role === 'controller') dying(opened.db, counter, at);
    return opened;
  };
  return counter;
}

function dying(db: CityDatabase, counter: { commits: number }, at: number): void {
  const write = db.write.bind(db);
  db.write = async (work) => {
    const result = await write(work);
    counter.commits += 1;
    if (counter.commits !== at) return result;
    h.kill();
    return NEVER;
  };
}

async function up(): Promise<void> {
  if (h.isUp) return;
  h.up().catch(() => undefined); // killed while it came up
  await h.until(() => h.killed || h.isUp);
}

/** Asks until it was done once, by whichever controller lives. */
async function done(isDone: () => Promise<boolean>, act: () => Promise<unknown>): Promise<void> {
  for (;;) {
    await up();
    if (!h.isUp) continue;
    if (await isDone()) return;
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    act().then(over, over);
    await h.until(() => isOver || h.killed);
  }
}

const waits = () => h.city.db.beads.list({ type: 'gate', includeClosed: true });

async function story(killAt: number): Promise<{ commits: number; texts: readonly string[] }> {
  h = new CityHarness(cityYaml([['mayor', 'ready_prompt_prefix: "> "']]));
  h.provider.waitForIdleErrors.set('mayor', undefined);
  const { texts } = countTold();
  const counter = dieAfterCommit(killAt);
  await done(
    async () => (await h.records('active')).length === 1,
    () => h.pass(500),
  );
  let bead = '';
  await done(
    async () => bead !== '',
    async () => {
      bead =
        (await h.city.db.beads.list({ type: 'task' }))[0]?.id ??
        (await h.city.work.create({ title: 'w', issue_type: 'task' })).id;
    },
  );
  const request = { on_beads: [bead], on_sessions: [], mode: 'all', note: 'merge', created_by: '' } as const;
  await done(
    async () => (await waits()).length > 0,
    () => h.api.waits.register('mayor', { ...request, sleep: true }),
  );
  await done(
    async () => (await h.records('asleep')).length === 1,
    () => h.pass(500),
  );
  await done(
    async () => (await h.city.work.get(bead)).status === 'closed',
    () => h.city.work.close(bead),
  );
  await done(
    async () => (await waits()).every(({ status }) => status === 'closed'),
    () => h.pass(1_000),
  );
  await done(
    async () => (await h.records('active')).length === 1,
    () => h.pass(500),
  );
  await h.pass(40_000);
  await up();
  const [wait, more] = await waits();
  expect(more).toBeUndefined();
  expect(wait?.metadata).toMatchObject({ state: 'closed', delivery_attempt: '1' });
  expect(told()).toEqual([`Wait satisfied (${wait?.id}): merge`]);
  const [record] = await h.records('active');
  expect(record).toMatchObject({ waitHold: false, sleepIntent: '', sleepReason: '' });
  return { commits: counter.commits, texts };
}

it('a wait survives the death of its controller after each of its commits', {
  timeout: 120_000,
}, async () => {
  const whole = await story(-1);
  expect(whole.texts).toHaveLength(1);
  await h.end();
  expect(whole.commits).toBeGreaterThan(15);
  for (let at = 1; at <= whole.commits; at += STEP) {
    const { texts } = await story(at).catch((error: unknown) => {
      throw new Error(`killed after commit ${at} (${codeOf(error) ?? ''}): ${String(error)}`, {
        cause: error,
      });
    });
    expect(texts, `killed after commit ${at}`).toHaveLength(1);
    if (at + STEP <= whole.commits) await h.end();
  }
});
