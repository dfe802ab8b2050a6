import assert from 'node:assert/strict';
import { Mediation } from '../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import type { PeerScript, ServiceCase } from './case.ts';
import { end, output, toolCall } from './peer-scripts.ts';
import {
  assertChain,
  begin,
  kindsOf,
  logOf,
  newSession,
  refused,
  textsOf,
  turn,
  uidOf,
  withPeer,
} from './steps.ts';

const ECHO_RECORDS = 5;

/** What a crash between any two records leaves, and what Resume makes of it. */
export const CRASH_CASES: readonly ServiceCase[] = [
  {
    name: 'a turn cut after any record is ended by Resume, with one answer',
    needs: ['journal', 'echo'],
    proves: 'no crash loses a turn or makes the model answer twice',
    async run({ sessions, cutLog }) {
      assert.ok(cutLog);
      for (let keep = 2; keep < ECHO_RECORDS; keep += 1) {
        const uid = await newSession(sessions);
        await turn(sessions, uid, 'hi');
        await cutLog(uid, keep);
        await sessions.resume(uid);
        const log = await logOf(sessions, uid);
        assert.deepEqual(
          kindsOf(log),
          ['EXECUTION_START', 'INPUT', 'MODEL_CALL', 'OUTPUT', 'END', 'LIFECYCLE'],
          `cut after ${keep}`,
        );
        assert.deepEqual(textsOf(log), ['echo:hi']);
        assertChain(log);
      }
    },
  },
  {
    name: 'a turn whose inputs are not all there is not run',
    needs: ['journal', 'echo'],
    proves: 'half a message is never taken for a whole one',
    async run({ sessions, cutLog }) {
      assert.ok(cutLog);
      const uid = await newSession(sessions);
      await turn(sessions, uid, 'hi');
      await cutLog(uid, 1);
      await refused(sessions.resume(uid), 'FAILED_PRECONDITION', 'resuming without the input');
      await turn(sessions, uid, 'whole again');
      assert.equal(textsOf(await logOf(sessions, uid)).at(-1), 'echo:whole again');
    },
  },
  {
    name: 'a finished log is the same after a restart',
    needs: ['journal', 'echo'],
    proves: 'what was acknowledged is on the disk',
    async run({ sessions, cutLog }) {
      assert.ok(cutLog);
      const uid = await newSession(sessions);
      await turn(sessions, uid, 'one');
      await turn(sessions, uid, 'two');
      const before = await logOf(sessions, uid);
      await cutLog(uid, before.length);
      assert.deepEqual(await logOf(sessions, uid), before);
      await turn(sessions, uid, 'three');
      assert.deepEqual(textsOf(await logOf(sessions, uid)), ['echo:one', 'echo:two', 'echo:three']);
    },
  },
  {
    name: 'a fork of a turn that was cut can be taken up, its parent untouched',
    needs: ['journal', 'echo'],
    proves: 'recovery and forks go together',
    async run({ sessions, cutLog }) {
      assert.ok(cutLog);
      const uid = await newSession(sessions);
      await turn(sessions, uid, 'hi');
      await cutLog(uid, 4);
      const parent = await logOf(sessions, uid);
      const { children } = await sessions.fork({ session: uid });
      const child = children[0];
      assert.ok(child);
      await sessions.resume(uidOf(child));
      assert.deepEqual(textsOf(await logOf(sessions, uidOf(child))), ['echo:hi']);
      assert.deepEqual(await logOf(sessions, uid), parent);
    },
  },
  {
    name: 'a call cut before its result is carried out once',
    needs: ['registry', 'journal', 'tools'],
    proves: 'a crash in the middle of an effect does not repeat it',
    async run(subject) {
      const key = `key-${process.pid}-${Math.random()}`;
      const script: PeerScript = async (turn) => {
        const { executionId } = await begin(turn);
        toolCall(turn, executionId, Mediation.CONTROLLER_MEDIATED, key);
        const frame = await turn.receive();
        if (frame?.frame.case === 'tool') output(turn, executionId, 'carried out');
        end(turn, executionId);
      };
      await withPeer(subject, script, async ({ uid }) => {
        await turn(subject.sessions, uid, 'go');
        await subject.cutLog?.(uid, 3);
        await subject.sessions.resume(uid);
        const log = await logOf(subject.sessions, uid);
        assert.deepEqual(kindsOf(log), [
          'EXECUTION_START',
          'INPUT',
          'TOOL_CALL',
          'TOOL_RESULT',
          'OUTPUT',
          'END',
          'LIFECYCLE',
        ]);
        assert.equal(subject.toolRuns?.(key), 1);
        assertChain(log);
      });
    },
  },
];
