import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { addressText } from '../../platform/network-address.ts';
import { textMessage, textOf } from '../../protocol/events.ts';
import {
  ApprovalRefSchema,
  type Event,
  EventKind,
  EventSchema,
  Mediation,
  ModelCallSchema,
  ToolCallSchema,
  ToolResult_Code,
  ToolResultSchema,
  UsageSchema,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  type ControllerFrame,
  ControllerFrameSchema,
  HarnessDescriptorSchema,
  Harness as HarnessService,
} from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import { create, type MessageInitShape } from '../../protocol/protobuf.ts';
import type { Harness, HarnessSink, HarnessStart } from '../../session/turn/harness.ts';
import { ParkedError } from '../../session/turn/turn.ts';
import { connectHarness, type RemoteHarness } from './connect-harness.ts';
import { Handoff } from './handoff.ts';
import { serveHarness } from './serve-harness.ts';
import { decision, RecordingSink, startOf } from './testing/recording-sink.ts';
import { eventually, LOOPBACK, serving, urlOf } from './testing/serving.ts';

type Run = (start: HarnessStart, sink: HarnessSink, signal: AbortSignal) => Promise<void>;

const closing: (() => unknown)[] = [];
const never = new AbortController().signal;
let sink: RecordingSink;
let url: string;

/** A harness of this process, offered on a port, and driven from there. */
async function offered(run: Run, observes = false): Promise<RemoteHarness> {
  const harness: Harness = {
    observes,
    describe: async () => create(HarnessDescriptorSchema, { id: 'mine', version: '3' }),
    run,
  };
  const server = await serveHarness({ ...serving({ limits: { stopMs: 10 } }), harness, listen: LOOPBACK });
  url = urlOf(server.address);
  const remote = connectHarness(addressText(server.address), { clock: systemClock, cwd: '/' });
  closing.push(
    () => remote.close(),
    () => server.close(),
  );
  return remote;
}

const gated = create(ToolCallSchema, {
  id: 'call-1',
  tool: 'rm',
  mediation: Mediation.REQUIRES_APPROVAL,
  idempotencyKey: 'k',
});

beforeEach(() => {
  sink = new RecordingSink();
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

describe('a harness of ours, driven by a host of ours over the wire', () => {
  it('says who it is, and does what it does in this process', async () => {
    let seen: HarnessStart | undefined;
    const remote = await offered(async (start, to) => {
      seen = start;
      const { message } = await to.model(
        create(ModelCallSchema, { model: 'm', messages: [...start.inputs] }),
      );
      await to.output(textMessage('assistant', `heard ${textOf(message)}`));
      await to.usage(create(UsageSchema, { inputTokens: 3n }));
    });
    expect(await remote.describe(never)).toMatchObject({ id: 'mine', version: '3' });
    await remote.run(startOf(), sink, never);
    expect(sink.seen).toEqual(['model hi', 'output heard echo:hi', 'usage 3']);
    expect(seen).toMatchObject({ ...startOf(), inputs: [textMessage('user', 'hi')] });
  });

  it('its failure is the failure of the turn', async () => {
    const remote = await offered(async () => {
      throw new Error('out of paper');
    });
    await expect(remote.run(startOf(), sink, never)).rejects.toMatchObject({
      code: 'harness-failed',
      message: 'out of paper',
    });
  });

  it('parks where its host parks, and hears so', async () => {
    let heard: unknown;
    const remote = await offered(async (_, to) => {
      await to.toolCall(gated).catch((error: unknown) => {
        heard = error;
        throw error;
      });
    });
    const ref = create(ApprovalRefSchema, { executionId: 'exec-1', toolCallId: 'call-1', requestSeq: 4n });
    sink.onTool = async () => {
      throw new ParkedError(ref);
    };
    await expect(remote.run(startOf(), sink, never)).rejects.toBeInstanceOf(ParkedError);
    expect(heard).toMatchObject({ ref: { requestSeq: 4n } });
  });

  it('hears a decision before the receipt', async () => {
    const heard: unknown[] = [];
    const remote = await offered(async (_, to) => {
      const result = await to.toolCall(gated, ({ approved, reason }) => heard.push({ approved, reason }));
      heard.push(result.isError);
    });
    sink.onTool = async (_, decided) => {
      decided?.(decision(4n, true));
      return create(ToolResultSchema, { id: 'call-1', approvalRequestSeq: 4n, approvalDecisionSeq: 5n });
    };
    await remote.run(startOf(), sink, never);
    expect(heard).toEqual([{ approved: true, reason: 'because' }, false]);
  });

  it('calls that it carries out itself, pieces and facts stay at home; what it says goes over', async () => {
    const remote = await offered(async (_, to) => {
      to.delta('he');
      await to.observed(create(ToolCallSchema, { id: 'own', tool: 'Bash' }));
      await to.report(create(ToolResultSchema, { id: 'own' }));
      await to.fact(create(EventSchema));
      await to.output(textMessage('assistant', 'hello'));
    }, true);
    await remote.run(startOf(), sink, never);
    expect(sink.seen).toEqual(['output hello']);
  });

  it('is told when its host leaves', async () => {
    let reason: unknown;
    const remote = await offered(async (_, __, signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      reason = signal.reason;
    });
    const stop = new AbortController();
    const running = remote.run(startOf(), sink, stop.signal).catch(() => undefined);
    setTimeout(() => stop.abort(), 5);
    await running;
    await eventually(() => reason !== undefined, 'it was told');
  });

  it('a whole long log goes over in one frame', async () => {
    let length = 0;
    const remote = await offered(async (start) => {
      length = start.history.length;
    });
    const big = create(EventSchema, {
      executionId: 'e',
      kind: EventKind.EVENT_OUTPUT,
      body: { case: 'message', value: textMessage('assistant', 'x'.repeat(50_000)) },
    });
    await remote.run(startOf({ history: Array.from({ length: 200 }, () => big) }), sink, never);
    expect(length).toBe(200);
  });
});

describe('a host that does not keep to the protocol', () => {
  type Frame = MessageInitShape<typeof ControllerFrameSchema>;
  const begin: Frame = {
    session: 'sess-1',
    executionId: 'exec-1',
    frame: { case: 'start', value: { inputs: [textMessage('user', 'hi')] } },
  };

  /** Drives a harness by hand: the frames one after the other, each once an event has come. */
  async function drive(run: Run, ...frames: Frame[]): Promise<{ events: Event[]; error: unknown }> {
    await offered(run);
    const client = createClient(HarnessService, createGrpcTransport({ baseUrl: url }));
    const out = new Handoff<ControllerFrame>();
    const send = () => {
      const next = frames.shift();
      if (next) void out.put(create(ControllerFrameSchema, next)).catch(() => undefined);
      else out.end();
    };
    const events: Event[] = [];
    send();
    try {
      for await (const each of client.connect(out)) {
        events.push(each);
        send();
      }
      return { events, error: undefined };
    } catch (error) {
      return { events, error };
    }
  }

  const asksModel: Run = async (_, to) => {
    await to.model(create(ModelCallSchema, { id: 'mc-1' })).catch(() => undefined);
    // Swallowing the first failure does not help: it stays.
    await to.output(textMessage('assistant', 'as if nothing was'));
  };
  const callsTool: Run = async (_, to) => {
    await to.toolCall(create(ToolCallSchema, { id: 'call-1', mediation: Mediation.CONTROLLER_MEDIATED }));
  };
  const callsGated: Run = async (_, to) => {
    await to.toolCall(gated);
  };
  const frame = (
    body: NonNullable<Frame['frame']>,
    change: { session?: string; executionId?: string } = {},
  ): Frame => ({
    session: 'sess-1',
    executionId: 'exec-1',
    frame: body,
    ...change,
  });
  const approval = frame({
    case: 'approval',
    value: { toolCallId: 'call-1', requestSeq: 4n, approved: true },
  });

  it.each<[string, Run, Frame]>([
    ['does not begin with the start', callsTool, frame({ case: 'cancel', value: {} })],
    ['does not name the execution', callsTool, { ...begin, executionId: '' }],
  ])('%s: refused', async (_, run, first) => {
    const { events, error } = await drive(run, first);
    expect(events).toEqual([]);
    expect(error).toMatchObject({ code: 3 });
  });

  it.each<[string, Run, Frame[]]>([
    ['answers another model call', asksModel, [frame({ case: 'model', value: { modelCallId: 'mc-2' } })]],
    ['answers with something else', asksModel, [frame({ case: 'tool', value: { id: 'mc-1' } })]],
    [
      'answers for another execution',
      asksModel,
      [frame({ case: 'model', value: { modelCallId: 'mc-1' } }, { executionId: 'exec-2' })],
    ],
    ['brings the result of another call', callsTool, [frame({ case: 'tool', value: { id: 'call-2' } })]],
    [
      'brings a result of another session',
      callsTool,
      [frame({ case: 'tool', value: { id: 'call-1' } }, { session: 'sess-2' })],
    ],
    ['brings a receipt without a decision', callsGated, [frame({ case: 'tool', value: { id: 'call-1' } })]],
    [
      'parks another call',
      callsGated,
      [frame({ case: 'park', value: { executionId: 'exec-1', toolCallId: 'call-2', requestSeq: 4n } })],
    ],
    ['hangs up', callsTool, []],
  ])('%s: END says FAILED, then the call fails', async (_, run, replies) => {
    const { events, error } = await drive(run, begin, ...replies);
    expect(events.at(-1)).toMatchObject({
      kind: EventKind.EVENT_END,
      body: {
        value: { state: 'FAILED', error: { description: expect.stringContaining('harness protocol') } },
      },
    });
    expect(events).toHaveLength(2);
    expect(error).toMatchObject({ code: 13 });
  });

  it('brings a receipt that contradicts the decision: FAILED', async () => {
    let ended: unknown;
    await offered(async (_, to) => {
      await to.toolCall(gated).catch((error: unknown) => {
        ended = error;
      });
    });
    const client = createClient(HarnessService, createGrpcTransport({ baseUrl: url }));
    const out = new Handoff<ControllerFrame>();
    const denied = {
      id: 'call-1',
      isError: true,
      code: ToolResult_Code.APPROVAL_DENIED,
      approvalRequestSeq: 4n,
      approvalDecisionSeq: 5n,
    };
    for (const each of [begin, approval, frame({ case: 'tool', value: denied })]) {
      void out.put(create(ControllerFrameSchema, each)).catch(() => undefined);
    }
    const drained = (async () => {
      for await (const _ of client.connect(out));
    })();
    await expect(drained).rejects.toThrow('does not fit the decision');
    expect(ended).toMatchObject({ code: 'harness-protocol' });
  });

  it('cancels: the harness is stopped and END says CANCELED', async () => {
    const { events, error } = await drive(
      async (_, to, signal) => {
        await to.output(textMessage('assistant', 'working'));
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
      begin,
      frame({ case: 'cancel', value: { reason: 'not needed' } }),
    );
    expect(events.at(-1)).toMatchObject({
      body: { value: { state: 'CANCELED', error: { description: 'not needed' } } },
    });
    expect(error).toMatchObject({ code: 1 });
  });
});
