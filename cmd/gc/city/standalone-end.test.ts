import { afterEach, describe, expect, it, vi } from 'vitest';
import type { HostedCity } from '../../../internal/api/hosted-city.ts';
import { EXIT_LEASE_LOST, StandaloneEnd } from './standalone-end.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const before = new Map(SIGNALS.map((signal) => [signal, process.listeners(signal)]));
afterEach(() => {
  for (const [signal, listeners] of before) {
    for (const listener of process.listeners(signal)) {
      if (!listeners.includes(listener)) process.removeListener(signal, listener);
    }
  }
});

/** A city that ends when it is let go, unless it hangs. */
function city(hangs = false) {
  const asked: string[] = [];
  let over: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    over = resolve;
  });
  const end = async (how: string) => {
    asked.push(how);
    if (!hangs) over();
  };
  const hosted = {
    ended,
    outcome: () => undefined,
    stop: () => end('stop'),
    detach: () => end('detach'),
  } as unknown as HostedCity;
  return { hosted, asked };
}

describe('how a standalone controller ends', () => {
  it('the first Ctrl-C ends a wait that comes before the city', async () => {
    const end = new StandaloneEnd(() => undefined);
    const waiting = end.waiting(
      new Promise((resolve) => end.startAborted.addEventListener('abort', resolve)),
    );
    process.emit('SIGINT');
    await waiting;
    expect(end.codeWithoutCity).toBe(0);
  });

  it('the first Ctrl-C stops a city that is coming up once it is up', async () => {
    const { hosted, asked } = city();
    const end = new StandaloneEnd(() => undefined);
    await end.waiting(Promise.resolve());
    process.emit('SIGINT');
    expect(end.startAborted.aborted).toBe(false);
    expect([await end.of(hosted), asked]).toEqual([0, ['stop']]);
  });

  it('a lost lease lets the city go, with a code of its own', async () => {
    const { hosted, asked } = city();
    const said: string[] = [];
    const end = new StandaloneEnd((line) => said.push(line));
    const code = end.of(hosted);
    end.lose('lease gc/city is held by b now');
    expect([await code, asked]).toEqual([EXIT_LEASE_LOST, ['detach']]);
    expect(said).toEqual(['lease gc/city is held by b now: this controller ends; the sessions keep running']);
  });

  it('a lease that is lost before the city is up ends the start, and the code says why', () => {
    const end = new StandaloneEnd(() => undefined);
    end.lose('lost');
    expect([end.startAborted.aborted, end.codeWithoutCity]).toEqual([true, EXIT_LEASE_LOST]);
  });

  it.each([
    ['a city that does not end', 'nothing', 3_000],
    ['one that is being stopped', 'SIGINT', 0],
  ] as const)('a lost lease does not wait for %s', async (_what, signal, ms) => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const { hosted } = city(true);
    const end = new StandaloneEnd(() => undefined);
    const code = end.of(hosted);
    if (signal !== 'nothing') process.emit(signal);
    end.lose('lost');
    await vi.advanceTimersByTimeAsync(ms);
    expect(await code).toBe(EXIT_LEASE_LOST);
    vi.useRealTimers();
  });
});
