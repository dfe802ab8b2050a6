import assert from 'node:assert/strict';
import { Mediation } from '../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import type { PeerScript, ServiceCase } from './case.ts';
import { end, modelCall, output, speaks, toolCall } from './peer-scripts.ts';
import {
  begin,
  DESCRIPTOR,
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

/** A host that drives harnesses over the wire, with a harness of the suite at the other end. */
export const HARNESS_CASES: readonly ServiceCase[] = [
  {
    name: 'a registered harness runs turns and gets the whole history',
    needs: ['registry'],
    proves: 'any program that speaks the protocol can be an agent',
    async run(subject) {
      const histories: number[] = [];
      const script: PeerScript = async (turn) => {
        const { executionId, start } = await begin(turn);
        histories.push(start.history.length);
        const last = start.inputs.at(-1)?.parts[0]?.part;
        output(turn, executionId, last?.case === 'text' ? last.value.text.toUpperCase() : '');
        end(turn, executionId);
      };
      await withPeer(subject, script, async ({ uid }) => {
        const outcome = await turn(subject.sessions, uid, 'one');
        assert.deepEqual(kindsOf(recordsOf(outcome)), ['EXECUTION_START', 'INPUT', 'OUTPUT', 'END']);
        await turn(subject.sessions, uid, 'two');
        assert.deepEqual(histories, [0, 4], 'the second turn gets the records of the first, not its own');
        assert.deepEqual(textsOf(await logOf(subject.sessions, uid)), ['ONE', 'TWO']);
      });
    },
  },
  {
    name: 'model calls are the host’s: intent, answer, reply',
    needs: ['registry'],
    proves: 'what the model was asked and said is recorded before the harness acts on it',
    async run(subject) {
      const replies: string[] = [];
      const script: PeerScript = async (turn) => {
        const { executionId } = await begin(turn);
        modelCall(turn, executionId, 'ping', 'my-call');
        const frame = await turn.receive();
        assert.ok(frame?.frame.case === 'model', 'the answer is a model frame');
        replies.push(frame.frame.value.modelCallId);
        end(turn, executionId);
      };
      await withPeer(subject, script, async ({ uid }) => {
        const records = recordsOf(await turn(subject.sessions, uid, 'go'));
        assert.deepEqual(kindsOf(records), ['EXECUTION_START', 'INPUT', 'MODEL_CALL', 'OUTPUT', 'END']);
        assert.deepEqual(replies, ['my-call'], 'the reply carries the id of the harness');
        const call = records[2]?.event?.body;
        assert.ok(call?.case === 'model');
        assert.match(call.value.inputHash, /^[0-9a-f]{64}$/);
        assert.deepEqual(
          [call.value.messages.length, call.value.id === 'my-call'],
          [0, false],
          'the journal has neither messages nor wire id',
        );
      });
    },
  },
  {
    name: 'a mediated call without an idempotency key is refused before it is an intent',
    needs: ['registry'],
    proves: 'no effect that could not be deduplicated is ever begun',
    async run(subject) {
      const script: PeerScript = async (turn) => {
        const { executionId } = await begin(turn);
        toolCall(turn, executionId, Mediation.CONTROLLER_MEDIATED, '');
        await turn.receive();
        end(turn, executionId);
      };
      await withPeer(subject, script, async ({ uid }) => {
        const outcome = await subject.sessions.exec({ session: uid, inputs: [say('go')] });
        assert.ok(outcome.failure);
        assert.ok(!kindsOf(await logOf(subject.sessions, uid)).includes('TOOL_CALL'));
      });
    },
  },
  {
    name: 'a call of no mediation is refused and has no result',
    needs: ['registry'],
    proves: 'the host never guesses who carries out a call',
    async run(subject) {
      const script: PeerScript = async (turn) => {
        const { executionId } = await begin(turn);
        toolCall(turn, executionId, Mediation.UNSPECIFIED);
        await turn.receive();
        end(turn, executionId);
      };
      await withPeer(subject, script, async ({ uid }) => {
        const outcome = await subject.sessions.exec({ session: uid, inputs: [say('go')] });
        assert.ok(outcome.failure);
        assert.ok(!kindsOf(await logOf(subject.sessions, uid)).some((kind) => kind.startsWith('TOOL_')));
      });
    },
  },
  {
    name: 'a mediated call is carried out once, and its result recorded before the harness hears it',
    needs: ['registry', 'tools'],
    proves: 'effects happen once',
    async run(subject) {
      const key = `key-${process.pid}-${Math.random()}`;
      const script: PeerScript = async (turn) => {
        const { executionId } = await begin(turn);
        toolCall(turn, executionId, Mediation.CONTROLLER_MEDIATED, key);
        const frame = await turn.receive();
        assert.ok(frame?.frame.case === 'tool' && frame.frame.value.id === 'tool-1');
        end(turn, executionId);
      };
      await withPeer(subject, script, async ({ uid }) => {
        const records = recordsOf(await turn(subject.sessions, uid, 'go'));
        assert.deepEqual(kindsOf(records), ['EXECUTION_START', 'INPUT', 'TOOL_CALL', 'TOOL_RESULT', 'END']);
        assert.equal(subject.toolRuns?.(key), 1);
      });
    },
  },
  {
    name: 'a harness that reports failure leaves an error and no end',
    needs: ['registry'],
    proves: 'a failed turn is not taken for a finished one',
    async run(subject) {
      const script: PeerScript = async (turn) => {
        const { executionId } = await begin(turn);
        end(turn, executionId, 'FAILED', 'out of tokens');
      };
      await withPeer(subject, script, async ({ uid }) => {
        const outcome = await subject.sessions.exec({ session: uid, inputs: [say('go')] });
        failedWith(outcome, 'INTERNAL', 'a harness that fails');
        assert.deepEqual(kindsOf(await logOf(subject.sessions, uid)), ['EXECUTION_START', 'INPUT', 'ERROR']);
      });
    },
  },
  {
    name: 'a turn that failed is resumed from where it was cut',
    needs: ['registry'],
    proves: 'recorded effects are served again, not done again',
    async run(subject) {
      let attempt = 0;
      const script: PeerScript = async (turn) => {
        const { executionId } = await begin(turn);
        attempt += 1;
        modelCall(turn, executionId, 'ping');
        const frame = await turn.receive();
        assert.ok(frame?.frame.case === 'model');
        if (attempt === 1) throw new Error('dies after the answer');
        output(turn, executionId, 'after all');
        end(turn, executionId);
      };
      await withPeer(subject, script, async ({ uid }) => {
        const outcome = await subject.sessions.exec({ session: uid, inputs: [say('go')] });
        assert.ok(outcome.failure);
        await subject.sessions.resume(uid);
        const kinds = kindsOf(await logOf(subject.sessions, uid)).filter((kind) => kind !== 'ERROR');
        assert.deepEqual(kinds, [
          'EXECUTION_START',
          'INPUT',
          'MODEL_CALL',
          'OUTPUT',
          'OUTPUT',
          'END',
          'LIFECYCLE',
        ]);
      });
    },
  },
  {
    name: 'a harness that asks for something else on a resume is stopped',
    needs: ['registry'],
    proves: 'I0: what is asked again is what was recorded',
    async run(subject) {
      let attempt = 0;
      const script: PeerScript = async (turn) => {
        const { executionId } = await begin(turn);
        attempt += 1;
        modelCall(turn, executionId, `ping ${attempt}`);
        const frame = await turn.receive();
        if (frame?.frame.case === 'model' && attempt === 1) throw new Error('dies after the answer');
        end(turn, executionId);
      };
      await withPeer(subject, script, async ({ uid }) => {
        await subject.sessions.exec({ session: uid, inputs: [say('go')] });
        await refused(subject.sessions.resume(uid), 'INTERNAL', 'a diverging resume');
        const kinds = kindsOf(await logOf(subject.sessions, uid));
        assert.deepEqual(
          [kinds.filter((kind) => kind === 'MODEL_CALL').length, kinds.includes('END')],
          [1, false],
        );
      });
    },
  },
  {
    name: 'a turn is not gone on with by another version of its harness',
    needs: ['registry'],
    proves: 'what was recorded is replayed to the program that it was recorded for',
    async run(subject) {
      const dies: PeerScript = async (turn) => {
        await begin(turn);
        throw new Error('dies');
      };
      await withPeer(subject, dies, async ({ uid, peer }) => {
        assert.ok((await subject.sessions.exec({ session: uid, inputs: [say('go')] })).failure);
        peer.play(speaks('never'));
        peer.describe({ ...DESCRIPTOR, models: [...DESCRIPTOR.models], version: '2' });
        await refused(subject.sessions.resume(uid), 'FAILED_PRECONDITION', 'resuming with version 2');
        peer.describe({ ...DESCRIPTOR, models: [...DESCRIPTOR.models] });
        peer.play(speaks('again'));
        await subject.sessions.resume(uid);
        assert.deepEqual(textsOf(await logOf(subject.sessions, uid)), ['again']);
      });
    },
  },
];
