import { afterEach, expect, it } from 'vitest';
import { CityHarness, cityYaml } from './testing/city-harness.ts';

const HOUR = 3_600_000;
let h: CityHarness;
afterEach(() => h.end());

it('everything stopped for an hour: nothing expires, dies or restarts', async () => {
  h = new CityHarness(
    cityYaml(
      ['idle', 'busy', 'failing', 'starting'],
      'daemon: { drift_drain_timeout: 60s, max_restarts: 2 }',
    ),
  );
  h.provider.scripts.set('failing', { outcome: { kind: 'dies', exit: { code: 1 } } });
  h.provider.scripts.set('starting', { delayMs: 30_000 });
  await h.up();
  await h.until(async () => (await h.api.session('failing')).condition === 'quarantined');
  h.provider.busyUntil.set('busy', h.clock.monotonic() + 10 * HOUR);
  h.writeConfig(
    cityYaml(
      ['idle', 'busy', 'failing', 'starting'],
      'daemon: { drift_drain_timeout: 60s, max_restarts: 2 }',
    ).replace('run-busy', 'run-busier'),
  );
  await h.settled(h.runtime.reload());
  await h.until(async () => (await h.api.session('busy')).condition === 'draining');
  await h.pass(5_000);
  const starts = h.starts();
  const stops = h.provider.log.count('Stop');

  h.freeze(HOUR);
  await h.pass(15_000);
  expect(h.starts()).toBe(starts);
  expect(h.provider.log.count('Stop')).toBe(stops);
  expect(await h.api.session('busy')).toMatchObject({ condition: 'draining' });
  const failing = await h.api.session('failing');
  expect(failing.condition).toBe('quarantined');
  expect(Date.parse(failing.next_try_at ?? '') - h.now()).toBeGreaterThan(200_000);
  expect(await h.api.session('starting')).toMatchObject({ condition: 'starting' });
  expect(h.lines.join()).toContain('time went on without this process');

  await h.until(async () => (await h.api.session('starting')).condition !== 'starting', 30_000);
  await h.until(() => h.starts('busy') === 2, 90_000);
});
