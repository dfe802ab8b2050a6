import { describe, expect, it } from 'vitest';
import { textMessage, toolCall } from '../../protocol/events.ts';
import { Resumability } from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import {
  type ApproveRequestSchema,
  ExecRequestSchema,
  ExecState,
} from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { create, type MessageInitShape } from '../../protocol/protobuf.ts';
import {
  type Bench,
  codeOfCall,
  gatedCall,
  kindsOf,
  openBench,
  say,
  scripted,
  sessionIn,
  uidOf,
  wordOf,
} from './testing/service-bench.ts';

/** Asks for one approval after the other, then says what came of them. */
const asking = (...ids: string[]) =>
  scripted(async (_start, sink) => {
    for (const id of ids) {
      const result = await sink.toolCall(gatedCall(id));
      await sink.output(textMessage('assistant', result.isError ? `${id}: ${result.error}` : `${id}: ok`));
    }
  });

type Asked = Required<
  Pick<MessageInitShape<typeof ApproveRequestSchema>, 'session' | 'executionId' | 'toolCallId' | 'requestSeq'>
>;

/** A session that waits for a person, and what it asks. */
async function parked(bench: Bench, harness = 'gated'): Promise<Asked> {
  const { frames } = await bench.call.exec({ harness, inputs: [say('deploy')] });
  return asked(bench, uidOf(sessionIn(frames[0])));
}

async function asked({ call }: Bench, session: string): Promise<Asked> {
  const { pendingApproval } = await call.get(session);
  if (pendingApproval === undefined) throw new Error('nothing is asked');
  const { executionId, toolCallId, requestSeq } = pendingApproval;
  return { session, executionId, toolCallId, requestSeq };
}

const bench = (): Promise<Bench> =>
  openBench({ harnesses: { gated: asking('call-1'), two: asking('a', 'b') } });

describe('Approve', () => {
  it('the same answer again is the first one, also after the turn went on; another answer is refused', async () => {
    const at = await bench();
    const question = await parked(at);
    const identity = { principal: 'user://p' };
    const answer = { ...question, approved: true, reason: 'fine', identity };
    const { decision } = await at.call.approve(answer);
    expect(decision?.event?.actor).toMatchObject(identity);
    expect(decision?.event?.ts?.seconds).toBe(BigInt(at.clock.now() / 1000));
    const { fence } = await at.store.head(question.session);
    expect((await at.call.approve(answer)).decision).toEqual(decision);
    for (const other of [
      { ...answer, approved: false },
      { ...answer, reason: 'other' },
      { ...answer, identity: { principal: 'user://q' } },
    ]) {
      expect(await codeOfCall(at.call.approve(other))).toBe('FAILED_PRECONDITION');
    }
    expect((await at.store.head(question.session)).fence).toBe(fence);
    await at.call.resume(question.session);
    await at.call.exec({ session: question.session, harness: 'echo', inputs: [say('next')] });
    expect((await at.call.approve(answer)).decision).toEqual(decision);
    expect(
      (await kindsOf(at.store, question.session)).filter((kind) => kind === 'APPROVAL_RESULT'),
    ).toHaveLength(1);
  });

  it('an identity that says nothing is none', async () => {
    const at = await bench();
    const question = await parked(at);
    const { decision } = await at.call.approve({ ...question, approved: true });
    const again = await at.call.approve({ ...question, approved: true, identity: {} });
    expect(again.decision).toEqual(decision);
    expect(decision?.event?.actor).toBeUndefined();
  });

  it('needs all of its fields, and says yes or no', async () => {
    const at = await bench();
    const question = await parked(at);
    for (const missing of [
      { ...question, session: '', approved: true },
      { ...question, executionId: '', approved: true },
      { ...question, toolCallId: '', approved: true },
      { ...question, requestSeq: 0n, approved: true },
      question,
    ]) {
      expect(await codeOfCall(at.call.approve(missing))).toBe('INVALID_ARGUMENT');
    }
    expect(await codeOfCall(at.call.approve({ ...question, session: 'sess-unknown', approved: true }))).toBe(
      'NOT_FOUND',
    );
    for (const wrong of [
      { ...question, executionId: 'other' },
      { ...question, toolCallId: 'other' },
      { ...question, requestSeq: 3n },
    ]) {
      expect(await codeOfCall(at.call.approve({ ...wrong, approved: true }))).toBe('FAILED_PRECONDITION');
    }
  });

  it('a no is a result that the harness gets; nothing is carried out', async () => {
    const at = await bench();
    const question = await parked(at);
    await at.call.approve({ ...question, approved: false, reason: 'not on a Friday' });
    await at.call.resume(question.session);
    expect(at.tools.done).toEqual([]);
    expect((await kindsOf(at.store, question.session)).slice(5)).toEqual([
      'APPROVAL_RESULT',
      'TOOL_RESULT',
      'OUTPUT',
      'END',
      'RESUME',
    ]);
  });

  it('DUR-11 a question and its answer survive a restart of the host', async () => {
    const at = await bench();
    const question = await parked(at);
    const restarted = await at.another();
    expect(await asked(restarted, question.session)).toEqual(question);
    await restarted.call.approve({ ...question, approved: true });
    const again = await restarted.another();
    await again.call.resume(question.session);
    expect(at.tools.done).toEqual(['key-call-1']);
  });

  it.each(['TOOL_CALL', 'APPROVAL_REQUEST', 'SUSPEND'])(
    'DUR-12 whoever leaves at the %s of a question finds it when it comes back, and answers it at once',
    async (kind) => {
      for (const comesBackTo of ['the same process', 'the next one']) {
        const at = await bench();
        const leaving = new AbortController();
        const request = create(ExecRequestSchema, { harness: 'gated', inputs: [say('deploy')] });
        let session = '';
        await codeOfCall(
          (async () => {
            for await (const frame of at.host.exec(request, leaving.signal)) {
              session ||= uidOf(sessionIn(frame));
              if (wordOf(frame).endsWith(`:${kind}`)) leaving.abort();
            }
          })(),
        );
        const back = comesBackTo === 'the same process' ? at : await at.another();
        expect(await back.call.resume(session)).toMatchObject({ execState: ExecState.EXEC_AWAITING });
        await back.call.approve({ ...(await asked(back, session)), approved: true });
        expect(await back.call.resume(session)).toMatchObject({ execState: ExecState.EXEC_COMPLETED });
        expect(at.tools.done).toEqual(['key-call-1']);
        const questions = (await kindsOf(at.store, session)).filter((each) => each === 'APPROVAL_REQUEST');
        expect(questions).toHaveLength(1);
      }
    },
  );

  it('DUR-12 a question that nobody wants answered any more is closed at once, with the reason', async () => {
    const at = await bench();
    const openedAt = at.clock.now();
    const question = await parked(at);
    const other = await at.another();
    const canceled = await other.call.cancel({ session: question.session, reason: 'the client came back' });
    expect(canceled.pendingApproval).toBeUndefined();
    const closing = (await at.store.read(question.session, {})).map(({ event }) => event.body);
    expect(closing.find(({ case: kind }) => kind === 'approvalResult')?.value).toMatchObject({
      approved: false,
      reason: 'the client came back',
    });
    expect(at.clock.now()).toBe(openedAt);
  });

  it('DUR-13 a new message does not go past a question; a question that was canceled is closed, and an answer says so and changes nothing', async () => {
    const at = await bench();
    const question = await parked(at);
    const passing = await at.call.exec({ session: question.session, harness: 'echo', inputs: [say('x')] });
    expect(passing.error).toMatchObject({
      status: 'FAILED_PRECONDITION',
      next: expect.stringContaining('Approve'),
    });
    await at.call.cancel({ session: question.session, reason: 'not needed any more' });
    const { seq } = await at.store.head(question.session);
    await expect(at.call.approve({ ...question, approved: true })).rejects.toMatchObject({
      status: 'FAILED_PRECONDITION',
      message: expect.stringContaining('answered before, in record 6'),
    });
    expect((await at.store.head(question.session)).seq).toBe(seq);
    expect(at.tools.done).toEqual([]);
    expect(
      (await at.call.exec({ session: question.session, harness: 'echo', inputs: [say('x')] })).error,
    ).toBe(undefined);
  });

  it('two answers at once: one is recorded, in whichever process they are given', async () => {
    const at = await bench();
    const other = await at.another();
    const question = await parked(at);
    const codes = await Promise.all([
      codeOfCall(at.call.approve({ ...question, approved: true })),
      codeOfCall(other.call.approve({ ...question, approved: false })),
      codeOfCall(at.call.approve({ ...question, approved: false })),
    ]);
    expect(codes.filter((code) => code === 'OK')).toHaveLength(1);
    expect(
      (await kindsOf(at.store, question.session)).filter((kind) => kind === 'APPROVAL_RESULT'),
    ).toHaveLength(1);
  });
});

describe('a session that waits for a person', () => {
  it('Resume shows it as it is and writes nothing; Suspend may be noted again', async () => {
    const at = await bench();
    const { session } = await parked(at);
    const before = await at.store.head(session);
    expect(await at.call.resume(session)).toMatchObject({ execState: ExecState.EXEC_AWAITING });
    expect(await at.store.head(session)).toEqual(before);
    expect(await at.call.suspend(session)).toMatchObject({ lastSeq: 6n, execState: ExecState.EXEC_AWAITING });
    const { sessions } = await at.call.list();
    expect(sessions[0]).toMatchObject({
      execState: ExecState.EXEC_AWAITING,
      pendingApproval: { requestSeq: 4n },
    });
  });

  it('refuses new inputs before it looks at the harness that is asked for', async () => {
    const at = await bench();
    const { session } = await parked(at);
    const refused = await at.call.exec({ session, harness: 'nobody-serves-this', inputs: [say('x')] });
    expect([refused.frames, refused.error?.status]).toEqual([[], 'FAILED_PRECONDITION']);
  });

  it('an Exec without inputs goes on with it and is told like a turn', async () => {
    const at = await bench();
    const question = await parked(at, 'two');
    const { session } = question;
    const paused = await at.call.exec({ session });
    expect(paused.frames.map(wordOf)).toEqual(['session@5', 'session@5']);
    await at.call.approve({ ...question, approved: true });
    const late = await at.call.exec({ session, expectedLastSeq: 5n });
    expect([late.frames.map(wordOf), late.error?.status]).toEqual([['session@6'], 'ABORTED']);
    expect((await at.call.exec({ session, harness: 'echo' })).error?.status).toBe('FAILED_PRECONDITION');
    const second = await at.call.exec({ session, expectedLastSeq: 6n });
    expect(second.error).toBeUndefined();
    expect(second.frames.map(wordOf)).toEqual([
      'session@6',
      '7:TOOL_RESULT',
      '8:OUTPUT',
      '9:TOOL_CALL',
      '10:APPROVAL_REQUEST',
      '11:SUSPEND',
      'session@11',
    ]);
    await at.call.approve({ ...(await asked(at, session)), approved: true });
    const third = await at.call.exec({ session });
    expect(third.frames.map(wordOf).slice(1)).toEqual([
      '13:TOOL_RESULT',
      '14:OUTPUT',
      '15:END',
      '16:RESUME',
      'session@16',
    ]);
    expect(at.tools.done).toEqual(['key-a', 'key-b']);
  });

  it('a call that a crash kept from being asked about is asked about once', async () => {
    const at = await bench();
    const question = await parked(at);
    const records = await at.store.read(question.session, { to: 3 });
    const session = uidOf(await at.call.create({ harness: 'gated' }));
    await at.store.append(
      session,
      records.map(({ event }) => event),
    );
    expect(await at.call.resume(session)).toMatchObject({
      execState: ExecState.EXEC_AWAITING,
      pendingApproval: { requestSeq: 4n },
    });
    await at.call.resume(session);
    expect(await kindsOf(at.store, session)).toEqual([
      'EXECUTION_START',
      'INPUT',
      'TOOL_CALL',
      'APPROVAL_REQUEST',
    ]);
    await at.call.approve({ ...(await asked(at, session)), approved: true });
    await at.call.resume(session);
    expect(at.tools.done).toEqual(['key-call-1']);
  });

  it('a child that inherited the question neither waits nor can answer it', async () => {
    const at = await bench();
    const question = await parked(at);
    const { children } = await at.call.fork({ session: question.session, atSeq: 4n });
    const child = uidOf(children[0]);
    expect(children[0]).toMatchObject({ execState: ExecState.EXEC_COMPLETED });
    expect(children[0]?.pendingApproval).toBeUndefined();
    expect(await codeOfCall(at.call.approve({ ...question, session: child, approved: true }))).toBe(
      'FAILED_PRECONDITION',
    );
    expect(await codeOfCall(at.call.resume(child))).toBe('FAILED_PRECONDITION');
    const next = await at.call.exec({ session: child, harness: 'echo', inputs: [say('x')] });
    expect(next.error).toBeUndefined();
    expect(await asked(at, question.session)).toEqual(question);
  });

  it('without anybody to carry it out an approved call stays decided', async () => {
    const at = await bench();
    const question = await parked(at);
    await at.call.approve({ ...question, approved: true });
    const without = await at.another({ hasTools: false });
    expect(await codeOfCall(without.call.resume(question.session))).toBe('FAILED_PRECONDITION');
    await at.call.resume(question.session);
    expect(at.tools.done).toEqual(['key-call-1']);
  });

  it('goes on only with the harness, and its version, that began', async () => {
    const at = await bench();
    const question = await parked(at);
    await at.call.approve({ ...question, approved: true });
    const newer = scripted(async () => undefined, {
      version: '2',
      resumability: Resumability.STATELESS_REPLAY,
    });
    expect(
      await codeOfCall((await at.another({ harnesses: { gated: newer } })).call.resume(question.session)),
    ).toBe('FAILED_PRECONDITION');
    const gone = await at.another({ harnesses: {} });
    expect(await codeOfCall(gone.call.resume(question.session))).toBe('FAILED_PRECONDITION');
    expect(await codeOfCall(gone.call.suspend(question.session))).toBe('FAILED_PRECONDITION');
  });

  it('damaged evidence keeps it from being answered', async () => {
    const at = await bench();
    const question = await parked(at);
    await at.store.append(question.session, [toolCall(question.executionId ?? '', gatedCall('call-1'))]);
    expect(await codeOfCall(at.call.approve({ ...question, approved: true }))).toBe('FAILED_PRECONDITION');
    expect(await codeOfCall(at.call.get(question.session ?? ''))).toBe('INTERNAL');
  });
});
