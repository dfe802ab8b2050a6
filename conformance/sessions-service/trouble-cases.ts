import assert from 'node:assert/strict';
import { EventKind } from '../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import { ExecState } from '../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import type { PeerScript, ServiceCase } from './case.ts';
import { end, hangs, output, speaks } from './peer-scripts.ts';
import {
  assertChain,
  begin,
  DESCRIPTOR,
  failedWith,
  kindsOf,
  logOf,
  newSession,
  refused,
  say,
  textsOf,
  turn,
  withPeer,
} from './steps.ts';

const misbehaves = (name: string, proves: string, script: PeerScript): ServiceCase => ({
  name,
  needs: ['registry'],
  proves,
  async run(subject) {
    await withPeer(subject, script, async ({ uid, peer }) => {
      const outcome = await subject.sessions.exec({ session: uid, inputs: [say('hi')] });
      assert.ok(outcome.failure, 'the turn fails');
      const log = await logOf(subject.sessions, uid);
      assert.ok(!kindsOf(log).includes('END'), `a failed turn has no END: ${kindsOf(log).join(' ')}`);
      assertChain(log);
      peer.play(speaks('well again'));
      await turn(subject.sessions, uid, 'and now?');
      assert.equal(textsOf(await logOf(subject.sessions, uid)).at(-1), 'well again', 'the session goes on');
    });
  },
});

/** Harnesses that lie, hang or die, and clients that go away. */
export const TROUBLE_CASES: readonly ServiceCase[] = [
  {
    name: 'two turns at once: one runs, the other is told to try again',
    needs: ['registry'],
    proves: 'turns never interleave',
    async run(subject) {
      let release: () => void = () => undefined;
      let began: () => void = () => undefined;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const started = new Promise<void>((resolve) => {
        began = resolve;
      });
      const script: PeerScript = async (turn) => {
        const { executionId } = await begin(turn);
        began();
        await released;
        end(turn, executionId);
      };
      await withPeer(subject, script, async ({ uid }) => {
        const first = subject.sessions.exec({ session: uid, inputs: [say('one')] });
        await started;
        failedWith(
          await subject.sessions.exec({ session: uid, inputs: [say('two')] }),
          'ABORTED',
          'an overlapping turn',
        );
        await refused(subject.sessions.suspend(uid), 'ABORTED', 'Suspend in the middle of a turn');
        release();
        assert.equal((await first).failure, undefined);
        assert.deepEqual(kindsOf(await logOf(subject.sessions, uid)), ['EXECUTION_START', 'INPUT', 'END']);
      });
    },
  },
  {
    name: 'a client that goes away ends its turn, not the session',
    needs: ['registry'],
    proves: 'an abandoned turn holds nothing, and can be taken up again',
    async run(subject) {
      await withPeer(subject, hangs, async ({ uid, peer }) => {
        const leave = new AbortController();
        const outcome = await subject.sessions.exec(
          { session: uid, inputs: [say('hi')] },
          {
            signal: leave.signal,
            seen: ({ update }) => {
              if (update.case === 'record' && update.value.event?.kind === EventKind.EVENT_INPUT)
                leave.abort();
            },
          },
        );
        assert.ok(outcome.failure);
        peer.play(speaks('there you are'));
        const resumed = await untilFree(() => subject.sessions.resume(uid));
        assert.equal(resumed.execState, ExecState.EXEC_COMPLETED);
        assert.deepEqual(textsOf(await logOf(subject.sessions, uid)), ['there you are']);
      });
    },
  },
  {
    name: 'a deadline ends a turn that hangs',
    needs: ['registry'],
    proves: 'nobody waits for ever',
    async run(subject) {
      await withPeer(subject, hangs, async ({ uid }) => {
        const deadlineUnix = BigInt(Math.ceil(Date.now() / 1_000) + 1);
        const outcome = await subject.sessions.exec({ session: uid, inputs: [say('hi')], deadlineUnix });
        assert.ok(outcome.failure);
        assert.ok(!kindsOf(await logOf(subject.sessions, uid)).includes('END'));
      });
    },
  },
  misbehaves(
    'a result that claims to be a denial is refused',
    'only the host says what a person decided',
    async (turn) => {
      const { executionId } = await begin(turn);
      turn.send({
        executionId,
        kind: EventKind.EVENT_TOOL_RESULT,
        body: { case: 'result', value: { id: 'x', isError: true, code: 1 } },
      });
      await turn.receive();
      end(turn, executionId);
    },
  ),
  misbehaves('an event of another execution fails the turn', 'answers are never mixed up', async (turn) => {
    const { executionId } = await begin(turn);
    output(turn, `${executionId}x`, 'not mine');
    await turn.receive();
    end(turn, executionId);
  }),
  misbehaves('an approval request from a harness is a protocol error', 'only the host asks', async (turn) => {
    const { executionId } = await begin(turn);
    turn.send({
      executionId,
      kind: EventKind.EVENT_APPROVAL_REQUEST,
      body: { case: 'approval', value: { toolCallId: 'x' } },
    });
    await turn.receive();
    end(turn, executionId);
  }),
  misbehaves(
    'a parked event that nobody asked for is a protocol error',
    'a turn cannot hide',
    async (turn) => {
      const { executionId } = await begin(turn);
      turn.send({
        executionId,
        kind: EventKind.EVENT_PARKED,
        body: { case: 'parked', value: { executionId, toolCallId: 'x', requestSeq: 1n } },
      });
    },
  ),
  misbehaves(
    'an execution start from a harness is a protocol error',
    'only the host begins turns',
    async (turn) => {
      const { executionId } = await begin(turn);
      turn.send({
        executionId,
        kind: EventKind.EVENT_EXECUTION_START,
        body: { case: 'executionStart', value: { inputCount: 0n } },
      });
      await turn.receive();
      end(turn, executionId);
    },
  ),
  misbehaves('a stream that breaks fails the turn', 'a dead agent is not a silent one', async (turn) => {
    await begin(turn);
    throw new Error('the peer dies');
  }),
  {
    name: 'a harness that says it is another one is refused before anything is recorded',
    needs: ['registry'],
    proves: 'a wrong address does not get the history',
    async run(subject) {
      await withPeer(subject, speaks('never'), async ({ uid, peer }) => {
        peer.describe({ ...DESCRIPTOR, models: [...DESCRIPTOR.models], id: 'somebody-else' });
        failedWith(
          await subject.sessions.exec({ session: uid, inputs: [say('hi')] }),
          'FAILED_PRECONDITION',
          'another descriptor',
        );
        assert.deepEqual([(await logOf(subject.sessions, uid)).length, peer.turns()], [0, 0]);
      });
    },
  },
  {
    name: 'a harness that is not there is UNAVAILABLE and leaves no record',
    needs: ['registry'],
    proves: 'a client knows that it may try again',
    async run(subject) {
      await withPeer(subject, speaks('never'), async ({ uid, peer }) => {
        await peer.close();
        failedWith(
          await subject.sessions.exec({ session: uid, inputs: [say('hi')] }),
          'UNAVAILABLE',
          'nobody at the address',
        );
        assert.equal((await logOf(subject.sessions, uid)).length, 0);
      });
    },
  },
  {
    name: 'a session of a registered harness cannot be run with another, nor the other way round',
    needs: ['registry'],
    proves: 'a history is not handed to a stranger',
    async run(subject) {
      await withPeer(subject, speaks('mine'), async ({ uid, name }) => {
        failedWith(
          await subject.sessions.exec({ session: uid, inputs: [say('hi')], harness: 'echo' }),
          'FAILED_PRECONDITION',
          'echo on a registered one',
        );
        const plain = await newSession(subject.sessions);
        failedWith(
          await subject.sessions.exec({ session: plain, inputs: [say('hi')], harness: name }),
          'FAILED_PRECONDITION',
          'a registered one on echo',
        );
      });
    },
  },
];

/** Waits for a server that is still ending an abandoned turn. */
async function untilFree<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Error) || !('status' in error) || error.status !== 'ABORTED') throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
