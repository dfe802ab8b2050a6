import { messageOf } from '../../../internal/platform/errors.ts';
import {
  GetSessionRequestSchema,
  ReplayRequestSchema,
} from '../../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import { ChainBrokenError, ChainWalk } from '../../../internal/protocol/hash-chain.ts';
import { create } from '../../../internal/protocol/protobuf.ts';
import { ServiceError, type SessionsHost } from '../../../internal/session/service/sessions-host.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { onePlainLine } from '../output/plain.ts';
import { count } from '../output/session-log-text.ts';
import { chained } from '../sessions/record-text.ts';
import { sessionArg } from '../sessions/request.ts';
import { withSessions } from '../sessions/server.ts';

type Verdict =
  | { readonly kind: 'ok'; readonly records: number; readonly hash: string }
  | { readonly kind: 'damaged'; readonly seq: number; readonly what: string };

/**
 * Checks a log from here: numbers, links and hashes of what the server sends, and that it is as many records as the session
 * is said to have. Source: agentsessions.v1, the client's chain check.
 */
export const runSessionsVerify: CommandRun = (context, input) => {
  const uid = sessionArg(input);
  return withSessions(context, input, async (host) => {
    const verdict = await verify(host, uid, context.signal);
    context.out.write(context.json ? verdictJson(uid, verdict) : verdictLine(context, uid, verdict));
    return verdict.kind === 'ok' ? 0 : 1;
  });
};

async function verify(host: SessionsHost, uid: string, signal: AbortSignal): Promise<Verdict> {
  const { lastSeq } = await host.getSession(create(GetSessionRequestSchema, { uid }), signal);
  const walk = new ChainWalk();
  try {
    // Up to where it stood: what is appended meanwhile belongs to the next check. 0 would mean the end.
    if (lastSeq > 0n) {
      const request = create(ReplayRequestSchema, { session: uid, fromSeq: 1n, toSeq: lastSeq });
      for await (const record of host.replay(request, signal)) {
        const known = chained(record);
        if (!known) return { kind: 'damaged', seq: walk.seq + 1, what: 'it has no event' };
        walk.check(known);
      }
    }
  } catch (error) {
    if (error instanceof ChainBrokenError) return { kind: 'damaged', seq: error.seq, what: messageOf(error) };
    if (error instanceof ServiceError && error.status === 'DATA_LOSS')
      return { kind: 'damaged', seq: walk.seq + 1, what: messageOf(error) };
    throw error;
  }
  if (BigInt(walk.seq) === lastSeq) return { kind: 'ok', records: walk.seq, hash: walk.hash };
  const what = `the session is said to have ${lastSeq} records, the server sent ${walk.seq}`;
  return { kind: 'damaged', seq: walk.seq + 1, what };
}

function verdictLine({ out }: Context, uid: string, verdict: Verdict): string {
  return verdict.kind === 'ok'
    ? `${uid}  ${out.style.good('ok')}  ${count(verdict.records, 'record')}  ${verdict.hash || '-'}\n`
    : `${uid}  ${out.style.bad('damaged')}  at record ${verdict.seq}: ${onePlainLine(verdict.what)}\n`;
}

function verdictJson(uid: string, verdict: Verdict): string {
  const data =
    verdict.kind === 'ok'
      ? { uid, ok: true, records: verdict.records, hash: verdict.hash }
      : { uid, ok: false, damaged_at: verdict.seq, what: verdict.what };
  return `${JSON.stringify(data, null, 2)}\n`;
}
