import { describe, expect, it } from 'vitest';
import { cityFact, event, textMessage } from '../../protocol/events.ts';
import {
  type ApprovalResult,
  EventKind,
  Mediation,
  type ToolResult,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { readLogView } from './read-log-view.ts';
import { harnessOf, scripted, TurnRig, toolCall } from './testing/turn-rig.ts';
import { DENIED_TEXT } from './tool-results.ts';
import { ParkedError } from './turn.ts';

const failure = (name: string) => expect.objectContaining({ failure: name });
const PARKED = ['EXECUTION_START', 'INPUT', 'TOOL_CALL', 'APPROVAL_REQUEST'];

/** Makes a gated call and says what came of it. */
function asking(): { readonly rig: TurnRig; readonly got: (ApprovalResult | ToolResult)[] } {
  const got: (ApprovalResult | ToolResult)[] = [];
  const harness = harnessOf(async (_, sink) => {
    const call = toolCall('g', Mediation.REQUIRES_APPROVAL);
    got.push(await sink.toolCall(call, (decision) => got.push(decision)));
    await sink.output(textMessage('assistant', 'went on'));
  });
  return { rig: new TurnRig(harness), got };
}

describe('a gated call', () => {
  it('is recorded with its request, and nothing follows', async () => {
    const { rig } = asking();
    const outcome = await rig.run('one');
    expect(outcome).toMatchObject({ kind: 'parked', ref: { toolCallId: 'g', requestSeq: 4n } });
    expect(await rig.kinds()).toEqual(PARKED);
    expect(rig.tools.asked).toEqual([]);
  });

  it('parks the turn even when the harness swallows it, or wraps it', async () => {
    const call = toolCall('g', Mediation.REQUIRES_APPROVAL);
    const swallowing = new TurnRig(
      harnessOf(async (_, sink) => {
        await sink.toolCall(call).catch(() => undefined);
        await sink.output(textMessage('assistant', 'x')).catch(() => undefined);
      }),
    );
    const wrapping = new TurnRig(
      harnessOf(async (_, sink) => {
        await sink.toolCall(call).catch((cause) => {
          throw new Error('tool failed', { cause });
        });
      }),
    );
    for (const rig of [swallowing, wrapping]) {
      expect(await rig.run('one')).toMatchObject({ kind: 'parked' });
      expect(await rig.kinds()).toEqual(PARKED);
    }
  });

  it('stays asked when the harness did not take the answer that it is parked', async () => {
    const rig = new TurnRig(
      harnessOf(async (_, sink) => {
        await sink.toolCall(toolCall('g', Mediation.REQUIRES_APPROVAL)).catch((error) => {
          if (error instanceof ParkedError) throw new Error('wrong acknowledgement');
        });
      }),
    );
    await expect(rig.run('one')).rejects.toThrow(/wrong acknowledgement/);
    expect(await rig.kinds()).toEqual(PARKED);
    expect((await readLogView(rig.store, rig.uid)).pendingApproval).toMatchObject({ requestSeq: 4 });
  });

  it('approved: the decision, then the receipt, then the turn goes on', async () => {
    const { rig, got } = asking();
    await rig.decide(await rig.run('one'), true);
    expect(await rig.resume()).toEqual({ kind: 'completed' });
    expect(await rig.kinds()).toEqual([...PARKED, 'APPROVAL_RESULT', 'TOOL_RESULT', 'OUTPUT', 'END']);
    expect(got).toMatchObject([
      { toolCallId: 'g', approved: true, reason: 'because', requestSeq: 4n },
      { id: 'g', code: 0, isError: false, approvalRequestSeq: 4n, approvalDecisionSeq: 5n },
    ]);
    expect(rig.tools.asked).toHaveLength(1);
  });

  it('denied: nothing is carried out, the harness is told and goes on', async () => {
    const { rig, got } = asking();
    await rig.decide(await rig.run('one'), false);
    expect(await rig.resume()).toEqual({ kind: 'completed' });
    expect(rig.tools.asked).toEqual([]);
    expect(got[1]).toMatchObject({
      code: 1,
      isError: true,
      error: DENIED_TEXT,
      content: [{ part: { case: 'text', value: { text: DENIED_TEXT } } }],
      approvalRequestSeq: 4n,
      approvalDecisionSeq: 5n,
    });
  });

  it('approved and failed: the failure is the receipt, and is not tried again', async () => {
    const { rig, got } = asking();
    rig.tools.fail = 'disk full';
    await rig.decide(await rig.run('one'), true);
    expect(await rig.resume()).toEqual({ kind: 'completed' });
    expect(got[1]).toMatchObject({ code: 2, isError: true, error: 'disk full', approvalDecisionSeq: 5n });
    expect(rig.tools.asked).toHaveLength(1);
  });

  it('approved with nobody to carry it out: the decision waits for another resume', async () => {
    const { rig } = asking();
    await rig.decide(await rig.run('one'), true);
    const cut = await rig.cutAfter(5, { noTools: true });
    await expect(cut.resume()).rejects.toEqual(failure('missing-executor'));
    expect(await cut.kinds()).toEqual([...PARKED, 'APPROVAL_RESULT']);
  });

  it('blocks new input until it is settled, also once it is decided', async () => {
    const { rig } = asking();
    const outcome = await rig.run('one');
    await expect(rig.run('two')).rejects.toEqual(failure('approval-blocked'));
    await rig.decide(outcome, true);
    await expect(rig.run('two')).rejects.toEqual(failure('approval-blocked'));
    await rig.resume();
    expect(await rig.run('two')).toMatchObject({ kind: 'parked' });
  });

  it('a resume before the answer changes nothing', async () => {
    const { rig } = asking();
    await rig.run('one');
    expect(await rig.resume()).toMatchObject({ kind: 'parked', ref: { requestSeq: 4n } });
    expect(await rig.kinds()).toEqual(PARKED);
  });

  it('a call that was cut before its request is asked about once', async () => {
    const { rig } = asking();
    await rig.run('one');
    const cut = await rig.cutAfter(3);
    expect(await cut.resume()).toMatchObject({ kind: 'parked', ref: { requestSeq: 4n } });
    expect(await cut.resume()).toMatchObject({ kind: 'parked', ref: { requestSeq: 4n } });
    expect(await cut.kinds()).toEqual(PARKED);
  });

  it('DUR-11 the question and the answer survive the host: a new one carries the turn on', async () => {
    const { rig, got } = asking();
    const outcome = await rig.run('one');
    const second = await rig.cutAfter(4);
    await second.decide(outcome, true);
    const third = await second.cutAfter(5);
    expect(await third.resume()).toEqual({ kind: 'completed' });
    expect(got).toHaveLength(2);
  });

  it('facts and errors may stand between call and receipt', async () => {
    const { rig } = asking();
    const outcome = await rig.run('one');
    await rig.store.append(rig.uid, [cityFact({ note: 1 })]);
    await rig.decide(outcome, true);
    expect(await rig.resume()).toEqual({ kind: 'completed' });
  });
});

describe('a fork of a waiting turn', () => {
  it('is not blocked, and cannot be answered or resumed', async () => {
    const { rig } = asking();
    await rig.run('one');
    const child = await rig.forkAt(4);
    const view = await readLogView(child.store, child.uid);
    expect(view).toMatchObject({ openApproval: { inherited: true }, approvals: [{ inherited: true }] });
    expect([view.blockingApproval, view.pendingApproval]).toEqual([undefined, undefined]);
    await expect(child.resume()).rejects.toEqual(failure('approval-unavailable'));
    child.harness = scripted([]);
    expect(await child.run('instead')).toEqual({ kind: 'completed' });
  });
});

describe('a harness that acts by itself', () => {
  it('finds the outcome among what was recorded', async () => {
    let recorded: readonly string[] = [];
    const rig = new TurnRig(
      harnessOf(
        async (start, sink) => {
          recorded = start.recorded.map(({ kind }) => EventKind[kind].replace('EVENT_', ''));
          if (recorded.length === 0) await sink.toolCall(toolCall('g', Mediation.REQUIRES_APPROVAL));
        },
        { observes: true },
      ),
    );
    await rig.decide(await rig.run('one'), true);
    expect(await rig.resume()).toEqual({ kind: 'completed' });
    expect(recorded).toEqual(['TOOL_CALL', 'APPROVAL_REQUEST', 'APPROVAL_RESULT', 'TOOL_RESULT']);
    expect(rig.tools.asked).toHaveLength(1);
  });
});

describe('evidence of approvals that contradicts itself is an invalid log', () => {
  const call = event('x', EventKind.EVENT_TOOL_CALL, {
    case: 'tool',
    value: toolCall('g', Mediation.REQUIRES_APPROVAL),
  });
  const request = event('x', EventKind.EVENT_APPROVAL_REQUEST, {
    case: 'approval',
    value: { toolCallId: 'g' },
  });
  const decision = (requestSeq: bigint, approved = true) =>
    event('x', EventKind.EVENT_APPROVAL_RESULT, {
      case: 'approvalResult',
      value: { toolCallId: 'g', requestSeq, approved },
    });
  const receipt = (value: object) =>
    event('x', EventKind.EVENT_TOOL_RESULT, { case: 'result', value: { id: 'g', ...value } });
  const seqs = { approvalRequestSeq: 2n, approvalDecisionSeq: 3n };
  const end = event('x', EventKind.EVENT_END, { case: 'end', value: { state: 'COMPLETED' } });
  const error = event('x', EventKind.EVENT_ERROR, { case: 'error', value: { description: 'x' } });

  it.each([
    ['an end while the call waits', [call, request, end]],
    ['another call while it waits', [call, call]],
    ['a decision without a request', [call, decision(2n)]],
    ['a decision on another request', [call, request, decision(7n)]],
    ['two decisions', [call, request, decision(2n), decision(2n)]],
    ['a receipt without a decision', [call, request, receipt(seqs)]],
    [
      'a receipt of another decision',
      [call, request, decision(2n), receipt({ ...seqs, approvalDecisionSeq: 9n })],
    ],
    [
      'a denial after an approval',
      [call, request, decision(2n), receipt({ ...seqs, code: 1, isError: true })],
    ],
    ['a success after a denial', [call, request, decision(2n, false), receipt(seqs)]],
    ['its id again', [call, request, decision(2n), receipt(seqs), call]],
    ['a result that claims a decision', [receipt(seqs)]],
  ])('%s', async (_, events) => {
    const rig = new TurnRig(scripted([]));
    await rig.store.append(rig.uid, events);
    await expect(readLogView(rig.store, rig.uid)).rejects.toEqual(failure('invalid-log'));
  });

  it('errors do not contradict it', async () => {
    const rig = new TurnRig(scripted([]));
    await rig.store.append(rig.uid, [call, error, request]);
    await rig.store.append(rig.uid, [error, decision(3n), error]);
    expect(await readLogView(rig.store, rig.uid)).toMatchObject({ blockingApproval: { state: 'decided' } });
  });
});
