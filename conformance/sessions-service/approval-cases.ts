import assert from 'node:assert/strict';
import { EventKind, Mediation } from '../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import { ComputeState, ExecState } from '../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import type { PeerScript, ServiceCase } from './case.ts';
import { end, gated, toolCall } from './peer-scripts.ts';
import {
  assertChain,
  begin,
  failedWith,
  kindsOf,
  logOf,
  recordsOf,
  refused,
  say,
  textsOf,
  turn,
  withPeer,
} from './steps.ts';

/** Calls that a person is asked about first. */
export const APPROVAL_CASES: readonly ServiceCase[] = [
  {
    name: 'a gated call parks the turn without an end',
    needs: ['registry'],
    proves: 'a question waits, durably, with nothing running',
    async run(subject) {
      await withPeer(subject, gated, async ({ uid }) => {
        const outcome = await turn(subject.sessions, uid, 'go');
        const records = recordsOf(outcome);
        assert.deepEqual(kindsOf(records), [
          'EXECUTION_START',
          'INPUT',
          'TOOL_CALL',
          'APPROVAL_REQUEST',
          'LIFECYCLE',
        ]);
        const last = outcome.updates.at(-1)?.update;
        assert.ok(last?.case === 'session', 'the last frame is the session');
        const { execState, computeState, pendingApproval } = last.value;
        assert.deepEqual([execState, computeState], [ExecState.EXEC_AWAITING, ComputeState.COMPUTE_COLD]);
        assert.deepEqual([pendingApproval?.toolCallId, pendingApproval?.requestSeq], ['tool-1', 4n]);
        failedWith(
          await subject.sessions.exec({ session: uid, inputs: [say('other')] }),
          'FAILED_PRECONDITION',
          'a new message while one waits',
        );
        const paused = await subject.sessions.resume(uid);
        assert.deepEqual(
          [paused.execState, paused.lastSeq],
          [ExecState.EXEC_AWAITING, 5n],
          'Resume before the decision changes nothing',
        );
      });
    },
  },
  {
    name: 'a denial is a receipt, and the harness is told',
    needs: ['registry'],
    proves: 'a "no" reaches the agent, nothing is carried out, and the turn goes on',
    async run(subject) {
      await withPeer(subject, gated, async ({ uid }) => {
        await turn(subject.sessions, uid, 'go');
        const pending = (await subject.sessions.get(uid)).pendingApproval;
        assert.ok(pending);
        const { executionId, toolCallId, requestSeq } = pending;
        const answer = { session: uid, executionId, toolCallId, requestSeq, reason: 'not today' };
        const first = await subject.sessions.approve({ ...answer, approved: false });
        const again = await subject.sessions.approve({ ...answer, approved: false });
        assert.equal(again.decision?.seq, first.decision?.seq, 'the same answer again is the first one');
        await refused(
          subject.sessions.approve({ ...answer, approved: true }),
          'FAILED_PRECONDITION',
          'another answer',
        );
        const resumed = await subject.sessions.resume(uid);
        assert.equal(resumed.execState, ExecState.EXEC_COMPLETED);
        const log = await logOf(subject.sessions, uid);
        assert.deepEqual(kindsOf(log).slice(5), [
          'APPROVAL_RESULT',
          'TOOL_RESULT',
          'OUTPUT',
          'END',
          'LIFECYCLE',
        ]);
        const receipt = log[6]?.event?.body;
        assert.ok(receipt?.case === 'result');
        const { code, isError, approvalRequestSeq, approvalDecisionSeq } = receipt.value;
        assert.deepEqual(
          [code, isError, approvalRequestSeq, approvalDecisionSeq],
          [1, true, requestSeq, first.decision?.seq],
        );
        assert.match(textsOf(log)[0] ?? '', /^refused: /);
        assertChain(log);
      });
    },
  },
  {
    name: 'an approval is carried out once',
    needs: ['registry', 'tools'],
    proves: 'a "yes" has its effect, once',
    async run(subject) {
      await withPeer(subject, gated, async ({ uid }) => {
        await turn(subject.sessions, uid, 'go');
        const pending = (await subject.sessions.get(uid)).pendingApproval;
        assert.ok(pending);
        const { executionId, toolCallId, requestSeq } = pending;
        const before = subject.toolRuns?.('key-1') ?? 0;
        await subject.sessions.approve({ session: uid, executionId, toolCallId, requestSeq, approved: true });
        assert.equal(subject.toolRuns?.('key-1'), before, 'Approve itself carries out nothing');
        await subject.sessions.resume(uid);
        assert.equal(subject.toolRuns?.('key-1'), before + 1);
        assert.deepEqual(textsOf(await logOf(subject.sessions, uid)), ['done']);
      });
    },
  },
  {
    name: 'an approval cannot be given in a fork',
    needs: ['registry'],
    proves: 'a copy of a question is not the question',
    async run(subject) {
      await withPeer(subject, gated, async ({ uid }) => {
        await turn(subject.sessions, uid, 'go');
        const pending = (await subject.sessions.get(uid)).pendingApproval;
        assert.ok(pending);
        const { children } = await subject.sessions.fork({ session: uid });
        const child = children[0]?.metadata?.uid ?? '';
        assert.equal((await subject.sessions.get(child)).pendingApproval, undefined);
        const { executionId, toolCallId, requestSeq } = pending;
        await refused(
          subject.sessions.approve({ session: child, executionId, toolCallId, requestSeq, approved: true }),
          'FAILED_PRECONDITION',
          'approving in the child',
        );
        await refused(
          subject.sessions.resume(child),
          'FAILED_PRECONDITION',
          'resuming the child over the copied question',
        );
      });
    },
  },
  {
    name: 'a gated call without a key is refused before anybody is asked',
    needs: ['registry'],
    proves: 'a person is asked only about what can be carried out exactly once',
    async run(subject) {
      const keyless: PeerScript = async (turn) => {
        const { executionId } = await begin(turn);
        toolCall(turn, executionId, Mediation.REQUIRES_APPROVAL, '');
        await turn.receive();
        end(turn, executionId);
      };
      await withPeer(subject, keyless, async ({ uid }) => {
        const outcome = await subject.sessions.exec({ session: uid, inputs: [say('go')] });
        assert.ok(outcome.failure);
        const kinds = kindsOf(await logOf(subject.sessions, uid));
        assert.ok(!kinds.includes('TOOL_CALL') && !kinds.includes('APPROVAL_REQUEST'), kinds.join(' '));
      });
    },
  },
  {
    name: 'a harness that acknowledges another question fails the turn, and the question stays',
    needs: ['registry'],
    proves: 'a careless harness cannot lose what a person was asked',
    async run(subject) {
      const careless: PeerScript = async (turn) => {
        const { executionId } = await begin(turn);
        toolCall(turn, executionId, Mediation.REQUIRES_APPROVAL);
        const frame = await turn.receive();
        assert.ok(frame?.frame.case === 'park');
        const { toolCallId, requestSeq } = frame.frame.value;
        turn.send({
          executionId,
          kind: EventKind.EVENT_PARKED,
          body: { case: 'parked', value: { executionId, toolCallId, requestSeq: requestSeq + 1n } },
        });
      };
      await withPeer(subject, careless, async ({ uid, peer }) => {
        const outcome = await subject.sessions.exec({ session: uid, inputs: [say('go')] });
        assert.ok(outcome.failure, 'the turn fails');
        const kinds = kindsOf(await logOf(subject.sessions, uid));
        assert.ok(!['END', 'PARKED', 'TOOL_RESULT'].some((kind) => kinds.includes(kind)), kinds.join(' '));
        const pending = (await subject.sessions.get(uid)).pendingApproval;
        assert.equal(pending?.requestSeq, 4n, 'the question is still there');
        peer.play(gated);
        const { executionId, toolCallId, requestSeq } = pending;
        await subject.sessions.approve({
          session: uid,
          executionId,
          toolCallId,
          requestSeq,
          approved: false,
        });
        assert.equal((await subject.sessions.resume(uid)).execState, ExecState.EXEC_COMPLETED);
        assertChain(await logOf(subject.sessions, uid));
      });
    },
  },
  {
    name: 'Exec without inputs after the answer goes on with the turn, streaming',
    needs: ['registry'],
    proves: 'a client can watch what comes of its answer',
    async run(subject) {
      await withPeer(subject, gated, async ({ uid }) => {
        await turn(subject.sessions, uid, 'go');
        const pending = (await subject.sessions.get(uid)).pendingApproval;
        assert.ok(pending);
        const { executionId, toolCallId, requestSeq } = pending;
        await subject.sessions.approve({
          session: uid,
          executionId,
          toolCallId,
          requestSeq,
          approved: false,
        });
        const outcome = await subject.sessions.exec({ session: uid });
        assert.equal(outcome.failure, undefined);
        assert.deepEqual(kindsOf(recordsOf(outcome)), ['TOOL_RESULT', 'OUTPUT', 'END', 'LIFECYCLE']);
        assert.equal(outcome.updates.at(-1)?.update.case, 'session', 'the last frame is the session');
      });
    },
  },
  {
    name: 'a question outlives the server',
    needs: ['registry', 'journal'],
    proves: 'the answer may come days later',
    async run(subject) {
      await withPeer(subject, gated, async ({ uid }) => {
        await turn(subject.sessions, uid, 'go');
        await subject.cutLog?.(uid, 5);
        const { execState, pendingApproval } = await subject.sessions.get(uid);
        assert.equal(execState, ExecState.EXEC_AWAITING);
        assert.ok(pendingApproval);
        const { executionId, toolCallId, requestSeq } = pendingApproval;
        await subject.sessions.approve({
          session: uid,
          executionId,
          toolCallId,
          requestSeq,
          approved: false,
        });
        assert.equal((await subject.sessions.resume(uid)).execState, ExecState.EXEC_COMPLETED);
      });
    },
  },
];
