import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../platform/clock.ts';
import { FakeClock } from '../platform/fake-clock.ts';
import { HEARTBEAT_MS, LivedTime, type TimeGap } from './lived-time.ts';

const HOUR = 3_600_000;

/** A clock whose process can be stopped: time goes on and nothing of it runs. */
class StoppableClock implements Clock {
  readonly base = new FakeClock();
  #stopped = 0;
  #slept = 0;

  stopFor(ms: number): void {
    this.#stopped += ms;
  }

  /** The machine sleeps: not even the monotonic clock goes on. */
  suspendFor(ms: number): void {
    this.#slept += ms;
  }

  now(): number {
    return this.base.now() + this.#stopped + this.#slept;
  }

  monotonic(): number {
    return this.base.monotonic() + this.#stopped;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.base.sleep(ms, signal);
  }
}

describe('LivedTime', () => {
  let end: AbortController;
  beforeEach(() => {
    end = new AbortController();
  });
  afterEach(() => end.abort());

  function living() {
    const clock = new StoppableClock();
    const gaps: TimeGap[] = [];
    const time = new LivedTime(clock, (gap) => gaps.push(gap));
    void time.heartbeat(end.signal);
    return { clock, gaps, time };
  }

  it('counts ordinary time, and sees no gap in it', async () => {
    const { clock, gaps, time } = living();
    const began = time.lived();
    await clock.base.advance(HOUR);
    expect(time.lived() - began).toBe(HOUR);
    expect(gaps).toEqual([]);
  });

  it('does not count an hour in which the process was stopped', async () => {
    const { clock, gaps, time } = living();
    await clock.base.advance(10_000);
    const before = time.lived();
    clock.stopFor(HOUR);
    expect(time.lived() - before).toBeLessThanOrEqual(HEARTBEAT_MS);
    expect(gaps).toHaveLength(1);
    expect(gaps[0]?.wallShiftMs).toBeGreaterThan(HOUR - 2 * HEARTBEAT_MS);
  });

  it('moves wall deadlines when the machine slept or its clock was set', async () => {
    const { clock, gaps, time } = living();
    await clock.base.advance(10_000);
    const before = time.lived();
    clock.suspendFor(HOUR);
    expect(time.lived()).toBe(before);
    clock.base.jumpWall(-2 * HOUR);
    time.lived();
    expect(gaps).toEqual([
      { stoppedMs: 0, wallShiftMs: HOUR },
      { stoppedMs: 0, wallShiftMs: -2 * HOUR },
    ]);
  });

  it('a deadline comes in its time where nothing else looks at the time', async () => {
    const clock = new FakeClock();
    const gaps: TimeGap[] = [];
    const time = new LivedTime(clock, (gap) => gaps.push(gap));
    let over = false;
    void time.sleepUntil(time.lived() + 60_000, end.signal).then(() => {
      over = true;
    });
    await clock.advance(59_999);
    expect(over).toBe(false);
    await clock.advance(1);
    expect(over).toBe(true);
    expect(gaps).toEqual([]);
  });

  it('a deadline does not come because of a gap', async () => {
    const { clock, time } = living();
    let over = false;
    void time.sleepUntil(time.lived() + 10_000, end.signal).then(() => {
      over = true;
    });
    await clock.base.advance(5_000);
    clock.stopFor(HOUR);
    await clock.base.advance(2_000);
    expect(over).toBe(false);
    await clock.base.advance(10_000);
    expect(over).toBe(true);
  });
});
