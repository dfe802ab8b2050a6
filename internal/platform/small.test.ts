import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from './clock.ts';
import { parseDuration, shortDuration } from './duration.ts';
import { FakeClock } from './fake-clock.ts';
import { KeyedMutex } from './keyed-mutex.ts';
import { cityHash, gcHome, runtimeDir, socketPath } from './paths.ts';

describe('durations', () => {
  it.each([
    ['500ms', 500],
    ['1h30m', 5_400_000],
    ['1.5s', 1_500],
    ['0', 0],
    ['-2s', -2_000],
    ['.5m', 30_000],
  ])('%s is %d ms', (text, ms) => expect(parseDuration(text)).toBe(ms));
  it.each(['', '5', 's', '1 s', '5x', '1s2', 'abc', '--1s'])('%j is none', (text) =>
    expect(parseDuration(text)).toBeUndefined(),
  );
  it('prints short ones', () => {
    expect([400, 41_000, 12 * 60_000, 3 * 3_600_000, 50 * 3_600_000].map(shortDuration)).toEqual([
      '0.4s',
      '41s',
      '12m',
      '3h',
      '2d',
    ]);
  });
});

describe('KeyedMutex', () => {
  it('runs one holder per key at a time, in arrival order, and others beside it', async () => {
    const mutex = new KeyedMutex();
    const clock = new FakeClock();
    const seen: string[] = [];
    const work = (key: string, label: string) =>
      mutex.run(key, async () => {
        seen.push(`${label}+`);
        await clock.sleep(10);
        seen.push(`${label}-`);
      });
    const all = Promise.all([work('a', 'a1'), work('a', 'a2'), work('b', 'b1')]);
    await clock.advance(100);
    await all;
    expect(seen.indexOf('a1-')).toBeLessThan(seen.indexOf('a2+'));
    expect(seen.indexOf('b1+')).toBeLessThan(seen.indexOf('a1-'));
  });

  it('goes on after a holder failed, and lets a waiter give up', async () => {
    const mutex = new KeyedMutex();
    await expect(mutex.run('a', () => Promise.reject(new Error('boom')))).rejects.toThrow('boom');
    const clock = new FakeClock();
    const first = mutex.run('a', () => clock.sleep(10));
    const stop = new AbortController();
    const second = mutex.run('a', async () => 'never', stop.signal);
    stop.abort(new Error('gave up'));
    await expect(second).rejects.toThrow('gave up');
    await clock.advance(20);
    await first;
    await expect(mutex.run('a', async () => 'free')).resolves.toBe('free');
  });
});

describe('FakeClock', () => {
  it('wakes sleepers in the order of their deadlines and tells jumps from time passing', async () => {
    const clock = new FakeClock(1_000);
    const seen: string[] = [];
    void clock.sleep(20).then(() => seen.push('late'));
    void clock.sleep(10).then(async () => {
      seen.push('early');
      await clock.sleep(5);
      seen.push('chained');
    });
    await clock.advance(30);
    expect(seen).toEqual(['early', 'chained', 'late']);
    clock.jumpWall(3_600_000);
    expect(clock.now()).toBe(1_000 + 30 + 3_600_000);
    expect(clock.monotonic()).toBe(30);
  });
});

describe('the system clock', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('sleeps for longer than one timer can', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let isOver = false;
    void systemClock.sleep(5_000_000_000).then(() => {
      isOver = true;
    });
    await vi.advanceTimersByTimeAsync(4_999_999_999);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isOver).toBe(true);
    const giveUp = new AbortController();
    const sleeping = systemClock.sleep(5_000_000_000, giveUp.signal);
    await vi.advanceTimersByTimeAsync(3_000_000_000);
    giveUp.abort(new Error('enough'));
    await expect(sleeping).rejects.toThrow('enough');
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('paths', () => {
  it('keeps sockets short enough for the platform', () => {
    const env = { GC_HOME: '/h' };
    expect(socketPath('/c/.gc/api.sock', env)).toBe('/c/.gc/api.sock');
    const long = `/c/${'x'.repeat(120)}/.gc/api.sock`;
    expect(Buffer.byteLength(socketPath(long, env))).toBeLessThanOrEqual(100);
    expect(socketPath(long, env)).not.toBe(socketPath(`${long}2`, env));
    expect(Buffer.byteLength(socketPath(long, { GC_HOME: `/h/${'y'.repeat(120)}` }))).toBeLessThanOrEqual(
      100,
    );
  });
  it('follows GC_HOME, then XDG_RUNTIME_DIR', () => {
    expect(gcHome({ HOME: '/u' })).toBe('/u/.gc');
    expect(gcHome({ GC_HOME: '/x', HOME: '/u' })).toBe('/x');
    expect(runtimeDir({ XDG_RUNTIME_DIR: '/run/u' })).toBe('/run/u/gc');
    expect(runtimeDir({ GC_HOME: '/x', XDG_RUNTIME_DIR: '/run/u' })).toBe('/x/run');
    expect(cityHash('/a')).toMatch(/^[0-9a-f]{8}$/);
  });
});
