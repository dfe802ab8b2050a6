import { createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../platform/clock.ts';
import { systemClock } from '../../platform/clock.ts';
import { FakeClock } from '../../platform/fake-clock.ts';
import { addressText } from '../../platform/network-address.ts';
import { event, executionEnd, output, textMessage, textOf } from '../../protocol/events.ts';
import {
  ApprovalRefSchema,
  type Event,
  EventKind,
  Mediation,
  ToolResult_Code,
  ToolResultSchema,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  type ControllerFrame,
  Harness as HarnessService,
} from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import { create } from '../../protocol/protobuf.ts';
import { ParkedError } from '../../session/turn/turn.ts';
import { connectHarness, type RemoteHarness } from './connect-harness.ts';
import { bindListener } from './listener.ts';
import { REQUEST_ID_HEADER, withRequestId } from './request-id.ts';
import { endpoint } from './serve-sessions.ts';
import { decision, RecordingSink, startOf } from './testing/recording-sink.ts';
import { eventually, LOOPBACK, serving } from './testing/serving.ts';

type Script = (
  next: () => Promise<ControllerFrame | undefined>,
  start: ControllerFrame,
) => AsyncGenerator<Event>;

const closing: (() => unknown)[] = [];
let sink: RecordingSink;
/** Set when the peer saw its host leave. */
let left: boolean;
let headers: Headers;
/** Ends the peer's process, as far as its host can tell. */
let kill: () => void;

/** A harness that does what the script says, right or wrong. */
async function peer(script: Script, clock: Clock = systemClock): Promise<RemoteHarness> {
  const bound = await bindListener(LOOPBACK, serving().ids);
  const rpc = endpoint(serving({ limits: { stopMs: 10 } }), (router) => {
    router.service(HarnessService, {
      describe: () => ({ id: 'scripted', version: '1' }),
      async *connect(frames, context) {
        headers = context.requestHeader;
        context.signal.addEventListener('abort', () => {
          left = true;
        });
        const incoming = frames[Symbol.asyncIterator]();
        const next = async () => {
          const got = await incoming.next();
          return got.done ? undefined : got.value;
        };
        const start = await next();
        if (start) yield* script(next, start);
      },
    });
  });
  const sockets: Socket[] = [];
  bound.serve((socket) => {
    sockets.push(socket);
    rpc.accept(socket);
  });
  kill = () => {
    for (const socket of sockets) socket.destroy();
  };
  const harness = connectHarness(addressText(bound.address), { clock, cwd: '/' });
  closing.push(
    () => harness.close(),
    () => bound.close(),
    () => rpc.close(),
  );
  return harness;
}

async function run(script: Script, signal = new AbortController().signal): Promise<unknown> {
  const harness = await peer(script);
  return harness.run(startOf(), sink, signal).then(
    () => 'completed',
    (error: unknown) => error,
  );
}

const modelCall = (executionId = 'exec-1') =>
  event(executionId, EventKind.EVENT_MODEL_CALL, {
    case: 'model',
    value: { id: 'wire-1', model: 'm', messages: [textMessage('user', 'hi')] },
  });
const toolCall = (mediation: Mediation) =>
  event('exec-1', EventKind.EVENT_TOOL_CALL, {
    case: 'tool',
    value: { id: 'call-1', tool: 'rm', mediation, idempotencyKey: 'k' },
  });
const ref = create(ApprovalRefSchema, { executionId: 'exec-1', toolCallId: 'call-1', requestSeq: 4n });
const acknowledged = (requestSeq = 4n) =>
  event('exec-1', EventKind.EVENT_PARKED, { case: 'parked', value: { ...ref, requestSeq } });

beforeEach(() => {
  sink = new RecordingSink();
  left = false;
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

describe('a harness that keeps to the protocol', () => {
  it('gets the whole invocation, its model call is answered under its own id, its text is recorded, END ends it', async () => {
    let start: ControllerFrame | undefined;
    let reply: ControllerFrame | undefined;
    const outcome = await run(async function* (next, first) {
      start = first;
      yield modelCall();
      reply = await next();
      yield output('exec-1', textMessage('assistant', 'done'));
      yield executionEnd('exec-1');
      await next();
    });
    expect(outcome).toBe('completed');
    expect(start).toMatchObject({ session: 'sess-1', executionId: 'exec-1', frame: { case: 'start' } });
    expect(start?.frame.value).toMatchObject({ config: Uint8Array.of(0, 255, 10), resumeFromSeq: 7n });
    expect(reply).toMatchObject({ frame: { case: 'model', value: { modelCallId: 'wire-1' } } });
    expect(reply?.frame.case === 'model' && textOf(reply.frame.value.message)).toBe('echo:hi');
    expect(sink.seen).toEqual(['model hi', 'output done']);
    await eventually(() => left, 'the stream was canceled after END');
  });

  it('may send what says nothing to a host, and usage, and reports', async () => {
    const outcome = await run(async function* () {
      yield event('exec-1', EventKind.EVENT_KIND_UNSPECIFIED, { case: undefined });
      yield event('exec-1', EventKind.EVENT_LIFECYCLE, { case: 'lifecycle', value: {} });
      yield event('exec-1', EventKind.EVENT_ERROR, { case: 'error', value: { description: 'x' } });
      yield event('exec-1', EventKind.EVENT_USAGE, { case: 'usage', value: { inputTokens: 5n } });
      yield event('exec-1', EventKind.EVENT_TOOL_RESULT, { case: 'result', value: { id: 'r' } });
      yield executionEnd('exec-1');
    });
    expect([outcome, sink.seen]).toEqual(['completed', ['usage 5', 'report r']]);
  });

  it('has tool calls carried out, and hears the result in its session', async () => {
    let reply: ControllerFrame | undefined;
    await run(async function* (next) {
      yield toolCall(Mediation.CONTROLLER_MEDIATED);
      reply = await next();
      yield executionEnd('exec-1');
    });
    expect(reply).toMatchObject({ session: 'sess-1', frame: { case: 'tool', value: { id: 'call-1' } } });
  });

  it('is told that a gated call waits, says that it knows, and the turn is parked', async () => {
    sink.onTool = async () => {
      throw new ParkedError(ref);
    };
    let told: ControllerFrame | undefined;
    const outcome = await run(async function* (next) {
      yield toolCall(Mediation.REQUIRES_APPROVAL);
      told = await next();
      yield acknowledged();
    });
    expect(outcome).toBeInstanceOf(ParkedError);
    expect(told?.frame).toMatchObject({ case: 'park', value: { toolCallId: 'call-1', requestSeq: 4n } });
  });

  it('hears a decision, with its reason, before the receipt', async () => {
    sink.onTool = async (_, decided) => {
      decided?.(decision(4n, false));
      return create(ToolResultSchema, {
        id: 'call-1',
        isError: true,
        code: ToolResult_Code.APPROVAL_DENIED,
        approvalRequestSeq: 4n,
        approvalDecisionSeq: 5n,
      });
    };
    const frames: unknown[] = [];
    const outcome = await run(async function* (next) {
      yield toolCall(Mediation.REQUIRES_APPROVAL);
      frames.push((await next())?.frame, (await next())?.frame);
      yield executionEnd('exec-1');
    });
    expect(outcome).toBe('completed');
    expect(frames).toMatchObject([
      {
        case: 'approval',
        value: { toolCallId: 'call-1', requestSeq: 4n, approved: false, reason: 'because' },
      },
      { case: 'tool', value: { approvalDecisionSeq: 5n } },
    ]);
  });

  it('is called under the id of the request that it works for', async () => {
    await withRequestId('req-9', () =>
      run(async function* () {
        yield executionEnd('exec-1');
      }),
    );
    expect(headers.get(REQUEST_ID_HEADER)).toBe('req-9');
  });
});

describe('a harness that does not', () => {
  const lies: readonly [string, Script, string][] = [
    [
      'speaks for another execution',
      async function* () {
        yield modelCall('exec-2');
      },
      'an event of execution "exec-2" came in execution "exec-1"',
    ],
    [
      'starts an execution itself',
      async function* () {
        yield event('exec-1', EventKind.EVENT_EXECUTION_START, { case: 'executionStart', value: {} });
      },
      'EVENT_EXECUTION_START is not for the harness to send',
    ],
    [
      'asks for approval itself',
      async function* () {
        yield event('exec-1', EventKind.EVENT_APPROVAL_REQUEST, { case: 'approval', value: {} });
      },
      'EVENT_APPROVAL_REQUEST is not for the harness to send',
    ],
    [
      'decides itself',
      async function* () {
        yield event('exec-1', EventKind.EVENT_APPROVAL_RESULT, { case: 'approvalResult', value: {} });
      },
      'EVENT_APPROVAL_RESULT is not for the harness to send',
    ],
    [
      'parks unasked',
      async function* () {
        yield acknowledged();
      },
      'EVENT_PARKED is not for the harness to send',
    ],
    [
      'sends a kind with the body of another',
      async function* () {
        yield event('exec-1', EventKind.EVENT_MODEL_CALL, { case: 'usage', value: {} });
      },
      'EVENT_MODEL_CALL without what it is about',
    ],
    ['ends without END', async function* () {}, 'the stream ended without END'],
    [
      'floods',
      async function* () {
        for (;;) yield event('exec-1', EventKind.EVENT_KIND_UNSPECIFIED, { case: undefined });
      },
      'more than 10000 events that say nothing',
    ],
  ];
  it.each(lies)('%s: the turn fails and its stream is ended', async (_, script, message) => {
    const outcome = await run(script);
    expect(outcome).toMatchObject({ code: 'harness-protocol', message: expect.stringContaining(message) });
    await eventually(() => left, 'its stream was ended');
  });

  const acks: readonly [string, Script][] = [
    [
      'acknowledges another request',
      async function* (next) {
        yield toolCall(Mediation.REQUIRES_APPROVAL);
        await next();
        yield acknowledged(5n);
      },
    ],
    [
      'goes on after it was told to wait',
      async function* (next) {
        yield toolCall(Mediation.REQUIRES_APPROVAL);
        await next();
        yield modelCall();
      },
    ],
    [
      'says more after its acknowledgement',
      async function* (next) {
        yield toolCall(Mediation.REQUIRES_APPROVAL);
        await next();
        yield acknowledged();
        yield executionEnd('exec-1');
      },
    ],
    [
      'hangs up instead of acknowledging',
      async function* (next) {
        yield toolCall(Mediation.REQUIRES_APPROVAL);
        await next();
      },
    ],
    [
      'fails after its acknowledgement',
      async function* (next) {
        yield toolCall(Mediation.REQUIRES_APPROVAL);
        await next();
        yield acknowledged();
        throw new Error('oops');
      },
    ],
  ];
  it.each(acks)('%s: the host fails instead of parking', async (_, script) => {
    sink.onTool = async () => {
      throw new ParkedError(ref);
    };
    const outcome = await run(script);
    expect(outcome).not.toBeInstanceOf(ParkedError);
    expect(outcome).toMatchObject({ code: expect.stringMatching(/^harness-(protocol|failed)$/) });
  });

  it('DUR-19 never acknowledges: it is given up after a bounded time', async () => {
    const clock = new FakeClock();
    const harness = await peer(async function* (next) {
      yield toolCall(Mediation.REQUIRES_APPROVAL);
      await next();
      await next();
    }, clock);
    let told = false;
    sink.onTool = async () => {
      told = true;
      throw new ParkedError(ref);
    };
    const outcome = harness.run(startOf(), sink, new AbortController().signal);
    const seen = outcome.catch((error: unknown) => error);
    await eventually(() => told, 'the call came');
    await clock.advance(20_000);
    expect(await seen).toMatchObject({
      code: 'harness-protocol',
      message: expect.stringContaining('in time'),
    });
  });

  it('ends as failed: the turn fails with its description', async () => {
    const outcome = await run(async function* () {
      yield event('exec-1', EventKind.EVENT_END, {
        case: 'end',
        value: { state: 'FAILED', error: { description: 'no quota' } },
      });
    });
    expect(outcome).toMatchObject({ code: 'harness-failed', message: 'no quota' });
  });

  it.each<[string, Script]>([
    [
      'before its first word',
      async function* () {
        kill();
        yield modelCall();
      },
    ],
    [
      'while its call is answered',
      async function* (next) {
        yield modelCall();
        await next();
      },
    ],
    [
      'after its answer',
      async function* (next) {
        yield modelCall();
        await next();
        kill();
      },
    ],
  ])('DUR-19 dies %s: the turn fails, nothing hangs', async (when, script) => {
    const answer = sink.onModel;
    sink.onModel = async (call) => {
      if (when === 'while its call is answered') kill();
      return answer(call);
    };
    const outcome = await run(script);
    expect(outcome).toMatchObject({ code: expect.stringMatching(/^harness-/) });
  });

  it('DUR-19 answers with an error in the middle: the turn fails with it', async () => {
    const outcome = await run(async function* (next) {
      yield modelCall();
      await next();
      throw new Error('boom');
    });
    expect(outcome).toMatchObject({ code: 'harness-failed' });
  });
});

describe('the host', () => {
  it('a refused effect ends the stream with what refused it; the harness never sees it', async () => {
    const refused = new Error('no executor');
    sink.onTool = async () => {
      throw refused;
    };
    let reply: unknown = 'none';
    const outcome = await run(async function* (next) {
      yield toolCall(Mediation.CONTROLLER_MEDIATED);
      reply = await next();
    });
    expect(outcome).toBe(refused);
    expect([reply, await left]).not.toContainEqual(expect.objectContaining({ frame: expect.anything() }));
  });

  it('a canceled turn ends the stream of a harness that hangs, with the reason', async () => {
    const stop = new AbortController();
    const reason = new Error('the caller is gone');
    const outcome = await run(async function* (next) {
      setTimeout(() => stop.abort(reason), 5);
      await next();
    }, stop.signal);
    expect(outcome).toBe(reason);
    await eventually(() => left, 'its stream was ended');
  });

  it('nobody there, or a peer that is no harness: unavailable, failed', async () => {
    const unused = await bindListener(LOOPBACK, serving().ids);
    unused.close();
    const absent = connectHarness(addressText(unused.address), { clock: systemClock, cwd: '/' });
    const signal = new AbortController().signal;
    await expect(absent.describe(signal)).rejects.toMatchObject({ code: 'harness-unavailable' });
    await expect(absent.run(startOf(), sink, signal)).rejects.toMatchObject({ code: 'harness-unavailable' });
    const babbler = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    await new Promise<void>((resolve) => babbler.listen(0, '127.0.0.1', resolve));
    closing.push(() => babbler.close());
    const bound = babbler.address();
    if (bound === null || typeof bound === 'string') throw new Error('no port');
    const other = connectHarness(`127.0.0.1:${bound.port}`, { clock: systemClock, cwd: '/' });
    await expect(other.describe(signal)).rejects.toMatchObject({ code: expect.stringMatching(/^harness-/) });
    await expect(other.run(startOf(), sink, signal)).rejects.toMatchObject({
      code: expect.stringMatching(/^harness-/),
    });
  });

  it('a peer that takes the connection and says nothing is given up after a bounded time', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    closing.push(() => silent.close());
    const bound = silent.address();
    if (bound === null || typeof bound === 'string') throw new Error('no port');
    const harness = connectHarness(`127.0.0.1:${bound.port}`, { clock: systemClock, cwd: '/' });
    const stop = new AbortController();
    const asked = harness.describe(stop.signal).catch((error: unknown) => error);
    stop.abort(new Error('10 s are over'));
    expect(await asked).toMatchObject({ message: '10 s are over' });
    harness.close();
  });

  it.each([
    '',
    'x',
    'host',
    'host:',
    'host:99999',
    'http://host:1',
    'dns://8.8.8.8/host:1',
    'unix:',
    ':80',
    'a b:1',
  ])('the address %j is refused', (address) => {
    expect(() => connectHarness(address, { clock: systemClock, cwd: '/' })).toThrowError(
      expect.objectContaining({ code: 'harness-address' }),
    );
  });
});
