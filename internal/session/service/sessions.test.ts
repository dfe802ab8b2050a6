import { describe, expect, it } from 'vitest';
import { event, executionStart, input, textMessage } from '../../protocol/events.ts';
import { EventKind } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { ComputeState, ExecState } from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { codeOfCall, kindOf, openBench, say, sessionIn, uidOf } from './testing/service-bench.ts';

describe('CreateSession', () => {
  it('takes what a caller may say and gives the rest itself', async () => {
    const { call } = await openBench();
    const session = await call.create({
      metadata: { project: 'p', name: 'n', uid: 'mine', version: 7n },
      model: 'm',
      labels: { a: 'b' },
      annotations: { c: 'd' },
      origin: { source: 'mail', subject: 's', attributes: { x: 'y' } },
      identity: { principal: 'agent://a' },
      lastSeq: 9n,
      parentUid: 'other',
      forkSeq: 3n,
      execState: ExecState.EXEC_FAILED,
      computeState: ComputeState.COMPUTE_LIVE,
    });
    expect(session).toMatchObject({
      metadata: { project: 'p', name: 'n', version: 0n },
      harness: 'echo',
      model: 'm',
      labels: { a: 'b' },
      annotations: { c: 'd' },
      origin: { source: 'mail', subject: 's', attributes: { x: 'y' } },
      identity: { principal: 'agent://a' },
      lastSeq: 0n,
      parentUid: '',
      forkSeq: 0n,
      execState: ExecState.EXEC_PENDING,
      computeState: ComputeState.COMPUTE_NONE,
    });
    expect(uidOf(session)).toMatch(/^sess-[0-9a-f]{24}$/);
    expect(await call.get(uidOf(session))).toEqual(session);
  });

  it('every call makes another session, in the project of the server unless told', async () => {
    const { call } = await openBench();
    const [a, b] = [await call.create(), await call.create({})];
    expect(uidOf(a)).not.toBe(uidOf(b));
    expect(a.metadata?.project).toBe('default');
  });

  it('lists the harnesses that are served when it does not know the one asked for', async () => {
    const { call } = await openBench();
    await expect(call.create({ harness: 'nope' })).rejects.toThrow('unknown harness "nope"; served: echo');
    expect(await codeOfCall(call.create({ harness: 'nope' }))).toBe('INVALID_ARGUMENT');
  });
});

describe('ListSessions', () => {
  it('pages through a project, newest first, with tokens of the published form', async () => {
    const { call, store } = await openBench();
    const made: string[] = [];
    for (let n = 0; n < 5; n += 1) made.unshift(uidOf(await call.create()));
    await call.create({ metadata: { project: 'other' } });
    const seen: string[] = [];
    let pageToken = '';
    do {
      const page = await call.list({ pageSize: 2, pageToken });
      seen.push(...page.sessions.map(uidOf));
      pageToken = page.nextPageToken;
      const last = page.sessions.at(-1);
      if (pageToken !== '') {
        const row = await store.get(uidOf(last));
        expect(Buffer.from(pageToken, 'base64url').toString()).toBe(`${row?.createdAt}\0${uidOf(last)}`);
      }
    } while (pageToken !== '');
    expect(seen).toEqual(made);
    expect((await call.list({ project: 'other' })).sessions).toHaveLength(1);
    expect((await call.list({ pageSize: -1 })).sessions).toHaveLength(5);
  });

  it.each(['%%%', 'bm8tbnVs', Buffer.from('x\0uid').toString('base64url'), 'MTc='])(
    'refuses the token %s',
    async (pageToken) => {
      const { call } = await openBench();
      expect(await codeOfCall(call.list({ pageToken }))).toBe('INVALID_ARGUMENT');
    },
  );

  it('a session whose evidence of approvals is damaged hides only itself', async () => {
    const { call, store } = await openBench();
    const good = uidOf(await call.create());
    const bad = uidOf(await call.create());
    const request = event('e1', EventKind.EVENT_APPROVAL_REQUEST, {
      case: 'approval',
      value: { toolCallId: 'never-called' },
    });
    await store.append(bad, [
      executionStart('e1', { inputCount: 1, harness: 'echo' }),
      input('e1', textMessage('user', 'x')),
      request,
    ]);
    const { sessions } = await call.list();
    expect(sessions.map((each) => [uidOf(each), each.execState])).toEqual([
      [bad, ExecState.EXEC_STATE_UNSPECIFIED],
      [good, ExecState.EXEC_PENDING],
    ]);
    expect(await codeOfCall(call.get(bad))).toBe('INTERNAL');
    expect(await codeOfCall(call.suspend(bad))).toBe('FAILED_PRECONDITION');
    expect(await codeOfCall(call.resume(bad))).toBe('FAILED_PRECONDITION');
    expect((await call.replay({ session: bad })).frames).toHaveLength(3);
  });
});

describe('Replay', () => {
  it('gives what is committed between two records, both of them too', async () => {
    const { call } = await openBench();
    const { frames } = await call.exec({ inputs: [say('hi')] });
    const session = uidOf(sessionIn(frames[0]));
    const kinds = async (fields: object): Promise<string[]> =>
      (await call.replay({ session, ...fields })).frames.map((each) => `${each.seq}:${kindOf(each.event)}`);
    expect(await kinds({})).toEqual(['1:EXECUTION_START', '2:INPUT', '3:MODEL_CALL', '4:OUTPUT', '5:END']);
    expect(await kinds({ fromSeq: 2n, toSeq: 3n })).toEqual(['2:INPUT', '3:MODEL_CALL']);
    expect(await kinds({ fromSeq: -4n, toSeq: 1n })).toEqual(['1:EXECUTION_START']);
    expect(await kinds({ fromSeq: 5n, toSeq: 99n })).toEqual(['5:END']);
    expect(await kinds({ fromSeq: 4n, toSeq: 2n })).toEqual([]);
  });

  it('of a session that nobody knows is empty and no error', async () => {
    const { call } = await openBench();
    expect(await call.replay({ session: 'sess-unknown' })).toEqual({ frames: [], error: undefined });
  });
});

describe('DeleteSession', () => {
  it('hides a session from lists, keeps it readable, and takes nothing new', async () => {
    const { call, store } = await openBench();
    const { frames } = await call.exec({ inputs: [say('hi')] });
    const uid = uidOf(sessionIn(frames[0]));
    const deleted = await call.delete(uid);
    expect(deleted).toMatchObject({ lastSeq: 5n, computeState: ComputeState.COMPUTE_LIVE });
    expect(await call.delete(uid)).toEqual(deleted);
    expect((await call.list()).sessions).toEqual([]);
    expect(await call.get(uid)).toMatchObject({ lastSeq: 5n });
    expect((await call.replay({ session: uid })).frames).toHaveLength(5);
    expect((await call.exec({ session: uid, inputs: [say('x')] })).error?.status).toBe('FAILED_PRECONDITION');
    for (const refused of [
      call.suspend(uid),
      call.resume(uid),
      call.fork({ session: uid }),
      call.cancel({ session: uid }),
      call.approve({ session: uid, executionId: 'e', toolCallId: 't', requestSeq: 1n, approved: true }),
    ]) {
      expect(await codeOfCall(refused)).toBe('FAILED_PRECONDITION');
    }
    expect((await store.head(uid)).seq).toBe(5);
    expect(await codeOfCall(call.delete('sess-unknown'))).toBe('NOT_FOUND');
  });
});
