import { createHash } from 'node:crypto';
import { input, lifecycle, textMessage } from '../../../protocol/events.ts';
import { exportLog } from '../export.ts';
import { verifyLog } from '../verify.ts';
import type { CampaignResult } from './log-campaign.ts';
import { type LogBackend, openLogs } from './log-writer-program.ts';

const PARENT = 'parent';
const BATCH = 500;
const FORK_KIND = 3;

/** A long session is forked into many, each child goes its own way, and everything is looked at. */
export async function forkCampaign(
  backend: LogBackend,
  path: string,
  records: number,
  children: number,
): Promise<CampaignResult> {
  const problems: string[] = [];
  const store = await openLogs(backend, path);
  try {
    await store.create({ uid: PARENT, project: 'p' });
    for (let n = 0; n < records; n += BATCH) {
      const count = Math.min(BATCH, records - n);
      const batch = Array.from({ length: count }, (_, k) =>
        input('', textMessage('user', `record ${n + k}`)),
      );
      await store.append(PARENT, batch, { durability: 'group' });
    }
    const bytesOf = async (uid: string): Promise<string> => {
      const hash = createHash('sha256');
      await exportLog(store, uid, async (text) => void hash.update(text));
      return hash.digest('hex');
    };
    const before = await bytesOf(PARENT);
    const uids = Array.from({ length: children }, (_, n) => `child-${n}`);
    await store.fork({
      parent: PARENT,
      atSeq: records,
      marker: lifecycle(FORK_KIND, { detail: `parent@${records}` }),
      children: uids.map((uid) => ({ uid, name: uid, labels: {} })),
    });
    for (const uid of uids) await store.append(uid, [input('', textMessage('user', `only in ${uid}`))]);
    const last = (await store.read(PARENT, { from: records, limit: 1 }))[0]?.contentHash;
    const heads = new Set<string>();
    for (const uid of uids) {
      const { records: found, hash } = await verifyLog(store, uid);
      const shared = (await store.read(uid, { from: records, limit: 1 }))[0]?.contentHash;
      if (found !== records + 2) problems.push(`${uid} has ${found} records, ${records + 2} wanted`);
      if (shared !== last) problems.push(`${uid} does not share its parent's record ${records}`);
      heads.add(hash);
    }
    if (heads.size !== children) problems.push(`${heads.size} different ends, ${children} wanted`);
    if ((await bytesOf(PARENT)) !== before) problems.push('the parent is not what it was');
    return { acknowledged: children, problems };
  } finally {
    await store.close();
  }
}
