import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { streamSink } from './sink.ts';

describe('a sink', () => {
  it('waits for a slow reader as often as it is asked and leaves nothing behind', async () => {
    const read: string[] = [];
    const stream = new Writable({
      write(chunk, _encoding, done) {
        setImmediate(() => {
          read.push(String(chunk));
          done();
        });
      },
    });
    const sink = streamSink(stream, {}, () => undefined);
    const before = stream.listenerCount('error');
    for (let n = 0; n < 20; n += 1) {
      sink.write(`${n} `);
      await sink.flush();
      expect(read.join('')).toMatch(new RegExp(`${n} $`));
    }
    expect(stream.listenerCount('error')).toBe(before);
  });
});
