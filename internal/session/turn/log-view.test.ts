import { describe, expect, it } from 'vitest';
import { cityFact, event, lifecycle, textMessage } from '../../protocol/events.ts';
import {
  type Event,
  EventKind,
  Lifecycle_Kind,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { LogAnalyzer } from './log-view.ts';
import { readLogView, readWholeLog } from './read-log-view.ts';
import { analyzeLog } from './testing/analyze-log.ts';
import { scripted, TurnRig, UID } from './testing/turn-rig.ts';

describe('what a log says', () => {
  it('turns in order, the newest, and how each ended', async () => {
    const rig = new TurnRig(scripted([{ do: 'model', ask: 'a' }]));
    await rig.run('one');
    await rig.store.append(rig.uid, [cityFact({ a: 1 })]);
    rig.model.complete = () => Promise.reject(new Error('down'));
    await expect(rig.run('two')).rejects.toThrow();
    const { view } = await readWholeLog(rig.store, rig.uid, 'latest');
    expect(view.lastSeq).toBe(10);
    expect(view.executions).toMatchObject([
      {
        firstSeq: 1,
        lastSeq: 5,
        end: { seq: 5, state: 'COMPLETED' },
        inputs: [],
        effects: [],
        inputCount: 1,
      },
      { firstSeq: 7, lastSeq: 10, end: undefined, error: 'down', inputCount: 1 },
    ]);
    expect(view.latest?.inputs).toEqual([textMessage('user', 'two')]);
  });

  it('only suspensions of this session are its own, and the newest counts', async () => {
    const suspend = (snapshotLocal: string) => lifecycle(Lifecycle_Kind.LIFECYCLE_SUSPEND, { snapshotLocal });
    const rig = new TurnRig(scripted([]));
    await rig.store.append(rig.uid, [suspend(UID), suspend(UID), suspend('sess-other')]);
    expect((await readLogView(rig.store, rig.uid)).lastOwnSuspend?.seq).toBe(2);
  });

  it('up to a record is what it said then', async () => {
    const rig = new TurnRig(scripted([]));
    await rig.run('one');
    expect(await readLogView(rig.store, rig.uid, { to: 2 })).toMatchObject({
      lastSeq: 2,
      latest: { end: undefined },
    });
  });

  it('page by page it is the same', async () => {
    const rig = new TurnRig(scripted([{ do: 'tool', id: 'a' }]));
    await rig.run('one');
    await rig.store.append(
      rig.uid,
      Array.from({ length: 600 }, (_, n) => cityFact({ n })),
    );
    await rig.run('two');
    const records = await rig.records();
    const view = await readLogView(rig.store, rig.uid);
    expect(view).toEqual(analyzeLog(records, { uid: rig.uid, keep: 'none' }));
    expect(view).toMatchObject({ lastSeq: 610, executions: [{ firstSeq: 1 }, { firstSeq: 606 }] });
  });

  it('records after an end make that turn one that cannot be run again', () => {
    const end = event('x', EventKind.EVENT_END, { case: 'end', value: { state: 'COMPLETED' } });
    const usage = event('x', EventKind.EVENT_USAGE, { case: 'usage', value: {} });
    const view = analyzeLog(records([end, usage]), { uid: UID });
    expect(view.latest?.damage).toMatch(/record 2 comes after its end/);
  });

  it('kinds of a later version change nothing', () => {
    const strange = event('x', 99 as EventKind, { case: 'usage', value: {} });
    expect(analyzeLog(records([strange]), { uid: UID }).executions).toEqual([]);
  });

  it('takes time in step with the records, and little of it', () => {
    const one = records([
      event('', EventKind.EVENT_LIFECYCLE, { case: 'lifecycle', value: {} }),
    ])[0] as ChainedRecord;
    const analyzer = new LogAnalyzer({ uid: UID, keep: 'latest' });
    const message = textMessage('user', 'x');
    for (let seq = 1; seq <= 100_000; seq += 1) {
      const id = `turn ${Math.floor(seq / 10)}`;
      const said = event(id, EventKind.EVENT_OUTPUT, { case: 'message', value: message });
      analyzer.add({ ...one, seq, event: said });
    }
    expect(analyzer.view().executions).toHaveLength(10_001);
  });
});

function records(events: readonly Event[]): readonly ChainedRecord[] {
  return events.map((each, nth) => ({ seq: nth + 1, prevHash: '', contentHash: '', fence: 1, event: each }));
}
