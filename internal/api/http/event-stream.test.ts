import { request } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HttpCityApi } from './city-client.ts';
import type { CityServer } from './city-server.ts';
import { SseParser } from './sse-parser.ts';
import { CityDouble } from './testing/city-double.ts';
import { eventually, scratch, serve } from './testing/serving.ts';

let place: ReturnType<typeof scratch>;
let city: CityDouble;
let server: CityServer;
const opened: (() => void)[] = [];

beforeEach(async () => {
  place = scratch();
  city = new CityDouble('mayor');
  server = await serve(city, join(place.dir, 'api.sock'));
});
afterEach(async () => {
  for (const close of opened.splice(0)) close();
  await server.close();
  place.dispose();
});

function firstBytes(path: string, headers: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath: server.path, path, headers, agent: false }, (response) => {
      response.setEncoding('utf8');
      response.once('data', (chunk: string) => {
        sent.destroy();
        resolve(chunk);
      });
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** Passes bytes on to the server and cuts each connection after as many bytes as it is told. */
async function brittleProxy(to: string, path: string, cutAfter: () => number): Promise<Server> {
  const live = new Set<Socket>();
  const proxy = createServer((front) => {
    const back = connect({ path: to });
    live.add(front);
    let left = cutAfter();
    front.pipe(back);
    back.on('data', (chunk: Buffer) => {
      const piece = chunk.subarray(0, left);
      left -= piece.length;
      front.write(piece);
      if (left > 0) return;
      front.destroy();
      back.destroy();
    });
    front.on('error', () => back.destroy());
    back.on('error', () => front.destroy());
    front.on('close', () => back.destroy());
    back.on('close', () => front.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(path, resolve));
  opened.push(() => {
    proxy.close();
    for (const socket of live) socket.destroy();
  });
  return proxy;
}

describe('the event stream', () => {
  it('is framed as the public one, and a type cannot forge a frame', async () => {
    city.record('agent.said\ndata: {"seq":99}', { a: 1 });
    const bytes = await firstBytes('/v0/events/stream', { accept: 'text/event-stream' });
    expect(bytes).toBe(`event: agent.said data: {"seq":99}\nid: 1\ndata: ${JSON.stringify(city.log[0])}\n\n`);
  });

  it('starts after Last-Event-ID, else after_seq, else at the start', async () => {
    for (const type of ['a', 'b', 'c']) city.record(type);
    expect(await firstBytes('/v0/events/stream?after_seq=1', { 'last-event-id': '2' })).toContain(
      'event: c\nid: 3',
    );
    expect(await firstBytes('/v0/events/stream?after_seq=1', { 'last-event-id': 'x' })).toContain(
      'event: b\nid: 2',
    );
    expect(await firstBytes('/v0/events/stream', {})).toContain('event: a\nid: 1');
  });

  it('ends the subscription of a client that left', async () => {
    let subscribed: AbortSignal | undefined;
    const follow = city.followEvents.bind(city);
    city.followEvents = (after, signal) => {
      subscribed = signal;
      return follow(after, signal);
    };
    const leaving = new AbortController();
    const events = new HttpCityApi(server.path).followEvents(0, leaving.signal)[Symbol.asyncIterator]();
    const first = events.next();
    await eventually(() => subscribed);
    city.record('a');
    expect((await first).value).toMatchObject({ seq: 1 });
    leaving.abort();
    expect((await events.next()).done).toBe(true);
    await eventually(() => subscribed?.aborted);
  });

  it('has no gap and no duplicate however often the connection breaks', async () => {
    let seed = 7;
    const cutAfter = () => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return 300 + (seed % 4_000);
    };
    const path = join(place.dir, 'proxy.sock');
    await brittleProxy(server.path, path, cutAfter);
    const total = 300;
    const seen: number[] = [];
    const done = new AbortController();
    const reader = (async () => {
      for await (const event of new HttpCityApi(path).followEvents(0, done.signal)) {
        seen.push(event.seq);
        if (seen.length === total) return;
      }
    })();
    for (let n = 1; n <= total; n += 1) {
      city.record(`t${n}`, { filler: 'x'.repeat(n % 50) });
      if (n % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await reader;
    done.abort();
    expect(seen).toEqual(Array.from({ length: total }, (_, index) => index + 1));
    expect(city.calls.filter(({ method }) => method === 'followEvents').length).toBeGreaterThan(5);
  });

  it('goes on after a restart of the controller', async () => {
    const seen: number[] = [];
    const done = new AbortController();
    const reader = (async () => {
      for await (const event of new HttpCityApi(server.path).followEvents(0, done.signal))
        seen.push(event.seq);
    })();
    city.record('before');
    await eventually(() => seen.length === 1);
    await server.close();
    city.record('meanwhile');
    server = await serve(city, server.path);
    await eventually(() => seen.length === 2);
    city.record('after');
    await eventually(() => seen.length === 3);
    done.abort();
    await reader;
    expect(seen).toEqual([1, 2, 3]);
  });

  it('fails at once when there is nobody to follow', async () => {
    const nobody = new HttpCityApi(join(place.dir, 'none.sock')).followEvents(
      0,
      new AbortController().signal,
    );
    const events = nobody[Symbol.asyncIterator]();
    await expect(events.next()).rejects.toMatchObject({ code: 'controller-unreachable' });
  });
});

describe('the stream parser', () => {
  it('finds the same frames wherever the pieces break', () => {
    const line = fc.string().map((text) => text.replace(/[\r\n]/g, ' '));
    const frame = fc.record({
      event: line.map((text) => `e${text}`),
      id: fc.nat().map(String),
      data: fc.array(line, { minLength: 1 }),
    });
    fc.assert(
      fc.property(
        fc.array(frame),
        fc.array(fc.nat(40)),
        fc.constantFrom('\n', '\r\n'),
        (frames, cuts, eol) => {
          const text = frames
            .map(({ event, id, data }) =>
              [
                ': comment',
                '',
                `event: ${event}`,
                `id: ${id}`,
                ...data.map((part) => `data: ${part}`),
                '',
                '',
              ].join(eol),
            )
            .join('');
          const parser = new SseParser();
          const found = [];
          let at = 0;
          for (const cut of cuts) {
            found.push(...parser.push(text.slice(at, at + cut)));
            at += cut;
          }
          found.push(...parser.push(text.slice(at)));
          expect(found).toEqual(frames.map(({ event, id, data }) => ({ event, id, data: data.join('\n') })));
        },
      ),
    );
  });
});
