import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GcError } from '../../platform/errors.ts';
import { INPUT_STALL_TIMEOUT_MS, InputQueue } from './input-queue.ts';

describe('InputQueue', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('hands on every byte in order, whatever the other side takes at a time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 30 }), { maxLength: 8 }),
        fc.array(fc.nat(5), { minLength: 1 }),
        async (parts, takes) => {
          const taken: number[] = [];
          let turn = 0;
          const queue = new InputQueue((bytes) => {
            // A side that never takes anything would be the stalled one of another test.
            const most = turn % 7 === 6 ? 6 : (takes[turn % takes.length] ?? 1);
            turn += 1;
            taken.push(...bytes.subarray(0, most));
            return Math.min(most, bytes.length);
          });
          const all = Promise.all(parts.map((part) => queue.push(Buffer.from(part))));
          await vi.advanceTimersByTimeAsync(20_000);
          await all;
          expect(Buffer.from(taken)).toEqual(Buffer.concat(parts));
          expect(queue.pendingBytes).toBe(0);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('gives back what the other side cannot be sure to have got, closes what it began, and goes on', async () => {
    const taken: string[] = [];
    let broken = true;
    const queue = new InputQueue((bytes) => {
      if (broken) {
        broken = false;
        throw new GcError('input-cut', 'the connection broke');
      }
      taken.push(String(bytes));
      return bytes.length;
    });
    const cut = queue.push(Buffer.from('begin and'), Buffer.from('END'));
    const next = queue.push(Buffer.from('next'));
    await expect(cut).rejects.toMatchObject({ code: 'input-cut' });
    await vi.advanceTimersByTimeAsync(100);
    await next;
    expect(taken).toEqual(['END', 'next']);
  });

  it('gives back what is not read for too long, and closes what it began', async () => {
    const taken: string[] = [];
    let room = 4;
    const queue = new InputQueue((bytes) => {
      const count = Math.min(room, bytes.length);
      room -= count;
      if (count > 0) taken.push(String(bytes.subarray(0, count)));
      return count;
    });
    const first = queue.push(Buffer.from('begin and more'), Buffer.from('END'));
    const second = queue.push(Buffer.from('later'));
    const failures = Promise.allSettled([first, second]);
    await vi.advanceTimersByTimeAsync(INPUT_STALL_TIMEOUT_MS + 1_000);
    for (const result of await failures) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'input-stalled' } });
    }
    room = 100;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(taken).toEqual(['begi', 'END']);
    const third = queue.push(Buffer.from('works again'));
    await vi.advanceTimersByTimeAsync(100);
    await third;
    expect(taken.at(-1)).toBe('works again');
  });

  it('does not wake up often for a program that reads nothing', async () => {
    let tries = 0;
    const queue = new InputQueue(() => {
      tries += 1;
      return 0;
    });
    const pushed = queue.push(Buffer.from('x')).catch(() => undefined);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(tries).toBeLessThan(300);
    queue.close();
    await pushed;
  });

  it('fails what waits when it is closed, and what comes later', async () => {
    const queue = new InputQueue(() => 0);
    const waiting = queue.push(Buffer.from('x'));
    queue.close();
    await expect(waiting).rejects.toMatchObject({ code: 'input-closed' });
    await expect(queue.push(Buffer.from('y'))).rejects.toMatchObject({ code: 'input-closed' });
  });
});
