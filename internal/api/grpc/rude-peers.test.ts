import { connect, createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { event, textMessage } from '../../protocol/events.ts';
import { EventKind, EventSchema } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { ModelResultSchema } from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import {
  CreateSessionRequestSchema,
  ExecRequestSchema,
  ListSessionsRequestSchema,
} from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { create, toBinary } from '../../protocol/protobuf.ts';
import { connectHarness } from './connect-harness.ts';
import { connectSessions } from './connect-sessions.ts';
import { serveSessions } from './serve-sessions.ts';
import { FakeSessions } from './testing/fake-sessions.ts';
import { RecordingSink, startOf } from './testing/recording-sink.ts';
import { eventually, LOOPBACK, serving, urlOf } from './testing/serving.ts';

const MIB = 1024 * 1024;
const never = new AbortController().signal;
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Somebody who speaks HTTP/2 and does what it likes with each call. */
async function peer(answer: (stream: ServerHttp2Stream) => void): Promise<string> {
  const server: Http2Server = createServer();
  server.on('stream', (stream) => {
    stream.on('error', () => undefined);
    answer(stream);
  });
  server.on('session', (session) => closing.push(() => session.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('no port');
  return `127.0.0.1:${bound.port}`;
}

function sessionsAt(address: string) {
  const sessions = connectSessions(address, { clock: systemClock, cwd: '/' });
  closing.push(() => sessions.close());
  return sessions;
}

async function drained(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

const RUDE: readonly [string, (stream: ServerHttp2Stream) => void][] = [
  ['closes a call before it said anything, and calls that no error', (stream) => stream.close(0)],
  ['resets a call before it said anything', (stream) => stream.close(2)],
  [
    'says who it is and closes the call',
    (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { endStream: false });
      stream.close(0);
    },
  ],
  [
    'ends a call without a status',
    (stream) =>
      stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { endStream: true }),
  ],
  ['answers as a web server does', (stream) => stream.respond({ ':status': 404 }, { endStream: true })],
  [
    'sends half a message',
    (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' });
      stream.end(Buffer.from([0, 0, 0, 0, 9, 1]));
    },
  ],
];

describe.each(RUDE)('a peer that %s', (_, answer) => {
  it('is an error of every kind of call, and nobody waits', async () => {
    const address = await peer(answer);
    const sessions = sessionsAt(address);
    const harness = connectHarness(address, { clock: systemClock, cwd: '/' });
    closing.push(() => harness.close());
    const service = { code: expect.stringMatching(/^sessions-/) };
    await expect(sessions.listSessions(create(ListSessionsRequestSchema), never)).rejects.toMatchObject(
      service,
    );
    await expect(drained(sessions.exec(create(ExecRequestSchema), never))).rejects.toMatchObject(service);
    const failed = { code: expect.stringMatching(/^harness-/) };
    await expect(harness.describe(never)).rejects.toMatchObject(failed);
    await expect(harness.run(startOf(), new RecordingSink(), never)).rejects.toMatchObject(failed);
  });
});

describe('more than Node lets wait on one connection', () => {
  it('EVT-05 a request of 24 MB that is refused hears why', async () => {
    const server = await serveSessions({ ...serving(), host: new FakeSessions(), listen: LOOPBACK });
    closing.push(() => server.close());
    const sessions = connectSessions(server.address, { clock: systemClock, cwd: '/' });
    closing.push(() => sessions.close());
    const text = 'x'.repeat(24 * MIB);
    const refused = { status: 'RESOURCE_EXHAUSTED', message: expect.stringContaining(String(4 * MIB)) };
    const session = { metadata: { name: text } };
    await expect(
      sessions.createSession(create(CreateSessionRequestSchema, { session }), never),
    ).rejects.toMatchObject(refused);
    const exec = create(ExecRequestSchema, { inputs: [textMessage('user', text)] });
    await expect(drained(sessions.exec(exec, never))).rejects.toMatchObject(refused);
  });

  it('EVT-05 what slow readers have not taken does not close the connection for other calls', async () => {
    const host = new FakeSessions();
    host.replayBytes = 8 * MIB;
    const server = await serveSessions({ ...serving(), host, listen: LOOPBACK });
    closing.push(() => server.close());
    const client = connect(urlOf(server.address));
    closing.push(() => client.destroy());
    const call = (method: string, body: readonly number[]) => {
      const stream = client.request({
        ':method': 'POST',
        ':path': `/agentsessions.v1.Sessions/${method}`,
        'content-type': 'application/grpc+proto',
      });
      stream.on('error', () => undefined);
      stream.end(Buffer.from([0, 0, 0, 0, body.length, ...body]));
      return new Promise<unknown>((resolve) => {
        stream.once('response', (headers) => resolve(headers[':status']));
        stream.once('close', () => resolve(stream.rstCode));
      });
    };
    const unread = [1, 2].map(() => call('Replay', [0x18, 3]));
    expect(await Promise.all(unread)).toEqual([200, 200]);
    await eventually(() => host.produced === 2, 'both wait for their readers');
    expect(await call('GetSession', [])).toBe(200);
  });
});

it('a harness that asks and asks and reads no answer is ended, and what waits for it stays small', async () => {
  const asked = new RecordingSink();
  const answer = 'x'.repeat(MIB);
  asked.model = async () => create(ModelResultSchema, { message: textMessage('assistant', answer) });
  const call = event('exec-1', EventKind.EVENT_MODEL_CALL, { case: 'model', value: { id: 'm' } });
  const bytes = toBinary(EventSchema, call);
  const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, bytes.length]), bytes]);
  const address = await peer((stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' });
    for (let calls = 0; calls < 100; calls += 1) stream.write(frame);
  });
  const harness = connectHarness(address, { clock: systemClock, cwd: '/' });
  closing.push(() => harness.close());
  await expect(harness.run(startOf(), asked, never)).rejects.toMatchObject({
    message: expect.stringContaining('does not read'),
  });
});
