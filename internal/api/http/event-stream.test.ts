import { request } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../platform/fake-clock.ts';
import { HttpCityApi } from './city-client.ts';
import type { CityServer } from './city-server.ts';
import { SseParser } from './sse-parser.ts';
import { CityDouble } from './testing/city-double.ts';
import { eventually, memoryLog, scratch, serve } from './testing/serving.ts';

const KEEPALIVE_MS = 15_000;

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

interface Middleman {
  readonly path: string;
  /** Connections that came. */
  readonly came: () => number;
  /** Bytes that the server sent. */
  readonly heard: () => number;
  /** Nothing is passed on any more of the connections that there are; none is closed. */
  stall(): void;
}

async function middleman(to: string): Promise<Middleman> {
  const path = join(place.dir, 'between.sock');
  const links: { stalled: boolean }[] = [];
  const live: Socket[] = [];
  let heard = 0;
  const proxy = createServer((front) => {
    const link = { stalled: false };
    const back = connect({ path: to });
    links.push(link);
    live.push(front, back);
    front.on('data', (chunk) => back.write(chunk)).on('error', () => undefined);
    front.on('close', () => back.destroy());
    back
      .on('error', () => undefined)
      .on('data', (chunk: Buffer) => {
        heard += chunk.length;
        if (!link.stalled) front.write(chunk);
      });
  });
  await new Promise<void>((resolve) => proxy.listen(path, resolve));
  opened.push(() => {
    proxy.close();
    for (const socket of live) socket.destroy();
  });
  return {
    path,
    came: () => links.length,
    heard: () => heard,
    stall: () => {
      for (const link of links) link.stalled = true;
    },
  };
}

describe('the event stream', () => {
  it('EVT-04 that goes silent without being closed is left, and gone on with where it was', async () => {
    const between = await middleman(server.path);
    const clock = new FakeClock();
    const seen: number[] = [];
    const done = new AbortController();
    const reader = (async () => {
      for await (const event of new HttpCityApi(between.path, clock).followEvents(0, done.signal))
        seen.push(event.seq);
    })();
    city.record('a');
    await eventually(() => seen.length === 1);
    between.stall();
    city.record('b');
    const heard = between.heard();
    await eventually(() => between.heard() > heard);
    await clock.advance(3 * KEEPALIVE_MS - 1);
    expect([between.came(), seen]).toEqual([1, [1]]);
    await clock.advance(1);
    await eventually(() => {
      void clock.advance(100);
      return between.came() === 2 && seen.length === 2;
    });
    expect(seen).toEqual([1, 2]);
    done.abort();
    await reader;
  });

  it('EVT-04 on which nothing happens says so often enough, and stays open', async () => {
    const [theirs, ours] = [new FakeClock(), new FakeClock()];
    await server.close();
    server = await serve(city, server.path, memoryLog(), theirs);
    const between = await middleman(server.path);
    const done = new AbortController();
    const seen: number[] = [];
    const reader = (async () => {
      for await (const event of new HttpCityApi(between.path, ours).followEvents(0, done.signal))
        seen.push(event.seq);
    })();
    city.record('a');
    await eventually(() => seen.length === 1);
    for (let quiet = 0; quiet < 20; quiet += 1) {
      const heard = between.heard();
      await theirs.advance(KEEPALIVE_MS);
      await eventually(() => between.heard() > heard);
      // An event after it on the same connection: by then the line that keeps it alive has come too.
      city.record('t');
      await eventually(() => seen.length === quiet + 2);
      await ours.advance(2 * KEEPALIVE_MS);
    }
    expect(between.came()).toBe(1);
    done.abort();
    await reader;
  });

  it('EVT-05 of a reader that takes nothing is cut after a while, the others go on', async () => {
    const clock = new FakeClock();
    await server.close();
    server = await serve(city, server.path, memoryLog(), clock);
    for (let n = 0; n < 100; n += 1) city.record('large', { filler: 'x'.repeat(100_000) });
    const stalled = connect({ path: server.path });
    opened.push(() => stalled.destroy());
    stalled.on('error', () => undefined);
    let cut = false;
    stalled.once('close', () => {
      cut = true;
    });
    stalled.write('GET /v0/events/stream HTTP/1.1\r\nhost: x\r\n\r\n');
    stalled.once('data', () => stalled.pause());
    let subscribed: AbortSignal | undefined;
    const follow = city.followEvents.bind(city);
    city.followEvents = (after, signal) => {
      subscribed ??= signal;
      return follow(after, signal);
    };
    await eventually(() => subscribed);
    await eventually(() => stalled.isPaused());
    const done = new AbortController();
    const other = new HttpCityApi(server.path).followEvents(99, done.signal)[Symbol.asyncIterator]();
    expect((await other.next()).value).toMatchObject({ seq: 100 });
    await clock.advance(4 * KEEPALIVE_MS);
    await eventually(() => subscribed?.aborted);
    stalled.resume();
    await eventually(() => cut);
    const next = other.next();
    city.record('after');
    expect((await next).value).toMatchObject({ seq: 101 });
    done.abort();
  });

  it('EVT-09 one more than allowed is refused with a reason; the rest of the API and the open ones go on', async () => {
    const allowed = 256;
    for (let n = 0; n < allowed; n += 1) {
      const idle = connect({ path: server.path });
      idle.on('error', () => undefined);
      opened.push(() => idle.destroy());
      idle.write('GET /v0/events/stream HTTP/1.1\r\nhost: x\r\n\r\n');
    }
    const api = new HttpCityApi(server.path);
    await eventually(() => city.calls.filter(({ method }) => method === 'followEvents').length === allowed);
    const refused = api.followEvents(0, new AbortController().signal)[Symbol.asyncIterator]();
    await expect(refused.next()).rejects.toMatchObject({
      code: 'too-many-streams',
      message: '256 event streams of this city are open already',
      next: expect.stringContaining('try again'),
    });
    expect((await api.status()).city_name).toBe('double');
    opened.shift()?.();
    const done = new AbortController();
    let first: unknown;
    await eventually(() => {
      const events = api.followEvents(0, done.signal)[Symbol.asyncIterator]();
      events.next().then(
        ({ value }) => {
          first ??= value;
        },
        () => undefined, // the place is not free yet
      );
      city.record('a');
      return first !== undefined;
    });
    done.abort();
  });

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
