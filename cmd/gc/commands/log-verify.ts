import { resolve } from 'node:path';
import { codeOf, messageOf } from '../../../internal/platform/errors.ts';
import { blobHashesOf } from '../../../internal/session/log/blobs/blob-name.ts';
import { rowsOf } from '../../../internal/session/log/browse.ts';
import { recordsOf } from '../../../internal/session/log/browse-pages.ts';
import { LogCorruptError } from '../../../internal/session/log/errors.ts';
import { logPaths } from '../../../internal/session/log/jsonl/log-paths.ts';
import { verifyLog } from '../../../internal/session/log/verify.ts';
import {
  type FileVerdict,
  verifyDatabaseLog,
  verifyExport,
  verifyPath,
} from '../../../internal/session/log/verify-file.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { findLog } from '../log/find-log.ts';
import { type Logs, withLogs } from '../log/open-logs.ts';
import { onePlainLine } from '../output/plain.ts';
import { count } from '../output/session-log-text.ts';

type Verdict =
  | { readonly kind: 'ok'; readonly records: number; readonly hash: string }
  /** `seq`: the first record that is not sound. */
  | { readonly kind: 'damaged'; readonly seq: number; readonly what: string }
  /** The log is sound; what it names is not there as it was. */
  | { readonly kind: 'blobs'; readonly what: readonly string[] };

interface Verified {
  readonly uid: string;
  readonly verdict: Verdict;
}

/** What says of a word that it is a path and no session. */
const PATH = /^\.{0,2}\/|\/$|^\.{1,2}$|\.(jsonl|db)$/;

/** Source: agentsessions.v1 chain check; blobs are ours. Exit code 1 when anything is not as it was written. */
export const runLogVerify: CommandRun = async (context, input) => {
  const token = input.optionalArg('session');
  checkAsked(input, token);
  if (token !== undefined && PATH.test(token)) return verifyFiles(context, input, token);
  return withLogs(context, input, (logs) =>
    judge(context, token === undefined ? 'all' : 'session', verdictsOf(context, logs, token)),
  );
};

function checkAsked(input: Input, token: string | undefined): void {
  if ((token !== undefined) !== input.flag('all')) return;
  throw new UsageError(
    token === undefined ? 'missing session or file' : 'a session or --all, not both',
    'gc log verify --all',
  );
}

async function verifyFiles(context: Context, input: Input, token: string): Promise<number> {
  if (input.text('journal') !== undefined) {
    throw new UsageError('a file or --journal, not both', `gc log verify ${token}`);
  }
  const verdicts = verifyPath(resolve(context.cwd, token));
  return judge(context, 'path', fileVerdicts(verdicts));
}

async function* fileVerdicts(verdicts: AsyncIterable<FileVerdict>): AsyncGenerator<Verified> {
  for await (const { uid, records, hash, fault } of verdicts) {
    yield { uid, verdict: fault ? { kind: 'damaged', ...fault } : { kind: 'ok', records, hash } };
  }
}

async function* verdictsOf(
  context: Context,
  logs: Logs,
  token: string | undefined,
): AsyncGenerator<Verified> {
  if (token !== undefined) {
    const { uid } = await findLog(context, logs, token);
    yield { uid, verdict: await verify(logs, uid, context.signal) };
    return;
  }
  const uids: string[] = [];
  for await (const { uid } of rowsOf(logs.store, { includeDeleted: true })) uids.push(uid);
  for (const uid of uids) yield { uid, verdict: await verify(logs, uid, context.signal) };
}

/** Tells each verdict when it is there. @returns the exit code */
async function judge(
  context: Context,
  asked: 'session' | 'all' | 'path',
  verdicts: AsyncIterable<Verified>,
): Promise<number> {
  const results: Verified[] = [];
  for await (const result of verdicts) {
    context.signal.throwIfAborted();
    results.push(result);
    if (!context.json) context.out.write(verifiedLine(context, result));
  }
  const isCounted = asked === 'all' || (asked === 'path' && results.length !== 1);
  const damaged = results.filter(({ verdict }) => verdict.kind !== 'ok').length;
  if (context.json) context.out.write(`${JSON.stringify(results.map(verifiedJson), null, 2)}\n`);
  else if (isCounted) context.out.write(`${results.length - damaged} sound, ${damaged} damaged\n`);
  return damaged > 0 ? 1 : 0;
}

async function verify(logs: Logs, uid: string, signal: AbortSignal): Promise<Verdict> {
  try {
    const { records, hash } = await verifyLog(logs.store, uid);
    const fault = await storedFault(logs, uid, records);
    if (fault) return { kind: 'damaged', ...fault };
    const what = await blobTroubles(logs, uid, signal);
    return what.length > 0 ? { kind: 'blobs', what } : { kind: 'ok', records, hash };
  } catch (error) {
    if (error instanceof LogCorruptError) return { kind: 'damaged', seq: error.seq, what: error.message };
    throw error;
  }
}

/** What reads the same and is stored in other bytes than it would be written in. What came meanwhile is not judged. */
async function storedFault(logs: Logs, uid: string, records: number): Promise<FileVerdict['fault']> {
  if (records === 0) return undefined;
  const { fault } =
    logs.kind === 'database'
      ? verifyDatabaseLog(logs.path, uid)
      : await verifyExport(logPaths(logs.path, uid).records);
  return fault && fault.seq <= records ? fault : undefined;
}

async function blobTroubles(
  { store, blobs }: Logs,
  uid: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const troubles: string[] = [];
  const seen = new Set<string>();
  for await (const { seq, event } of recordsOf(store, uid, { signal })) {
    for (const hash of blobHashesOf(event)) {
      if (seen.has(hash)) continue;
      seen.add(hash);
      try {
        await blobs.get(hash);
      } catch (error) {
        const code = codeOf(error);
        if (code !== 'blob-missing' && code !== 'blob-damaged') throw error;
        troubles.push(`record ${seq}: ${messageOf(error)}`);
      }
    }
  }
  return troubles;
}

function verifiedLine({ out }: Context, { uid, verdict }: Verified): string {
  switch (verdict.kind) {
    case 'ok':
      return `${uid}  ${out.style.good('ok')}  ${count(verdict.records, 'record')}  ${verdict.hash || '-'}\n`;
    case 'damaged':
      return `${uid}  ${out.style.bad('damaged')}  at record ${verdict.seq}: ${onePlainLine(verdict.what)}\n`;
    case 'blobs':
      return verdict.what
        .map((each) => `${uid}  ${out.style.bad('damaged')}  ${onePlainLine(each)}\n`)
        .join('');
  }
}

function verifiedJson({ uid, verdict }: Verified): unknown {
  switch (verdict.kind) {
    case 'ok':
      return { uid, ok: true, records: verdict.records, hash: verdict.hash };
    case 'damaged':
      return { uid, ok: false, damaged_at: verdict.seq, what: [verdict.what] };
    case 'blobs':
      return { uid, ok: false, what: verdict.what };
  }
}
