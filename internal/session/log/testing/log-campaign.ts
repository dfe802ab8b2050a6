import { setTimeout as delay } from 'node:timers/promises';
import { type Ids, seededIds } from '../../../platform/ids.ts';
import { textOf } from '../../../protocol/events.ts';
import type { ChainedRecord } from '../../../protocol/hash-chain.ts';
import type { SessionLogStore } from '../session-log.ts';
import { verifyLog } from '../verify.ts';
import { type LogBackend, openLogs } from './log-writer-program.ts';
import { type LogWriter, LogWriters } from './log-writers.ts';

/** Records of one session before the next one is taken: each point looks at the whole log. */
const POINTS_PER_SESSION = 25;
/** A writer is killed at most this long after it was ready. */
const KILL_WITHIN_MS = 40;
const ENDLESS = 1_000_000;

export interface CampaignResult {
  readonly acknowledged: number;
  /** In words; empty when everything held. */
  readonly problems: readonly string[];
}

/** Kills a writer at a random moment, again and again, and looks at what is left. */
export async function killCampaign(
  backend: LogBackend,
  path: string,
  seed: number | string,
  points: number,
): Promise<CampaignResult> {
  const ids = seededIds(seed);
  const problems: string[] = [];
  const acknowledged = new Map<string, number>();
  const writers = new LogWriters();
  let total = 0;
  for (let point = 0; point < points; point += 1) {
    const uid = `s${Math.floor(point / POINTS_PER_SESSION)}`;
    if (point % POINTS_PER_SESSION === 0) acknowledged.clear();
    const writer = await writers.start({
      ...{ backend, path, uid, name: `p${point}`, appends: ENDLESS, cas: false, pauseMs: 0 },
      durability: ids.random() < 0.5 ? 'full' : 'group',
    });
    await writer.ready;
    await killSoon(writer, ids);
    for (const { seq, text } of writer.appended) acknowledged.set(text, seq);
    total += writer.appended.length;
    const failed = writer.failures.map(({ message }) => `point ${point}: the writer failed: ${message}`);
    const store = await openLogs(backend, path);
    problems.push(...failed, ...(await lookAt(store, uid, acknowledged, `point ${point}`)));
    await store.close();
  }
  writers.dispose();
  return { acknowledged: total, problems };
}

async function killSoon(writer: LogWriter, ids: Ids): Promise<void> {
  await delay(ids.random() * KILL_WITHIN_MS);
  await writer.kill();
}

/** Every acknowledged record is there, once, under its number, in a sound log. */
async function lookAt(
  store: SessionLogStore,
  uid: string,
  acknowledged: ReadonlyMap<string, number>,
  where: string,
): Promise<readonly string[]> {
  const problems: string[] = [];
  try {
    const { records } = await verifyLog(store, uid);
    const found = await store.read(uid, { limit: records });
    const seen = new Map<string, number>();
    for (const record of found) {
      const text = textOfInput(record);
      if (seen.has(text)) problems.push(`${where}: ${text} is there twice`);
      seen.set(text, record.seq);
    }
    for (const [text, seq] of acknowledged)
      if (seen.get(text) !== seq)
        problems.push(`${where}: ${text} was acknowledged as ${seq}, found as ${seen.get(text)}`);
  } catch (error) {
    problems.push(`${where}: ${String(error)}`);
  }
  return problems;
}

function textOfInput({ event }: ChainedRecord): string {
  return event.body.case === 'message' ? textOf(event.body.value) : '';
}

/** Many processes append to one session, each expecting exactly what it saw. */
export async function raceCampaign(
  backend: LogBackend,
  path: string,
  writers: number,
  appends: number,
): Promise<CampaignResult> {
  const uid = 'race';
  const starter = new LogWriters();
  const running = await Promise.all(
    Array.from({ length: writers }, (_, n) =>
      starter.start({
        ...{ backend, path, uid, name: `w${n}`, appends, cas: true, pauseMs: 0, durability: 'group' },
      }),
    ),
  );
  await Promise.all(running.map(({ ended }) => ended));
  starter.dispose();
  const problems = running.flatMap(({ failures }) =>
    failures.map(({ code, message }) => `a writer was shown ${code}: ${message}`),
  );
  const acknowledged = new Map(
    running.flatMap(({ appended }) => appended.map(({ text, seq }) => [text, seq])),
  );
  const store = await openLogs(backend, path);
  problems.push(...(await lookAt(store, uid, acknowledged, 'race')));
  const { seq } = await store.head(uid);
  if (seq !== writers * appends || acknowledged.size !== seq)
    problems.push(`${seq} records, ${acknowledged.size} acknowledged, ${writers * appends} wanted`);
  await store.close();
  return { acknowledged: acknowledged.size, problems };
}
