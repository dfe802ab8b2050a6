import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { aWait } from '../../../internal/api/http/testing/wait-double.ts';
import { type FakeCity, fakeCity } from '../testing/fake-city.ts';

let city: FakeCity;
beforeEach(async () => {
  city = await fakeCity();
});
afterEach(() => city.close());

describe('gc session wait', () => {
  it('registers what was named, over the socket', async () => {
    const words = ['session', 'wait', 'mayor', '--on-beads', 'p-19, p-20', '--on-beads', 'p-21', '--any'];
    const more = [
      '--note',
      'merge',
      '--sleep',
      '--expires',
      '2h',
      '--for',
      '90s',
      '--on-session',
      'worker-1',
    ];
    expect(await city.run([...words, ...more])).toEqual({
      code: 0,
      out: 'Registered wait gc-7 for session gc-1.\nSession gc-1 draining to sleep.\n',
      err: '',
    });
    expect(city.api.waits.registered).toEqual([
      {
        target: 'mayor',
        request: {
          on_beads: ['p-19', 'p-20', 'p-21'],
          on_sessions: ['worker-1'],
          mode: 'any',
          note: 'merge',
          sleep: true,
          created_by: '',
          for_ms: 90_000,
          expires_in_ms: 7_200_000,
        },
      },
    ]);
  });

  it('takes the session that it runs in', async () => {
    city.api.waits.isMet = true;
    const ran = await city.run(['session', 'wait', '--on-beads', 'p-1', '--note', 'n', '--sleep'], {
      env: { GC_SESSION_ID: 'gc-1' },
    });
    expect(ran).toMatchObject({ code: 0, out: 'Registered wait gc-7 for session gc-1 (already ready).\n' });
    expect(city.api.waits.registered[0]).toMatchObject({ target: 'gc-1', request: { created_by: 'gc-1' } });
  });

  it('reads a time of day as the next one', async () => {
    await city.run(['session', 'wait', 'mayor', '--until', '14:05', '--note', 'n']);
    await city.run(['session', 'wait', 'mayor', '--until', '2030-01-31T14:00:00Z', '--note', 'n']);
    const [clock, whole] = city.api.waits.registered.map(({ request }) => request.until ?? '');
    const at = new Date(clock ?? '');
    expect([at.getHours(), at.getMinutes(), at.getTime() > Date.now()]).toEqual([14, 5, true]);
    expect(whole).toBe('2030-01-31T14:00:00Z');
  });

  it.each([
    [['mayor', '--note', 'n'], 'nothing to wait for'],
    [['mayor', '--on-beads', ' , ', '--note', 'n'], 'nothing to wait for'],
    [['mayor', '--on-beads', 'p-1'], '--note is missing'],
    [['--on-beads', 'p-1', '--note', 'n'], 'no session was named'],
    [['mayor', '--for', 'long', '--note', 'n'], '--for must be a duration'],
  ])('says what is missing: %j', async (words, says) => {
    const ran = await city.run(['session', 'wait', ...words]);
    expect(ran.code).not.toBe(0);
    expect(ran.err).toContain(says);
    expect(city.api.waits.registered).toEqual([]);
  });
});

describe('gc wait', () => {
  it('lists, with its header even without rows', async () => {
    expect(await city.run(['wait', 'list'])).toMatchObject({
      code: 0,
      out: 'WAIT  SESSION  STATE  KIND  NOTE\n',
    });
    city.api.waits.waits = [aWait('gc-7'), aWait('gc-8', { note: 'two\nlines', kind: 'mixed' })];
    expect((await city.run(['wait', 'list', '--state', 'pending', '--session', 'mayor'])).out).toBe(
      'WAIT  SESSION  STATE    KIND   NOTE\n' +
        'gc-7  mayor    pending  deps   go on\n' +
        'gc-8  mayor    pending  mixed  two lines\n',
    );
    expect(city.api.waits.filters.at(-1)).toEqual({ state: 'pending', session: 'mayor' });
  });

  it('shows one', async () => {
    city.api.waits.waits = [
      aWait('gc-7', { dep_ids: ['p-1', 'p-2'], until: '2026-01-02T00:00:00Z', last_error: 'late' }),
    ];
    expect((await city.run(['wait', 'inspect', 'gc-7'])).out).toBe(
      [
        'Wait: gc-7',
        'Session: gc-1 (mayor)',
        'State: pending',
        'Kind: deps',
        'Deps: p-1, p-2 (all)',
        'Until: 2026-01-02T00:00:00Z',
        'Epoch: 1',
        'Attempt: 1',
        'Nudge: -',
        'Error: late',
        'Note: go on',
        '',
      ].join('\n'),
    );
  });

  it('ends one and tries one anew', async () => {
    city.api.waits.waits = [
      aWait('gc-7'),
      aWait('gc-8', { state: 'closed', nudge_id: 'wait-gc-8-1-1' }),
      aWait('gc-9', { state: 'failed' }),
    ];
    const out = async (...words: string[]) => (await city.run(['wait', ...words])).out;
    expect(await out('cancel', 'gc-7')).toBe('Updated wait gc-7 to canceled.\n');
    expect(await out('cancel', 'gc-9')).toBe('Wait gc-9 is failed already; nothing was changed.\n');
    expect(await out('ready', 'gc-7')).toBe('Updated wait gc-7 to ready.\n');
    expect(await out('ready', 'gc-8')).toBe('Retried wait gc-8 as gc-99.\n');
  });

  it.each(['inspect', 'cancel', 'ready'])('%s wants the id of a wait', async (verb) => {
    expect((await city.run(['wait', verb])).code).not.toBe(0);
    const ran = await city.run(['wait', verb, 'nope']);
    expect(ran.code).toBe(1);
    expect(ran.err).toContain('wait not found: nope');
  });

  it('prints its help when bare', async () => {
    const ran = await city.run(['wait']);
    expect(ran.code).toBe(0);
    expect(ran.out).toContain('Usage: gc wait <command>');
  });
});
