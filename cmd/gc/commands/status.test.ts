import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renderResources } from '../output/resources-text.ts';
import { type FakeCity, fakeCity } from '../testing/fake-city.ts';
import { aResources } from '../testing/status-fixtures.ts';

describe('gc status --resources', () => {
  let city: FakeCity;
  beforeAll(async () => {
    city = await fakeCity();
  });
  afterAll(() => city.close());

  it('is a table of who takes what, and the machine', async () => {
    expect((await city.run(['status', '--resources'])).out).toBe(
      [
        'SESSION   MEMORY  CPU  CPU TIME  PROCESSES  NOTE',
        'mayor     412 MB  30%  1m        3',
        'worker-1  ?                                 not measured yet',
        '',
        'machine: 6 GB of 16 GB free · load 1.2 0.9 0.5 on 8 cores',
        'starts wait unless: 2 GB stay free',
        '',
      ].join('\n'),
    );
  });

  it('is data with --json', async () => {
    const { out } = await city.run(['status', '--resources', '--json']);
    expect(JSON.parse(out)).toEqual(aResources());
  });

  it('adds up what several sessions of this machine take, the largest first', () => {
    const { sessions, ...rest } = aResources();
    const [mayor] = sessions;
    if (!mayor) throw new Error('the fixture has no session');
    const more = { ...mayor, display_name: 'worker-2', memory: 600 * 2 ** 20 };
    const total = { memory: 1_012 * 2 ** 20, cpu_share: 0.608, processes: 6 };
    const lines = renderResources({ ...rest, sessions: [mayor, more], total }).split('\n');
    expect(lines.slice(1, 4).map((line) => line.split(/ {2,}/)[0])).toEqual([
      'worker-2',
      'mayor',
      'here in all',
    ]);
    expect(lines[3]).toContain('1 GB    61%');
  });

  it('says so when nothing runs', () => {
    expect(renderResources({ ...aResources(), sessions: [] })).toMatch(/^No session runs\.\n/);
  });
});

describe('a start whatever the machine says', () => {
  it('is asked for with --force, and only then', async () => {
    const city = await fakeCity();
    try {
      await city.run(['session', 'wake', 'mayor']);
      expect(city.api.forced).toEqual([]);
      await city.run(['session', 'wake', 'mayor', '--force']);
      expect(city.api.forced).toEqual(['mayor']);
    } finally {
      await city.close();
    }
  });
});
