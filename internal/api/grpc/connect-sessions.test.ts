import { connect, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../platform/fake-clock.ts';
import type { NetworkAddress } from '../../platform/network-address.ts';
import {
  ApproveRequestSchema,
  CancelRequestSchema,
  CreateSessionRequestSchema,
  DeleteSessionRequestSchema,
  ExecRequestSchema,
  ExecUpdateSchema,
  ForkRequestSchema,
  GetSessionRequestSchema,
  ListSessionsRequestSchema,
  ReplayRequestSchema,
  ResumeRequestSchema,
  SuspendRequestSchema,
} from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { create } from '../../protocol/protobuf.ts';
import type { SessionsHost } from '../../session/service/sessions-host.ts';
import { connectSessions } from './connect-sessions.ts';
import { serveSessions } from './serve-sessions.ts';
import { FakeSessions, session } from './testing/fake-sessions.ts';
import { eventually, LOOPBACK, serving } from './testing/serving.ts';

const PING_MS = 20_000;
const ANSWER_MS = 60_000;
const never = new AbortController().signal;

let clock: FakeClock;
let host: FakeSessions;
const closing: (() => unknown)[] = [];

beforeEach(() => {
  clock = new FakeClock();
  host = new FakeSessions();
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A client of the double, on the test's clock. */
async function client(through: (address: NetworkAddress) => Promise<NetworkAddress> = async (to) => to) {
  const server = await serveSessions({ ...serving(), host, listen: LOOPBACK });
  closing.push(() => server.close());
  const address = await through(server.address);
  const sessions = connectSessions(address, { clock, cwd: '/' });
  closing.push(() => sessions.close());
  return { sessions, address };
}

interface Middleman {
  readonly to: (address: NetworkAddress) => Promise<NetworkAddress>;
  /** Nothing passes any more on the connections that there are; none is closed. */
  stall(): void;
}

function middleman(): Middleman {
  const links = new Set<{ stalled: boolean }>();
  return {
    stall: () => {
      for (const link of links) link.stalled = true;
    },
    to: (address) => {
      if (address.kind !== 'tcp') throw new Error('a port is needed');
      return listening((front) => {
        const link = { stalled: false };
        links.add(link);
        const back = connect(address.port, address.host);
        closing.push(() => back.destroy());
        const pass = (from: Socket, into: Socket) =>
          from
            .on('data', (chunk: Buffer) => {
              if (!link.stalled) into.write(chunk);
            })
            .on('error', () => undefined);
        pass(front, back);
        pass(back, front);
      });
    },
  };
}

async function listening(accept: (socket: Socket) => void): Promise<NetworkAddress> {
  const server = createServer((socket) => {
    closing.push(() => socket.destroy());
    socket.on('error', () => undefined);
    accept(socket);
  });
  closing.push(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('no port');
  return { kind: 'tcp', host: '127.0.0.1', port: bound.port };
}

type Call = (sessions: SessionsHost) => Promise<unknown>;

const drained = async (items: AsyncIterable<unknown>): Promise<number> => {
  let count = 0;
  for await (const _ of items) count += 1;
  return count;
};

const LIMITED: Readonly<Record<string, Call>> = {
  createSession: (to) => to.createSession(create(CreateSessionRequestSchema), never),
  getSession: (to) => to.getSession(create(GetSessionRequestSchema), never),
  listSessions: (to) => to.listSessions(create(ListSessionsRequestSchema), never),
  deleteSession: (to) => to.deleteSession(create(DeleteSessionRequestSchema), never),
  approve: (to) => to.approve(create(ApproveRequestSchema), never),
  cancel: (to) => to.cancel(create(CancelRequestSchema), never),
  suspend: (to) => to.suspend(create(SuspendRequestSchema), never),
};
/** These take as long as a turn, or a long log, takes: what bounds them is whether the peer still answers. */
const UNLIMITED: Readonly<Record<string, Call>> = {
  resume: (to) => to.resume(create(ResumeRequestSchema), never),
  fork: (to) => to.fork(create(ForkRequestSchema), never),
  exec: (to) => drained(to.exec(create(ExecRequestSchema), never)),
  replay: (to) => drained(to.replay(create(ReplayRequestSchema, { toSeq: 5n }), never)),
};

const PREFACE_BYTES = 24;
const FRAME_HEAD_BYTES = 9;
const HEADERS = 1;

/** Whether a request has come on an HTTP/2 connection of which so much was heard. */
function isAsked(heard: Buffer): boolean {
  for (let at = PREFACE_BYTES; at + FRAME_HEAD_BYTES <= heard.length; ) {
    if (heard[at + 3] === HEADERS) return true;
    at += FRAME_HEAD_BYTES + heard.readUIntBE(at, 3);
  }
  return false;
}

/** What a call came to, once it came to something. */
function outcomeOf(work: Promise<unknown>): { value?: unknown } {
  const outcome: { value?: unknown } = {};
  work.then(
    () => {
      outcome.value = 'answered';
    },
    (error: unknown) => {
      outcome.value = error;
    },
  );
  return outcome;
}

describe('a service that is there and does not answer', () => {
  it.each(Object.entries(LIMITED))(
    'EVT-06 %s is given up in time, and says who was waited for',
    async (_, call) => {
      for (const name of Object.keys(LIMITED))
        Object.assign(host, { [name]: () => new Promise(() => undefined) });
      const { sessions, address } = await client();
      await sessions.replay(create(ReplayRequestSchema), never)[Symbol.asyncIterator]().next();
      const outcome = outcomeOf(call(sessions));
      for (let passed = 0; passed < ANSWER_MS && outcome.value === undefined; passed += PING_MS) {
        // An answer on the same connection: by then the peer's ping has been answered.
        await clock.advance(PING_MS - 1);
        await drained(sessions.replay(create(ReplayRequestSchema), never));
        expect(outcome.value).toBeUndefined();
        await clock.advance(1);
      }
      await eventually(() => outcome.value !== undefined, 'it is given up');
      const port = address.kind === 'tcp' ? address.port : 0;
      expect(outcome.value).toMatchObject({
        status: 'DEADLINE_EXCEEDED',
        message: `127.0.0.1:${port} has not answered within 60 s`,
      });
    },
  );

  it.each(Object.entries({ ...LIMITED, ...UNLIMITED }))(
    'EVT-04 EVT-06 %s ends when not even a ping is answered',
    async (_, call) => {
      let heard = Buffer.alloc(0);
      const address = await listening((socket) =>
        socket.on('data', (chunk) => {
          heard = Buffer.concat([heard, chunk]);
        }),
      );
      const sessions = connectSessions(address, { clock, cwd: '/' });
      closing.push(() => sessions.close());
      const outcome = outcomeOf(call(sessions));
      await eventually(() => isAsked(heard), 'it is asked');
      await clock.advance(2 * PING_MS);
      await eventually(() => outcome.value !== undefined, 'it is given up');
      expect(outcome.value).toMatchObject({
        status: 'UNAVAILABLE',
        message: expect.stringMatching(/^127\.0\.0\.1:\d+ does not answer any more$/),
        next: 'call again when it answers; what was committed is in the log',
      });
    },
  );
});

describe('a stream', () => {
  it('EVT-04 that goes silent in the middle without being closed ends, and a new call takes a new connection', async () => {
    const between = middleman();
    host.onExec = async function* (signal) {
      yield create(ExecUpdateSchema, { update: { case: 'session', value: session('sess-1') } });
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    };
    const { sessions } = await client(between.to);
    const updates = sessions.exec(create(ExecRequestSchema), never)[Symbol.asyncIterator]();
    expect((await updates.next()).value).toMatchObject({ update: { case: 'session' } });
    const outcome = outcomeOf(updates.next());
    between.stall();
    await clock.advance(PING_MS);
    expect(outcome.value).toBeUndefined();
    await clock.advance(PING_MS);
    await eventually(() => outcome.value !== undefined, 'it ends');
    expect(outcome.value).toMatchObject({
      status: 'UNAVAILABLE',
      next: 'call again when it answers; what was committed is in the log',
    });
    const { metadata } = await sessions.getSession(create(GetSessionRequestSchema, { uid: 'a' }), never);
    expect(metadata?.uid).toBe('a');
  });

  it('EVT-04 on which nothing is said for long stays open while the peer answers', async () => {
    let say: () => void = () => undefined;
    const said = new Promise<void>((resolve) => {
      say = resolve;
    });
    host.onExec = async function* () {
      yield create(ExecUpdateSchema);
      await said;
      yield create(ExecUpdateSchema);
    };
    const { sessions } = await client();
    const updates = sessions.exec(create(ExecRequestSchema), never)[Symbol.asyncIterator]();
    await updates.next();
    const outcome = outcomeOf(updates.next());
    for (let pings = 0; pings < 30; pings += 1) {
      await clock.advance(PING_MS);
      await sessions.getSession(create(GetSessionRequestSchema), never);
    }
    expect(outcome.value).toBeUndefined();
    say();
    await eventually(() => outcome.value !== undefined, 'it goes on');
    expect(outcome.value).toBe('answered');
  });
});
