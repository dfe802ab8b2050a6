import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { textMessage } from '../../protocol/events.ts';
import {
  type ExecRequest,
  ExecUpdateSchema,
  Sessions,
} from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { create } from '../../protocol/protobuf.ts';
import { ServiceError } from '../../session/service/sessions-host.ts';
import { connectSessions } from './connect-sessions.ts';
import { currentRequestId } from './request-id.ts';
import { type RpcServer, serveSessions } from './serve-sessions.ts';
import { FakeSessions, record, session } from './testing/fake-sessions.ts';
import { eventually, type Line, LOOPBACK, recordingLog, serving, urlOf } from './testing/serving.ts';

const MIB = 1024 * 1024;
let host: FakeSessions;
let server: RpcServer;
let lines: Line[];
const closing: (() => unknown)[] = [];

async function start(change: Parameters<typeof serving>[0] = {}): Promise<string> {
  server = await serveSessions({
    ...serving({ log: recordingLog(lines), ...change }),
    host,
    listen: LOOPBACK,
  });
  closing.push(() => server.close());
  return urlOf(server.address);
}

function grpc(baseUrl: string, headers: Record<string, string> = {}): Transport {
  return createGrpcTransport({
    baseUrl,
    interceptors: [
      (next) => (request) => {
        for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
        return next(request);
      },
    ],
  });
}

async function failure(work: Promise<unknown>): Promise<ConnectError> {
  return work.then(
    () => expect.fail('it succeeded'),
    (error: unknown) => ConnectError.from(error),
  );
}

beforeEach(() => {
  host = new FakeSessions();
  lines = [];
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

describe('one address, every protocol', () => {
  const transports: readonly [string, (baseUrl: string) => Transport][] = [
    ['gRPC over HTTP/2', (baseUrl) => createGrpcTransport({ baseUrl })],
    ['gRPC-Web over HTTP/1.1', (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '1.1' })],
    ['gRPC-Web over HTTP/2', (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '2' })],
    [
      'JSON over HTTP/1.1',
      (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '1.1', useBinaryFormat: false }),
    ],
    ['Connect over HTTP/2', (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '2' })],
  ];

  it.each(transports)('%s: calls, streams, failures', async (_, transport) => {
    const client = createClient(Sessions, transport(await start()));
    const got = await client.getSession({ uid: 'sess-1' });
    expect(got.lastSeq).toBe(9007199254740993n);
    const updates = [];
    for await (const update of client.exec({ session: 'sess-1', inputs: [textMessage('user', 'hi')] })) {
      updates.push(update.update.case);
    }
    expect(updates).toEqual(['session', 'record']);
    host.onGet = async () => {
      throw new ServiceError('ABORTED', 'somebody else was faster', { next: 'read again' });
    };
    const error = await failure(client.getSession({ uid: 'x' }));
    expect([error.code, error.rawMessage]).toEqual([Code.Aborted, 'somebody else was faster (read again)']);
  });

  it('the documented curl form works: JSON with field names of either kind, enum words, 64-bit numbers as text', async () => {
    const url = await start();
    const reply = await fetch(`${url}/agentsessions.v1.Sessions/GetSession`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"uid":"sess-1"}',
    });
    expect(reply.status).toBe(200);
    expect(await reply.json()).toEqual({
      metadata: { uid: 'sess-1', project: 'test' },
      harness: 'echo',
      lastSeq: '9007199254740993',
    });
    const bad = await fetch(`${url}/agentsessions.v1.Sessions/Suspend`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect([bad.status, await bad.json()]).toEqual([
      501,
      { code: 'unimplemented', message: 'not in this double' },
    ]);
  });

  it('gRPC trailers carry status and message; an error after items comes last', async () => {
    host.onExec = async function* () {
      yield create(ExecUpdateSchema, { update: { case: 'session', value: session('sess-1') } });
      throw new ServiceError('FAILED_PRECONDITION', 'a person has to decide');
    };
    const { headers, trailers, bytes } = await rawGrpc(await start(), 'Exec', {});
    expect(headers[':status']).toBe(200);
    expect(headers['content-type']).toBe('application/grpc+proto');
    expect(trailers).toMatchObject({ 'grpc-status': '9', 'grpc-message': 'a%20person%20has%20to%20decide' });
    expect(bytes).toBeGreaterThan(5);
  });

  it('what is not served is UNIMPLEMENTED, the registry included', async () => {
    const url = await start();
    const { headers } = await rawGrpc(url, '../agentsessions.v1.HarnessRegistry/ListHarnesses', {});
    expect(headers).toMatchObject({ ':status': 200, 'grpc-status': '12' });
    expect((await fetch(url)).status).toBe(404);
  });

  it('presence of optional fields arrives', async () => {
    const client = createClient(Sessions, grpc(await start()));
    for await (const _ of client.exec({ expectedLastSeq: 0n }));
    for await (const _ of client.exec({}));
    await client.approve({ approved: false });
    const [zero, absent] = host.seen as ExecRequest[];
    expect([zero?.expectedLastSeq, absent?.expectedLastSeq]).toEqual([0n, undefined]);
    expect(host.seen[2]).toMatchObject({ approved: false });
  });

  it('a compressed request that unpacks to more than the limit is refused', async () => {
    const { compressionGzip } = await import('@connectrpc/connect-node');
    const transport = createGrpcTransport({ baseUrl: await start(), sendCompression: compressionGzip });
    const client = createClient(Sessions, transport);
    const error = await failure(client.getSession({ uid: 'a'.repeat(8 * MIB) }));
    expect(error.code).toBe(Code.ResourceExhausted);
    expect((await client.getSession({ uid: 'b'.repeat(100_000) })).metadata?.uid).toHaveLength(100_000);
  });
});

describe('request ids', () => {
  it("the caller's id is kept and echoed, another is minted, a bad one is replaced", async () => {
    const url = await start();
    const ask = async (id?: string) => {
      const headers = {
        'content-type': 'application/json',
        ...(id === undefined ? {} : { 'x-request-id': id }),
      };
      const reply = await fetch(`${url}/agentsessions.v1.Sessions/GetSession`, {
        method: 'POST',
        headers,
        body: '{}',
      });
      return reply.headers.get('x-request-id');
    };
    expect(await ask('req-7')).toBe('req-7');
    expect(await ask()).toMatch(/^[0-9a-f]{16}$/);
    expect(await ask('has space')).toMatch(/^[0-9a-f]{16}$/);
    expect(lines[0]).toMatchObject({
      fields: { request_id: 'req-7', operation: 'GetSession', outcome: 'ok' },
    });
  });

  it('work that is done for the call knows its id, in streams too', async () => {
    const ids: unknown[] = [];
    host.onExec = async function* () {
      ids.push(currentRequestId());
      yield create(ExecUpdateSchema, {});
      ids.push(currentRequestId());
    };
    const client = createClient(Sessions, grpc(await start(), { 'x-request-id': 'r-1' }));
    for await (const _ of client.exec({}));
    expect(ids).toEqual(['r-1', 'r-1']);
  });
});

describe('what is no request', () => {
  const get = 'POST /agentsessions.v1.Sessions/GetSession HTTP/1.1\r\ncontent-type: application/json\r\n';
  const hello = Buffer.concat([
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
  ]);

  it.each<[string, Buffer]>([
    ['the beginning of a beginning', Buffer.from('PR')],
    ['a host that is none', Buffer.from(`${get}host: [\r\ncontent-length: 2\r\n\r\n{}`)],
    ['two lengths', Buffer.from(`${get}host: x\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}`)],
    ['another language', Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])],
  ])('%s harms nobody', async (_, bytes) => {
    await sendRaw(await start(), bytes);
    const client = createClient(Sessions, grpc(urlOf(server.address)));
    expect((await client.getSession({ uid: 'a' })).metadata?.uid).toBe('a');
  });

  it('whatever the bytes are, as HTTP/1.1 and as HTTP/2, the next caller is served', async () => {
    const url = await start();
    const client = createClient(Sessions, grpc(url));
    const bytes = fc.uint8Array({ minLength: 1, maxLength: 300 }).map((each) => Buffer.from(each));
    await fc.assert(
      fc.asyncProperty(bytes, fc.boolean(), async (noise, http2) => {
        await sendRaw(url, http2 ? Buffer.concat([hello, noise]) : noise);
        expect((await client.getSession({ uid: 'a' })).metadata?.uid).toBe('a');
      }),
      { numRuns: 60 },
    );
  });
});

describe('who may call', () => {
  it('with a token, nobody without it: on loopback too, in every protocol, before the request is read', async () => {
    const url = await start({ token: 'sesame' });
    const error = await failure(createClient(Sessions, grpc(url)).getSession({ uid: 'a' }));
    expect(error.code).toBe(Code.Unauthenticated);
    const wrong = grpc(url, { authorization: 'Bearer sesam' });
    expect((await failure(createClient(Sessions, wrong).getSession({}))).code).toBe(Code.Unauthenticated);
    const reply = await fetch(`${url}/agentsessions.v1.Sessions/GetSession`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect([reply.status, await reply.json()]).toMatchObject([401, { code: 'unauthenticated' }]);
    const stream = createClient(Sessions, createConnectTransport({ baseUrl: url, httpVersion: '1.1' }));
    expect((await failure(drain(stream.replay({})))).code).toBe(Code.Unauthenticated);
    expect(host.seen).toEqual([]);
    const right = createClient(Sessions, grpc(url, { authorization: 'bearer sesame' }));
    expect((await right.getSession({ uid: 'a' })).metadata?.uid).toBe('a');
    expect(JSON.stringify(lines)).not.toContain('sesame');
    expect(await sendForEver(url, MIB)).toBe('16');
  });

  it('an address that other machines reach is refused without a token, and the refusal says what to do', async () => {
    const wide = { kind: 'tcp', host: '0.0.0.0', port: 0 } as const;
    await expect(serveSessions({ ...serving(), host, listen: wide })).rejects.toMatchObject({
      code: 'token-needed',
      next: expect.stringContaining('GC_SERVE_TOKEN'),
    });
  });

  it("pages of other machines are refused, this machine's are not", async () => {
    const url = await start();
    const post = (origin: string) =>
      fetch(`${url}/agentsessions.v1.Sessions/GetSession`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin },
        body: '{}',
      });
    expect((await post('http://evil.example')).status).toBe(403);
    expect((await post('null')).status).toBe(403);
    expect((await post('http://localhost:3000')).status).toBe(200);
  });
});

describe('limits', () => {
  it('EVT-05 a message over the limit is RESOURCE_EXHAUSTED, and 100 MB of it take no memory', async () => {
    const url = await start();
    const client = createClient(Sessions, grpc(url));
    expect((await failure(client.getSession({ uid: 'a'.repeat(5 * MIB) }))).code).toBe(
      Code.ResourceExhausted,
    );
    const before = process.memoryUsage().rss;
    expect(await sendForEver(url, 100 * MIB)).toBe('8');
    expect(process.memoryUsage().rss - before).toBeLessThan(60 * MIB);
    expect((await client.getSession({ uid: 'still there' })).metadata?.uid).toBe('still there');
  });

  it('EVT-05 a reader that takes nothing holds back its own stream, not the others', async () => {
    const url = await start();
    const http2 = connectHttp2(url);
    closing.push(() => http2.destroy());
    const stalled = http2.request({
      ':method': 'POST',
      ':path': '/agentsessions.v1.Sessions/Replay',
      'content-type': 'application/grpc+proto',
    });
    stalled.end(grpcMessage(Uint8Array.from([0x18, 0xa0, 0x8d, 0x06]))); // to_seq 100000
    await new Promise((resolve) => stalled.once('response', resolve));
    let produced = -1;
    await eventually(() => {
      const still = host.produced === produced;
      produced = host.produced;
      return still && produced > 0;
    }, 'the stream is held back');
    expect(host.produced).toBeLessThan(20);
    const client = createClient(Sessions, grpc(url));
    expect((await client.getSession({ uid: 'a' })).metadata?.uid).toBe('a');
    stalled.close();
    await eventually(() => host.ended === 1, 'its work ended');
  });

  it('EVT-09 more streams than allowed are refused with a reason; calls go on; a free place is taken', async () => {
    const url = await start({ limits: { streams: 2 } });
    host.onExec = async function* (signal) {
      yield create(ExecUpdateSchema, {});
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    };
    const client = createClient(Sessions, grpc(url));
    const leave = new AbortController();
    const open = [0, 1].map(() => client.exec({}, { signal: leave.signal })[Symbol.asyncIterator]());
    for (const each of open) await each.next();
    const error = await failure(drain(client.exec({})));
    expect([error.code, error.rawMessage]).toEqual([
      Code.ResourceExhausted,
      '2 streams are open already; end one and try again',
    ]);
    expect((await client.getSession({ uid: 'a' })).metadata?.uid).toBe('a');
    leave.abort();
    await Promise.allSettled(open.map((each) => each.next()));
    await eventually(() => host.ended === 2, 'places are free');
    host.onExec = async function* () {
      yield create(ExecUpdateSchema, {});
    };
    expect(await drain(client.exec({}))).toBe(1);
  });

  it('two turns at once do not wait for each other', async () => {
    const url = await start();
    let go: () => void = () => undefined;
    const both = new Promise<void>((resolve) => {
      go = resolve;
    });
    let running = 0;
    host.onExec = async function* () {
      running += 1;
      if (running === 2) go();
      await both;
      yield create(ExecUpdateSchema, {});
    };
    const client = createClient(Sessions, grpc(url));
    await Promise.all([drain(client.exec({})), drain(client.exec({}))]);
    expect(running).toBe(2);
  });
});

describe('the end of a call', () => {
  it('a caller that goes away cancels the work, with CANCELLED as the reason', async () => {
    const client = createClient(Sessions, grpc(await start()));
    host.onExec = async function* (signal) {
      yield create(ExecUpdateSchema, {});
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    };
    const leave = new AbortController();
    const updates = client.exec({}, { signal: leave.signal })[Symbol.asyncIterator]();
    await updates.next();
    leave.abort();
    await expect(updates.next()).rejects.toThrow();
    await eventually(() => host.ended === 1, 'the work ended');
    expect(host.signals[0]?.reason).toMatchObject({ status: 'CANCELLED' });
  });

  it('a caller whose HTTP/1.1 connection breaks cancels the work', async () => {
    const url = new URL(await start());
    host.onGet = (_, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const socket = connect(Number(url.port), url.hostname);
    socket.write(
      'POST /agentsessions.v1.Sessions/GetSession HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}',
    );
    await eventually(() => host.signals.length === 1, 'the call arrived');
    socket.destroy();
    await eventually(() => host.signals[0]?.aborted === true, 'the signal aborted');
    expect(host.signals[0]?.reason).toMatchObject({ status: 'CANCELLED' });
  });

  it("the caller's deadline aborts the work with DEADLINE_EXCEEDED, and one is answered even if the work does not heed it", async () => {
    const url = await start();
    host.onGet = (_, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const { trailers } = await rawGrpc(url, 'GetSession', { 'grpc-timeout': '20m' });
    expect(trailers).toMatchObject({ 'grpc-status': '4' });
    expect(host.signals[0]?.reason).toMatchObject({ status: 'DEADLINE_EXCEEDED' });
  });

  it('closing lets what is under way end, refuses what comes, and cuts the rest after a bounded time', async () => {
    const url = await start({ limits: { stopMs: 30 } });
    const seen: unknown[] = [];
    host.onExec = async function* (signal) {
      yield create(ExecUpdateSchema, {});
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      seen.push(signal.reason);
      throw signal.reason;
    };
    let finish: () => void = () => undefined;
    host.onGet = (uid) => new Promise((resolve) => (finish = () => resolve(session(uid))));
    const client = createClient(Sessions, grpc(url));
    const updates = client.exec({})[Symbol.asyncIterator]();
    await updates.next();
    const asked = client.getSession({ uid: 'in flight' });
    await eventually(() => host.seen.length === 2, 'both arrived');
    const closed = server.close();
    finish();
    expect((await asked).metadata?.uid).toBe('in flight');
    expect((await failure(updates.next())).code).toBe(Code.Unavailable);
    await closed;
    expect(seen).toMatchObject([{ status: 'UNAVAILABLE' }]);
    expect((await failure(createClient(Sessions, grpc(url)).getSession({}))).code).toBe(Code.Unavailable);
  });

  it('a turn that is cut in the middle never looks complete, whatever it still had to say', async () => {
    const url = await start({ limits: { stopMs: 30 } });
    host.onExec = async function* (signal) {
      yield create(ExecUpdateSchema, {});
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      yield create(ExecUpdateSchema, { update: { case: 'record', value: record(1, 'cut off') } });
      throw signal.reason;
    };
    const updates = createClient(Sessions, grpc(url)).exec({})[Symbol.asyncIterator]();
    await updates.next();
    const closed = server.close();
    expect((await updates.next()).value).toMatchObject({ update: { case: 'record' } });
    expect((await failure(updates.next())).code).toBe(Code.Unavailable);
    await closed;
  });
});

describe('a socket instead of a port', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gc-rpc-'));
    closing.push(() => rmSync(dir, { recursive: true }));
  });

  it('is for its owner only, works for clients, and goes with the server', async () => {
    const path = join(dir, 'own', 's.sock');
    server = await serveSessions({ ...serving(), host, listen: { kind: 'unix', path } });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(dir, 'own')).mode & 0o777).toBe(0o700);
    const client = connectSessions(`unix:${path}`, { clock: systemClock, cwd: '/' });
    const got = await client.getSession({ uid: 'a' } as never, new AbortController().signal);
    expect(got.metadata?.uid).toBe('a');
    client.close();
    await server.close();
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
  });

  it('LCK-01 a leftover file is replaced, a living server and a plain file are not', async () => {
    const path = join(dir, 's.sock');
    const listen = { kind: 'unix', path } as const;
    const dead = await serveSessions({ ...serving(), host, listen });
    const { linkSync } = await import('node:fs');
    linkSync(path, `${path}.kept`);
    await dead.close();
    linkSync(`${path}.kept`, path);
    server = await serveSessions({ ...serving(), host, listen });
    await expect(serveSessions({ ...serving(), host, listen })).rejects.toMatchObject({
      code: 'socket-in-use',
    });
    await server.close();
    writeFileSync(path, 'a letter');
    await expect(serveSessions({ ...serving(), host, listen })).rejects.toMatchObject({
      code: 'socket-path-taken',
    });
  });

  it('EVT-07 says when the path is too long, or the folder is open to others', async () => {
    const long = join(dir, 'x'.repeat(120), 's.sock');
    await expect(
      serveSessions({ ...serving(), host, listen: { kind: 'unix', path: long } }),
    ).rejects.toMatchObject({
      code: 'socket-path-too-long',
      message: expect.stringContaining('at most 100'),
    });
    chmodSync(dir, 0o755);
    await expect(
      serveSessions({ ...serving(), host, listen: { kind: 'unix', path: join(dir, 's.sock') } }),
    ).rejects.toMatchObject({ code: 'socket-dir-open' });
    expect(statSync(dir).mode & 0o777).toBe(0o755);
  });

  it('a port that is taken is said so', async () => {
    await start();
    await expect(serveSessions({ ...serving(), host, listen: server.address })).rejects.toMatchObject({
      code: 'listen-failed',
      message: expect.stringContaining('something else listens there'),
    });
  });
});

/** Sends bytes and hangs up once the other side has had a turn with them. */
async function sendRaw(url: string, bytes: Buffer): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.resume();
  await new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
  await fetch(url);
  socket.destroy();
}

async function drain(items: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of items) count += 1;
  return count;
}

function grpcMessage(body: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

interface RawReply {
  readonly headers: Record<string, unknown>;
  readonly trailers: Record<string, unknown>;
  readonly bytes: number;
}

/** One call as a foreign gRPC client makes it: an empty message, and whatever comes back. */
async function rawGrpc(url: string, method: string, headers: Record<string, string>): Promise<RawReply> {
  const http2 = connectHttp2(url);
  const path = new URL(method, 'http://x/agentsessions.v1.Sessions/').pathname;
  const stream = http2.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc+proto',
    te: 'trailers',
    ...headers,
  });
  const reply = { headers: {}, trailers: {}, bytes: 0 };
  stream.on('response', (got) => Object.assign(reply.headers, got));
  stream.on('trailers', (got) => Object.assign(reply.trailers, got));
  stream.on('data', (chunk: Buffer) => {
    reply.bytes += chunk.length;
  });
  stream.end(grpcMessage(new Uint8Array()));
  await new Promise((resolve) => stream.once('close', resolve));
  http2.close();
  return reply;
}

/** Announces and sends one huge message for as long as it is taken. Answers the status that came back. */
async function sendForEver(url: string, bytes: number): Promise<unknown> {
  const http2 = connectHttp2(url);
  const stream = http2.request({
    ':method': 'POST',
    ':path': '/agentsessions.v1.Sessions/GetSession',
    'content-type': 'application/grpc+proto',
  });
  let status: unknown;
  const note = (got: Record<string, unknown>) => {
    status = got['grpc-status'] ?? status;
  };
  stream.on('response', note);
  stream.on('trailers', note);
  stream.on('error', () => undefined);
  stream.resume();
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes, 1);
  stream.write(head);
  const chunk = Buffer.alloc(64 * 1024);
  let open = true;
  stream.once('close', () => {
    open = false;
  });
  for (let sent = 0; open && sent < bytes; sent += chunk.length) {
    if (stream.write(chunk)) continue;
    await Promise.race([
      new Promise((resolve) => stream.once('drain', resolve)),
      new Promise((resolve) => stream.once('close', resolve)),
    ]);
  }
  if (open) {
    stream.end();
    await new Promise((resolve) => stream.once('close', resolve));
  }
  http2.destroy();
  return String(status);
}
