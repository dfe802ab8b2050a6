import { systemClock } from '../../../platform/clock.ts';
import { GcError } from '../../../platform/errors.ts';
import { systemIds } from '../../../platform/ids.ts';
import { input, lifecycle, textMessage } from '../../../protocol/events.ts';
import type { Event } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { WriteStep } from '../sqlite/log-database.ts';
import { openSessionLogStore, type SqliteSessionLogStore } from '../sqlite/session-log-store.ts';
import { verifyLog } from '../verify.ts';
import type { CampaignResult } from './log-campaign.ts';

const PARENT_RECORDS = 1_200;
const say = (text: string): Event => input('', textMessage('user', text));

/** One of everything that writes, and how to see whether it happened. It happened whole or not at all. */
const WRITES: readonly {
  readonly name: string;
  run(store: SqliteSessionLogStore, uid: string): Promise<unknown>;
}[] = [
  { name: 'append', run: (store, uid) => store.append(uid, [say('a'), say('b')], { durability: 'group' }) },
  { name: 'append from a source', run: (store, uid) => store.append(uid, [say('a')], { source: 'x' }) },
  { name: 'new incarnation', run: (store, uid) => store.append(uid, [say('a')], { newIncarnation: true }) },
  { name: 'fence', run: (store, uid) => store.newFence(uid) },
  { name: 'create', run: (store, uid) => store.create({ uid, project: 'p' }) },
  {
    name: 'fork',
    run: (store, uid) =>
      store.fork({
        parent: 'parent',
        atSeq: PARENT_RECORDS,
        marker: lifecycle(3),
        children: [{ uid, name: '', labels: {} }],
      }),
  },
];

/** Every step of every kind of write fails once; after it nothing is there, and the same write works. */
export async function faultCampaign(file: string): Promise<CampaignResult> {
  let failAt = -1;
  let steps: WriteStep[] = [];
  const onStep = (step: WriteStep) => {
    steps.push(step);
    if (steps.length - 1 === failAt) throw new GcError('store-full', `no space at ${step}`);
  };
  const store = openSessionLogStore(file, { clock: systemClock, ids: systemIds, onStep });
  const problems: string[] = [];
  let acknowledged = 0;
  await store.append(
    'parent',
    Array.from({ length: PARENT_RECORDS }, (_, n) => say(String(n))),
  );
  for (const { name, run } of WRITES) {
    for (let at = 0; ; at += 1) {
      const uid = `${name} ${at}`;
      [failAt, steps] = [at, []];
      const failed = await run(store, uid).then(
        () => false,
        () => true,
      );
      const step = steps[at];
      failAt = -1;
      if (!step) break;
      const there = await store.get(uid);
      // A fork is there once its child is committed; what follows only waits for the disk.
      const mayBeThere = name === 'fork' && there?.lastSeq === PARENT_RECORDS + 1;
      if (!failed) problems.push(`${name}: a failure of ${step} was not told`);
      if (there && !mayBeThere) problems.push(`${name}: something is left after ${step} failed`);
      if ((await store.read(uid, {})).length > 0 && !there)
        problems.push(`${name}: records without a session`);
      await run(store, uid).catch((error: unknown) =>
        problems.push(`${name} after ${step} failed: ${String(error)}`),
      );
      acknowledged += (await verifyLog(store, uid)).records;
      if ((await store.get(uid)) === undefined)
        problems.push(`${name}: nothing is there after ${step} had failed`);
    }
  }
  await verifyLog(store, 'parent');
  await store.close();
  return { acknowledged, problems };
}
