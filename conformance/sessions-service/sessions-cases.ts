import assert from 'node:assert/strict';
import {
  Lifecycle_Kind,
  type LogRecord,
} from '../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import { ComputeState, ExecState } from '../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import type { ServiceCase } from './case.ts';
import {
  assertChain,
  failedWith,
  freshProject,
  kindsOf,
  logOf,
  newSession,
  recordsOf,
  refused,
  say,
  textsOf,
  turn,
  uidOf,
} from './steps.ts';

const UNKNOWN = 'sess-ffffffffffffffffffffffff';
const ECHO_TURN = ['EXECUTION_START', 'INPUT', 'MODEL_CALL', 'OUTPUT', 'END'];

const lifecycleKind = (record: LogRecord | undefined): Lifecycle_Kind | undefined => {
  const body = record?.event?.body;
  return body?.case === 'lifecycle' ? body.value.kind : undefined;
};

/** What every host of sessions must do with its built-in echo harness, seen through the Sessions service alone. */
export const SESSIONS_CASES: readonly ServiceCase[] = [
  {
    name: 'a new session is pending, without compute and records',
    needs: [],
    proves: 'a session exists, durably, before its first event',
    async run({ sessions }) {
      const project = freshProject();
      const session = await sessions.create({
        session: {
          metadata: { project, name: 'first' },
          harness: 'echo',
          model: 'm',
          labels: { a: '1' },
          annotations: { b: '2' },
        },
      });
      assert.equal(session.lastSeq, 0n);
      assert.equal(session.execState, ExecState.EXEC_PENDING);
      assert.equal(session.computeState, ComputeState.COMPUTE_NONE);
      assert.deepEqual({ ...session.labels }, { a: '1' });
      const read = await sessions.get(uidOf(session));
      assert.deepEqual(
        [read.metadata?.project, read.metadata?.name, read.harness, read.model],
        [project, 'first', 'echo', 'm'],
      );
      assert.ok(read.metadata?.createTime, 'it says when it was created');
    },
  },
  {
    name: 'a caller cannot choose uid, lineage or state of a new session',
    needs: [],
    proves: 'identities cannot be forged',
    async run({ sessions }) {
      const made = await sessions.create({
        session: {
          metadata: { project: freshProject(), uid: UNKNOWN },
          harness: 'echo',
          parentUid: UNKNOWN,
          forkSeq: 9n,
          execState: ExecState.EXEC_FAILED,
          lastSeq: 7n,
        },
      });
      assert.notEqual(uidOf(made), UNKNOWN);
      assert.deepEqual(
        [made.parentUid, made.forkSeq, made.lastSeq, made.execState],
        ['', 0n, 0n, ExecState.EXEC_PENDING],
      );
    },
  },
  {
    name: 'an unknown harness is refused and leaves no session',
    needs: [],
    proves: 'a typing error does not litter',
    async run({ sessions }) {
      const project = freshProject();
      await refused(
        sessions.create({ session: { metadata: { project }, harness: 'no-such-harness' } }),
        'INVALID_ARGUMENT',
        'unknown harness',
      );
      assert.equal((await sessions.list({ project })).sessions.length, 0);
    },
  },
  {
    name: 'an echo turn is five records, streamed as they are committed',
    needs: ['echo'],
    proves: 'a client sees a turn as it happens, and what it saw is what the log holds',
    async run({ sessions }) {
      const uid = await newSession(sessions);
      const outcome = await turn(sessions, uid, 'hi');
      const first = outcome.updates[0]?.update;
      assert.equal(first?.case, 'session', 'the first frame is the session');
      assert.ok(first.case === 'session');
      assert.equal(first.value.lastSeq, 0n, 'as it was before the turn');
      assert.deepEqual(kindsOf(recordsOf(outcome)), ECHO_TURN);
      assert.equal(outcome.updates.at(-1)?.update.case, 'record', 'no session frame after END');
      const log = await logOf(sessions, uid);
      assert.deepEqual(
        log.map(({ contentHash }) => contentHash),
        recordsOf(outcome).map(({ contentHash }) => contentHash),
      );
      assert.deepEqual(textsOf(log), ['echo:hi']);
      assertChain(log);
      const after = await sessions.get(uid);
      assert.deepEqual(
        [after.lastSeq, after.execState, after.computeState],
        [5n, ExecState.EXEC_COMPLETED, ComputeState.COMPUTE_LIVE],
      );
    },
  },
  {
    name: 'Exec without a session makes one',
    needs: [],
    proves: 'one call is enough to talk',
    async run({ sessions }) {
      const outcome = await sessions.exec({ inputs: [say('hi')] });
      assert.equal(outcome.failure, undefined);
      const first = outcome.updates[0]?.update;
      assert.ok(first?.case === 'session', 'the first frame names the new session');
      assert.deepEqual(kindsOf(await logOf(sessions, uidOf(first.value))), ECHO_TURN);
    },
  },
  {
    name: 'three turns follow each other in one log',
    needs: ['echo'],
    proves: 'conversations go on',
    async run({ sessions }) {
      const uid = await newSession(sessions);
      for (const text of ['one', 'two', 'three']) await turn(sessions, uid, text);
      const log = await logOf(sessions, uid);
      assert.deepEqual(kindsOf(log), [...ECHO_TURN, ...ECHO_TURN, ...ECHO_TURN]);
      assert.deepEqual(textsOf(log), ['echo:one', 'echo:two', 'echo:three']);
      assert.equal(
        new Set(log.map(({ event }) => event?.executionId)).size,
        3,
        'each turn has an execution of its own',
      );
      assertChain(log);
    },
  },
  {
    name: 'a turn without inputs is a turn',
    needs: [],
    proves: 'an empty message is not taken for a recovery',
    async run({ sessions }) {
      const uid = await newSession(sessions);
      await turn(sessions, uid, 'hi');
      const outcome = await sessions.exec({ session: uid });
      const log = await logOf(sessions, uid);
      assert.equal(kindsOf(log)[5], 'EXECUTION_START', outcome.failure?.message ?? '');
      assertChain(log);
    },
  },
  {
    name: 'a stale expectation loses, and 0 asserts an empty log',
    needs: [],
    proves: 'two clients never both believe that their message was next',
    async run({ sessions }) {
      const uid = await newSession(sessions);
      const first = await sessions.exec({ session: uid, inputs: [say('hi')], expectedLastSeq: 0n });
      assert.equal(first.failure, undefined, 'an empty log satisfies 0');
      const second = await sessions.exec({ session: uid, inputs: [say('again')], expectedLastSeq: 0n });
      failedWith(second, 'ABORTED', 'a log of five records does not satisfy 0');
      assert.equal((await logOf(sessions, uid)).length, 5, 'the loser appended nothing');
      const third = await sessions.exec({ session: uid, inputs: [say('again')], expectedLastSeq: 5n });
      assert.equal(third.failure, undefined);
    },
  },
  {
    name: 'unknown and missing sessions have their codes',
    needs: [],
    proves: 'a client can tell a wrong call from a wrong id',
    async run({ sessions }) {
      await refused(sessions.get(''), 'INVALID_ARGUMENT', 'Get without uid');
      await refused(sessions.get(UNKNOWN), 'NOT_FOUND', 'Get of an unknown uid');
      for (const call of ['suspend', 'resume'] as const) {
        await refused(sessions[call](''), 'INVALID_ARGUMENT', `${call} without uid`);
        await refused(sessions[call](UNKNOWN), 'NOT_FOUND', `${call} of an unknown uid`);
      }
      await refused(sessions.fork({ session: UNKNOWN }), 'NOT_FOUND', 'Fork of an unknown uid');
      failedWith(
        await sessions.exec({ session: UNKNOWN, inputs: [say('hi')] }),
        'NOT_FOUND',
        'Exec of an unknown uid',
      );
      assert.deepEqual(await sessions.replay({ session: UNKNOWN }), [], 'Replay of an unknown uid is empty');
    },
  },
  {
    name: 'Replay gives the same bytes again, within inclusive bounds',
    needs: [],
    proves: 'the log is the truth, whenever it is read',
    async run({ sessions }) {
      const uid = await newSession(sessions);
      await turn(sessions, uid, 'one');
      await turn(sessions, uid, 'two');
      const all = await logOf(sessions, uid);
      assert.deepEqual(await logOf(sessions, uid), all);
      const seqs = async (fromSeq: bigint, toSeq: bigint) =>
        (await sessions.replay({ session: uid, fromSeq, toSeq })).map(({ seq }) => Number(seq));
      assert.deepEqual(await seqs(3n, 6n), [3, 4, 5, 6]);
      assert.deepEqual(await seqs(9n, 0n), [9, 10]);
      assert.deepEqual(await seqs(-4n, 2n), [1, 2]);
      assert.deepEqual(await seqs(6n, 3n), []);
      assert.deepEqual(await seqs(11n, 0n), []);
    },
  },
  {
    name: 'Suspend and Resume are recorded, each time',
    needs: [],
    proves: 'when compute came and went can be audited',
    async run({ sessions }) {
      const uid = await newSession(sessions);
      await turn(sessions, uid, 'hi');
      const cold = await sessions.suspend(uid);
      assert.deepEqual([cold.lastSeq, cold.computeState], [6n, ComputeState.COMPUTE_COLD]);
      assert.equal((await sessions.suspend(uid)).lastSeq, 7n, 'a second Suspend is a second record');
      const live = await sessions.resume(uid);
      assert.deepEqual([live.lastSeq, live.computeState], [8n, ComputeState.COMPUTE_LIVE]);
      const log = await logOf(sessions, uid);
      assert.deepEqual(log.slice(5).map(lifecycleKind), [
        Lifecycle_Kind.LIFECYCLE_SUSPEND,
        Lifecycle_Kind.LIFECYCLE_SUSPEND,
        Lifecycle_Kind.LIFECYCLE_RESUME,
      ]);
      await turn(sessions, uid, 'again');
      assertChain(await logOf(sessions, uid));
    },
  },
  {
    name: 'a session without records can be suspended and resumed',
    needs: [],
    proves: 'lifecycle does not depend on a first turn',
    async run({ sessions }) {
      const uid = await newSession(sessions);
      assert.equal((await sessions.suspend(uid)).lastSeq, 1n);
      assert.equal((await sessions.resume(uid)).lastSeq, 2n);
    },
  },
];
