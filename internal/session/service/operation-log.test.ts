import { describe, expect, it } from 'vitest';
import { GcError } from '../../platform/errors.ts';
import { LogConflictError, LogCorruptError, StaleFenceError } from '../log/errors.ts';
import { TurnError } from '../turn/turn.ts';
import { type Doing, errorKindOf, serviceErrorOf } from './error-table.ts';
import { parseSessionToken, sessionToken } from './page-token.ts';
import { ServiceError } from './sessions-host.ts';
import { codeOfCall, openBench, say, scripted, sessionIn, uidOf } from './testing/service-bench.ts';
import { timestampOfMs, timestampOfNanos } from './timestamps.ts';

describe('what is written down about calls', () => {
  it('is a pair of lines per call, without anything of what was said', async () => {
    const failing = scripted(async () => {
      throw new Error('a secret of the turn');
    });
    const { call, logged } = await openBench({ harnesses: { failing } });
    const { frames } = await call.exec({ harness: 'failing', inputs: [say('a secret of the caller')] });
    const session = uidOf(sessionIn(frames[0]));
    await codeOfCall(call.get('sess-unknown'));
    await call.suspend(session);
    expect(logged).toEqual([
      { component: 'session', operation: 'exec', phase: 'start' },
      {
        component: 'session',
        operation: 'exec',
        phase: 'finish',
        outcome: 'error',
        duration_ms: 0,
        error_kind: 'internal',
      },
      { component: 'session', operation: 'get_session', phase: 'start', session_uid: 'sess-unknown' },
      {
        component: 'session',
        operation: 'get_session',
        phase: 'finish',
        session_uid: 'sess-unknown',
        outcome: 'error',
        duration_ms: 0,
        error_kind: 'not_found',
      },
      { component: 'session', operation: 'suspend', phase: 'start', session_uid: session },
      {
        component: 'session',
        operation: 'suspend',
        phase: 'finish',
        session_uid: session,
        outcome: 'ok',
        duration_ms: 0,
      },
    ]);
    expect(JSON.stringify(logged)).not.toContain('secret');
  });
});

describe('the table of answers', () => {
  it.each<[unknown, Doing, string, string]>([
    [new LogConflictError('s', 1, 2), 'turn', 'ABORTED', 'conflict'],
    [new StaleFenceError('s', 1, 2), 'turn', 'ABORTED', 'fenced'],
    [new LogCorruptError('s', 1, 'x'), 'turn', 'FAILED_PRECONDITION', 'failed_precondition'],
    [new LogCorruptError('s', 1, 'x'), 'read', 'INTERNAL', 'internal'],
    [new LogCorruptError('s', 1, 'x'), 'replay', 'DATA_LOSS', 'data_loss'],
    [new TurnError('diverged', 'x'), 'turn', 'INTERNAL', 'replay_diverged'],
    [new TurnError('diverged', 'x'), 'decide', 'FAILED_PRECONDITION', 'replay_diverged'],
    [new TurnError('incomplete-invocation', 'x'), 'turn', 'FAILED_PRECONDITION', 'failed_precondition'],
    [new TurnError('canceled', 'x'), 'turn', 'INTERNAL', 'internal'],
    [new GcError('harness-unavailable', 'x'), 'turn', 'UNAVAILABLE', 'harness_unavailable'],
    [new GcError('unplaceable', 'x'), 'turn', 'FAILED_PRECONDITION', 'unplaceable'],
    [new GcError('store-busy', 'x'), 'turn', 'UNAVAILABLE', 'unavailable'],
    [new ServiceError('CANCELLED', 'x'), 'turn', 'CANCELLED', 'canceled'],
    [new Error('anything'), 'read', 'INTERNAL', 'internal'],
  ])('%s while doing %s is %s', (error, doing, status, kind) => {
    const answer = serviceErrorOf(error, doing);
    expect([answer.status, errorKindOf(answer)]).toEqual([status, kind]);
  });

  it('advice of the failure goes before that of the table', () => {
    expect(serviceErrorOf(new TurnError('incomplete-invocation', 'x'), 'turn').next).toContain('all inputs');
    expect(serviceErrorOf(new TurnError('incomplete-invocation', 'x', { next: 'y' }), 'turn').next).toBe('y');
  });
});

describe('forms on the wire', () => {
  it('a page token is the published one, and comes back', () => {
    const cursor = { createdAt: 1_700_000_000_000_000_000n, uid: 'sess-000000000000000000000001' };
    const token = 'MTcwMDAwMDAwMDAwMDAwMDAwMABzZXNzLTAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMQ';
    expect(sessionToken(cursor)).toBe(token);
    expect(parseSessionToken(token)).toEqual(cursor);
  });

  it('a page token that is not one is refused, whatever it holds', () => {
    const words = ['', '1', 'x\0s', '9223372036854775808\0s', '-9223372036854775809\0s', '1e3\0s', ' 1\0s'];
    const tokens = words.map((word) => Buffer.from(word).toString('base64url'));
    for (const token of [...tokens, '***', 'MTcwMA==']) {
      expect(() => parseSessionToken(token), token).toThrow(
        expect.objectContaining({ status: 'INVALID_ARGUMENT' }),
      );
    }
    const last = { createdAt: 2n ** 63n - 1n, uid: 's' };
    expect(parseSessionToken(sessionToken(last))).toEqual(last);
  });

  it('times keep their nanoseconds, before the epoch too', () => {
    expect(timestampOfNanos(1_700_000_000_000_000_001n)).toEqual({ seconds: 1_700_000_000n, nanos: 1 });
    expect(timestampOfNanos(-1n)).toEqual({ seconds: -1n, nanos: 999_999_999 });
    expect(timestampOfMs(1_500)).toEqual({ seconds: 1n, nanos: 500_000_000 });
  });
});
