import { describe, expect, it } from 'vitest';
import { Slots } from './slots.ts';

describe('slots', () => {
  it('keep their number when a piece of work fails or gives up waiting', async () => {
    const slots = new Slots(1);
    let free: () => void = () => undefined;
    const first = slots.run(() => new Promise<void>((resolve) => (free = resolve)), undefined);
    const cancel = new AbortController();
    const given = slots.run(async () => 'never', cancel.signal);
    const failing = slots.run(async () => {
      throw new Error('broken');
    }, undefined);
    const last = slots.run(async () => 'last', undefined);
    cancel.abort(new Error('given up'));
    await expect(given).rejects.toThrow('given up');
    free();
    await first;
    await expect(failing).rejects.toThrow('broken');
    expect(await last).toBe('last');
    expect(await slots.run(async () => 'again', undefined)).toBe('again');
  });
});
