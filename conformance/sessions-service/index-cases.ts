import assert from 'node:assert/strict';
import {
  Lifecycle_Kind,
  type LogRecord,
} from '../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import { ComputeState } from '../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import type { ServiceCase } from './case.ts';
import {
  assertChain,
  failedWith,
  freshProject,
  logOf,
  newSession,
  refused,
  say,
  textsOf,
  turn,
  uidOf,
} from './steps.ts';

const UNKNOWN = 'sess-ffffffffffffffffffffffff';

const lifecycleKind = (record: LogRecord | undefined): Lifecycle_Kind | undefined => {
  const body = record?.event?.body;
  return body?.case === 'lifecycle' ? body.value.kind : undefined;
};

/** Forks, lists, deletion and what a call must carry. */
export const INDEX_CASES: readonly ServiceCase[] = [
  {
    name: 'a fork shares the prefix and goes its own way',
    needs: ['echo'],
    proves: 'another attempt costs nothing and hurts nothing',
    async run({ sessions }) {
      const uid = await newSession(sessions);
      for (const text of ['one', 'two']) await turn(sessions, uid, text);
      const before = await logOf(sessions, uid);
      const { children } = await sessions.fork({
        session: uid,
        atSeq: 5n,
        count: 2,
        childNames: ['left', 'right'],
        labels: { try: '2' },
      });
      assert.deepEqual(
        children.map(({ metadata }) => metadata?.name),
        ['left', 'right'],
      );
      for (const child of children) {
        assert.deepEqual(
          [child.parentUid, child.forkSeq, child.lastSeq, child.computeState],
          [uid, 5n, 6n, ComputeState.COMPUTE_COLD],
        );
        assert.deepEqual({ ...child.labels }, { try: '2' });
        const log = await logOf(sessions, uidOf(child));
        assert.deepEqual(
          log.slice(0, 5).map(({ contentHash }) => contentHash),
          before.slice(0, 5).map(({ contentHash }) => contentHash),
        );
        assert.equal(lifecycleKind(log[5]), Lifecycle_Kind.LIFECYCLE_FORK);
        assertChain(log);
      }
      const [left, right] = children.map(uidOf);
      await turn(sessions, left ?? '', 'three');
      assert.deepEqual(textsOf(await logOf(sessions, left ?? '')), ['echo:one', 'echo:three']);
      assert.deepEqual(textsOf(await logOf(sessions, right ?? '')), ['echo:one']);
      assert.deepEqual(await logOf(sessions, uid), before, 'the parent is as it was');
    },
  },
  {
    name: 'a fork without bounds is of the whole log, once',
    needs: [],
    proves: 'the defaults do what one expects',
    async run({ sessions }) {
      const uid = await newSession(sessions);
      await turn(sessions, uid, 'one');
      const { children } = await sessions.fork({ session: uid });
      assert.deepEqual(
        children.map(({ forkSeq, lastSeq }) => [forkSeq, lastSeq]),
        [[5n, 6n]],
      );
    },
  },
  {
    name: 'forks that make no sense are refused and leave nothing',
    needs: [],
    proves: 'a wrong call does not half succeed',
    async run({ sessions }) {
      const project = freshProject();
      const uid = await newSession(sessions, 'echo', project);
      await turn(sessions, uid, 'one');
      await refused(
        sessions.fork({ session: uid, identity: {} }),
        'INVALID_ARGUMENT',
        'a fork with an identity',
      );
      await refused(sessions.fork({ session: uid, count: 129 }), 'INVALID_ARGUMENT', 'a fork into 129');
      await refused(
        sessions.fork({ session: uid, count: 2, childNames: ['one'] }),
        'INVALID_ARGUMENT',
        'names that are too few',
      );
      assert.equal((await sessions.list({ project })).sessions.length, 1);
    },
  },
  {
    name: 'lists are newest first, in pages that neither miss nor repeat',
    needs: [],
    proves: 'everything can be found',
    async run({ sessions }) {
      const project = freshProject();
      const made: string[] = [];
      for (let n = 0; n < 7; n += 1) made.unshift(await newSession(sessions, 'echo', project));
      const seen: string[] = [];
      let pageToken = '';
      do {
        const page = await sessions.list({ project, pageSize: 3, pageToken });
        assert.ok(page.sessions.length <= 3, 'a page is no longer than asked');
        seen.push(...page.sessions.map(uidOf));
        pageToken = page.nextPageToken;
      } while (pageToken !== '');
      assert.deepEqual(seen, made);
      assert.equal(
        (await sessions.list({ project, pageSize: -1 })).sessions.length,
        7,
        'a size below 0 is the default',
      );
    },
  },
  {
    name: 'page tokens that are no tokens are refused',
    needs: [],
    proves: 'a damaged token does not silently start over',
    async run({ sessions }) {
      for (const pageToken of ['!', 'AAAA', 'bm90LWEtbnVtYmVyAHg']) {
        await refused(
          sessions.list({ project: freshProject(), pageToken }),
          'INVALID_ARGUMENT',
          `token ${pageToken}`,
        );
      }
    },
  },
  {
    name: 'a deleted session is gone from lists, takes nothing more, and stays readable',
    needs: [],
    proves: 'deletion is for good and evidence is kept',
    async run({ sessions }) {
      const project = freshProject();
      const uid = await newSession(sessions, 'echo', project);
      await turn(sessions, uid, 'hi');
      const log = await logOf(sessions, uid);
      await refused(sessions.delete(''), 'INVALID_ARGUMENT', 'Delete without uid');
      await refused(sessions.delete(UNKNOWN), 'NOT_FOUND', 'Delete of an unknown uid');
      assert.equal(uidOf(await sessions.delete(uid)), uid);
      assert.equal(uidOf(await sessions.delete(uid)), uid, 'a second Delete is the first one');
      assert.equal((await sessions.list({ project })).sessions.length, 0);
      failedWith(
        await sessions.exec({ session: uid, inputs: [say('again')] }),
        'FAILED_PRECONDITION',
        'Exec after Delete',
      );
      assert.deepEqual(await logOf(sessions, uid), log);
    },
  },
  {
    name: 'Approve wants the whole tuple and something to approve',
    needs: [],
    proves: 'no approval is taken for another',
    async run({ sessions }) {
      const uid = await newSession(sessions);
      await turn(sessions, uid, 'hi');
      const full = { session: uid, executionId: 'e', toolCallId: 't', requestSeq: 3n, approved: true };
      await refused(sessions.approve({ ...full, session: '' }), 'INVALID_ARGUMENT', 'no session');
      await refused(sessions.approve({ ...full, executionId: '' }), 'INVALID_ARGUMENT', 'no execution');
      await refused(sessions.approve({ ...full, toolCallId: '' }), 'INVALID_ARGUMENT', 'no call');
      await refused(sessions.approve({ ...full, requestSeq: 0n }), 'INVALID_ARGUMENT', 'no request');
      const { approved: _, ...undecided } = full;
      await refused(sessions.approve(undecided), 'INVALID_ARGUMENT', 'no decision');
      await refused(sessions.approve({ ...full, session: UNKNOWN }), 'NOT_FOUND', 'an unknown session');
      await refused(sessions.approve(full), 'FAILED_PRECONDITION', 'nothing was asked');
    },
  },
  {
    name: 'config and cursor of a turn are in the log as they came',
    needs: [],
    proves: 'a turn can be repeated as it was asked',
    async run({ sessions }) {
      const uid = await newSession(sessions);
      const config = new Uint8Array([0x00, 0xff, 0x20, 0x0a, 0x09]);
      const outcome = await sessions.exec({
        session: uid,
        inputs: [say('hi')],
        config,
        resumeFromSeq: 9_007_199_254_740_993n,
      });
      assert.equal(outcome.failure, undefined);
      const start = (await logOf(sessions, uid))[0]?.event?.body;
      assert.ok(start?.case === 'executionStart');
      assert.deepEqual(
        [start.value.config, start.value.resumeFromSeq, start.value.inputCount],
        [config, 9_007_199_254_740_993n, 1n],
      );
    },
  },
];
