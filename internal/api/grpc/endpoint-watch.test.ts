import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../platform/fake-clock.ts';
import { Sessions } from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { type RpcServer, serveSessions } from './serve-sessions.ts';
import { FakeSessions } from './testing/fake-sessions.ts';
import { eventually, LOOPBACK, serving, urlOf } from './testing/serving.ts';

/** An HTTP/2 client's first words: the preface and empty settings. */
const HELLO = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);
const PING_MS = 20_000;

let clock: FakeClock;
let host: FakeSessions;
let server: RpcServer;
const closing: (() => unknown)[] = [];

beforeEach(async () => {
  clock = new FakeClock();
  host = new FakeSessions();
  server = await serveSessions({
    ...serving({ clock, limits: { pingMs: PING_MS, stallMs: 100_000, requestMs: 60_000, stopMs: 0 } }),
    host,
    listen: LOOPBACK,
  });
});
afterEach(async () => {
  for (const close of closing.splice(0)) close();
  const closed = server.close();
  await clock.advance(10_000);
  await closed;
});

async function dialRaw(): Promise<{ socket: Socket; readonly gone: boolean; received: () => number }> {
  const { hostname, port } = new URL(urlOf(server.address));
  const socket = connect(Number(port), hostname);
  const state = { gone: false, bytes: 0 };
  socket.on('error', () => undefined);
  socket.on('close', () => {
    state.gone = true;
  });
  socket.on('data', (chunk: Buffer) => {
    state.bytes += chunk.length;
  });
  closing.push(() => socket.destroy());
  await new Promise((resolve) => socket.once('connect', resolve));
  return {
    socket,
    get gone() {
      return state.gone;
    },
    received: () => state.bytes,
  };
}

/** What was under way to this client and back before has arrived; the second ping follows the answer to it. */
async function roundTrip(client: ClientHttp2Session): Promise<void> {
  for (let pings = 0; pings < 2; pings += 1) {
    await new Promise<void>((resolve) => client.ping(() => resolve()));
  }
}

describe('who is gone, or does not do its part', () => {
  it('EVT-04 a peer that does not answer a ping by the next one is cut; one that answers stays', async () => {
    const dead = await dialRaw();
    dead.socket.write(HELLO);
    await eventually(() => dead.received() > 0, 'the connection is open');
    const alive = connectHttp2(urlOf(server.address));
    closing.push(() => alive.destroy());
    await new Promise((resolve) => alive.once('connect', resolve));
    await clock.advance(PING_MS);
    await roundTrip(alive);
    await clock.advance(PING_MS);
    await eventually(() => dead.gone, 'the dead one is cut');
    expect(alive.destroyed).toBe(false);
  });

  it('a connection that says nothing at all is cut', async () => {
    const silent = await dialRaw();
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(60_000);
    await eventually(() => silent.gone, 'it is cut');
  });

  it('EVT-05 a reader that takes nothing for too long is cut with a reason, and its work ends', async () => {
    const http2 = connectHttp2(urlOf(server.address));
    closing.push(() => http2.destroy());
    const stream = http2.request({
      ':method': 'POST',
      ':path': '/agentsessions.v1.Sessions/Replay',
      'content-type': 'application/grpc+proto',
    });
    stream.on('error', () => undefined);
    stream.end(Buffer.from([0, 0, 0, 0, 4, 0x18, 0xa0, 0x8d, 0x06]));
    await new Promise((resolve) => stream.once('response', resolve));
    let produced = -1;
    await eventually(() => {
      const still = host.produced === produced;
      produced = host.produced;
      return still && produced > 0;
    }, 'it is held back');
    for (let passed = 0; passed <= 120_000; passed += PING_MS) {
      await clock.advance(PING_MS);
      await roundTrip(http2);
    }
    await eventually(() => stream.closed, 'it is cut');
    expect(stream.rstCode).toBe(0xb); // ENHANCE_YOUR_CALM: gRPC clients read RESOURCE_EXHAUSTED
    await eventually(() => host.ended === 1, 'its work ended');
    expect(host.signals[0]?.reason).toMatchObject({ status: 'RESOURCE_EXHAUSTED' });
  });

  it('a request that never arrives whole is cut', async () => {
    const half = await dialRaw();
    half.socket.write(
      'POST /agentsessions.v1.Sessions/GetSession HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{',
    );
    // One that comes after it has been served: then the half one is being served too.
    const other = createClient(Sessions, createGrpcTransport({ baseUrl: urlOf(server.address) }));
    await other.getSession({ uid: 'a' });
    for (let passed = 0; passed <= 80_000; passed += PING_MS) {
      await clock.advance(PING_MS);
    }
    await eventually(() => half.gone, 'it is cut');
  });

  it('a request whose head never ends is cut, and so is a connection that asks nothing more', async () => {
    const half = await dialRaw();
    half.socket.write('POST /agentsessions.v1.Sessions/GetSession HTTP/1.1\r\nhost: x\r\n');
    const idle = await dialRaw();
    idle.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\nGET');
    const other = createClient(Sessions, createGrpcTransport({ baseUrl: urlOf(server.address) }));
    await other.getSession({ uid: 'a' });
    for (let passed = 0; passed <= 120_000; passed += PING_MS) await clock.advance(PING_MS);
    await eventually(() => half.gone && idle.gone, 'they are cut');
  });

  it('work that does not heed the end of its call is left behind', async () => {
    host.onGet = () => new Promise(() => undefined);
    const client = createClient(Sessions, createGrpcTransport({ baseUrl: urlOf(server.address) }));
    const asked = client.getSession({ uid: 'a' }).catch((error: unknown) => ConnectError.from(error).code);
    await eventually(() => host.signals.length === 1, 'it arrived');
    const closed = server.close();
    await clock.advance(1);
    await eventually(() => host.signals[0]?.aborted === true, 'it was told');
    await clock.advance(2_000);
    expect(await asked).toBe(Code.Unavailable);
    await clock.advance(2_000);
    await closed;
  });
});
