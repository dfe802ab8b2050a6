import { afterEach, describe, expect, it } from 'vitest';
import { CityHarness, cityYaml } from './testing/city-harness.ts';

let harness: CityHarness;
const city = (yaml = cityYaml(['mayor', 'worker'])) => {
  harness = new CityHarness(yaml);
  return harness;
};
afterEach(() => harness.end());

const MINUTE_MS = 60_000;
const arm = (h: CityHarness, over = {}) =>
  h.api.trace.arm({
    template: 'mayor',
    for_ms: 15 * MINUTE_MS,
    level: 'baseline',
    source: 'manual',
    ...over,
  });

describe('the trace of a city', () => {
  it('is written while a template is watched, and then no more', async () => {
    const h = city();
    await h.up();
    await h.running(2);
    await h.pass(35_000);
    const marker = h.city.db.changeMarker();
    await h.pass(5 * MINUTE_MS);
    expect(h.city.db.changeMarker(), 'nothing watched, nothing written').toBe(marker);

    const { arms } = await arm(h, { for_ms: 2 * MINUTE_MS });
    expect(arms).toMatchObject([{ template: 'mayor', level: 'baseline', source: 'manual' }]);
    await h.pass(3 * MINUTE_MS);
    const { records } = await h.api.trace.status();
    expect(records).toBeGreaterThanOrEqual(4);
    expect(await h.api.trace.reasons({})).toEqual({ 'nothing to do': records });

    const after = h.city.db.changeMarker();
    await h.pass(5 * MINUTE_MS);
    expect(h.city.db.changeMarker(), 'its time is over').toBe(after);
    expect((await h.api.trace.status()).arms).toEqual([]);
  });

  it('tells what happened to a session, pass by pass, over a restart of the controller', async () => {
    const h = city();
    await h.up();
    await h.running(2);
    await arm(h, { level: 'detail' });
    h.provider.crash('mayor', { code: 1 });
    await h.until(() => h.starts('mayor') === 2);
    await h.down();
    await h.up();
    await h.pass(1_000);
    const records = await h.api.trace.records({ template: 'mayor' });
    const told = records.map(({ type, what }) => `${type} ${what}`);
    expect(told).toContain('change ended');
    expect(told).toContain('action start');
    expect(told).toContain('session nothing');
    expect(told.indexOf('change ended')).toBeLessThan(told.indexOf('action start'));
    const lives = new Set(records.map(({ trace_id }) => trace_id.split('-')[0]));
    expect(lives.size).toBe(2);
    expect(records.at(-1)?.tick).toBeLessThan(20);
    expect(records.every(({ session }) => session !== 'worker')).toBe(true);
  });

  it('has one id per pass, however many plans it took', async () => {
    const h = city();
    await h.up();
    await h.running(2);
    await arm(h);
    h.provider.crash('mayor', { code: 1 });
    await h.until(() => h.starts('mayor') === 2);
    const ended = (await h.api.trace.records({ type: 'change' })).at(0);
    const pass = await h.api.trace.records({ trace_id: ended?.trace_id ?? '' });
    expect(pass.filter(({ type }) => type === 'cycle').map(({ inputs }) => inputs['round'])).toEqual([1, 2]);
  });

  it('is armed and ended without a controller too, and the next controller goes by it', async () => {
    const h = city();
    const visitor = await h.visitor();
    await visitor.trace.arm({ template: 'mayor', for_ms: MINUTE_MS, level: 'detail', source: 'auto' });
    await h.city.close();
    await h.up();
    await h.running(2);
    expect((await h.api.trace.records({ type: 'action' })).map(({ what }) => what)).toContain('start');
    expect((await h.api.trace.disarm({ template: 'mayor', all: false })).arms).toHaveLength(1);
    expect((await h.api.trace.disarm({ template: 'mayor', all: true })).arms).toEqual([]);
  });

  it('refuses what cannot be watched', async () => {
    const h = city();
    await h.up();
    await expect(arm(h, { template: 'mayr' })).rejects.toMatchObject({ code: 'agent-not-found' });
    await expect(arm(h, { for_ms: 0 })).rejects.toMatchObject({ code: 'invalid-duration' });
    await expect(arm(h, { for_ms: Number.NaN })).rejects.toMatchObject({ code: 'invalid-duration' });
    await expect(arm(h, { for_ms: 8 * 24 * 60 * MINUTE_MS })).rejects.toMatchObject({
      code: 'invalid-duration',
    });
    await expect(h.api.trace.disarm({ template: 'nobody', all: true })).rejects.toMatchObject({
      code: 'agent-not-found',
    });
  });
});
