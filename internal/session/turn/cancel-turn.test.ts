import { describe, expect, it } from 'vitest';
import { cityFact, textMessage } from '../../protocol/events.ts';
import {
  EventKind,
  IdentityRefSchema,
  Mediation,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { create } from '../../protocol/protobuf.ts';
import { StaleFenceError } from '../log/errors.ts';
import { MemoryLogStore } from '../log/testing/memory-log-store.ts';
import { cancelTurn } from './cancel-turn.ts';
import { readLogView } from './read-log-view.ts';
import { harnessOf, modelCall, scripted, TurnRig, toolCall } from './testing/turn-rig.ts';

const gate: Parameters<typeof scripted>[0] = [{ do: 'gate', id: 'g' }];

/** Somebody appends right after each of the first reads. */
class BusyStore extends MemoryLogStore {
  notes = 0;

  override async read(...args: Parameters<MemoryLogStore['read']>) {
    const page = await super.read(...args);
    if (this.notes > 0) await this.append(args[0], [cityFact({ note: this.notes })]);
    this.notes = Math.max(0, this.notes - 1);
    return page;
  }
}

async function cancel(rig: TurnRig, executionId?: string) {
  const { uid, store: log, clock } = rig;
  return await cancelTurn({ uid, log, clock }, 'enough', executionId);
}

describe('canceling a turn', () => {
  it('that failed closes it: it is not gone on with, and the next one may begin', async () => {
    const rig = new TurnRig(harnessOf(() => Promise.reject(new Error('no'))));
    await expect(rig.run('one')).rejects.toThrow();
    expect(await cancel(rig)).toMatchObject({ kind: 'canceled' });
    expect((await rig.kinds()).slice(2)).toEqual(['ERROR', 'LIFECYCLE', 'END']);
    const [marker, end] = (await rig.records()).slice(-2).map(({ event }) => event.body.value);
    expect([marker, end]).toMatchObject([{ kind: 5, detail: 'enough' }, { state: 'CANCELED' }]);
    expect(await rig.resume()).toEqual({ kind: 'nothing' });
    rig.harness = scripted([{ do: 'model', ask: 'a' }]);
    expect(await rig.run('two')).toEqual({ kind: 'completed' });
  });

  it('that runs elsewhere stops it there', async () => {
    const rig = new TurnRig(
      harnessOf(async (_, sink) => {
        await sink.model(modelCall('a'));
        await cancel(rig);
        await sink.output(textMessage('assistant', 'too late'));
      }),
    );
    await expect(rig.run('one')).rejects.toThrow(StaleFenceError);
    expect((await rig.kinds()).slice(2)).toEqual(['MODEL_CALL', 'OUTPUT', 'LIFECYCLE', 'END']);
  });

  it('that has ended, or is not the newest, changes nothing', async () => {
    const rig = new TurnRig(scripted([]));
    expect(await cancel(rig)).toEqual({ kind: 'not-latest' });
    await rig.run('one');
    expect(await cancel(rig)).toMatchObject({ kind: 'ended' });
    expect(await cancel(rig, 'another')).toEqual({ kind: 'not-latest' });
    expect((await rig.kinds()).at(-1)).toBe('END');
  });

  it('that others write beside is canceled all the same', async () => {
    const store = new BusyStore();
    const rig = new TurnRig(
      harnessOf(() => Promise.reject(new Error('no'))),
      { store },
    );
    await expect(rig.run('one')).rejects.toThrow();
    store.notes = 2;
    expect(await cancel(rig)).toMatchObject({ kind: 'canceled' });
    expect((await rig.kinds()).slice(3)).toEqual(['LIFECYCLE', 'LIFECYCLE', 'LIFECYCLE', 'END']);
  });
});

describe('DUR-13 canceling a turn that waits for a person', () => {
  it('closes the question: it is answered with no, and nothing waits any more', async () => {
    const rig = new TurnRig(scripted(gate));
    await rig.run('one');
    const actor = create(IdentityRefSchema, { principal: 'person' });
    await cancelTurn({ ...(await rig.context()), actor }, 'enough');
    expect((await rig.kinds()).slice(2)).toEqual([
      ...['TOOL_CALL', 'APPROVAL_REQUEST', 'APPROVAL_RESULT', 'TOOL_RESULT', 'LIFECYCLE', 'END'],
    ]);
    const view = await readLogView(rig.store, rig.uid);
    expect(view).toMatchObject({
      blockingApproval: undefined,
      approvals: [{ state: 'receipt', decision: { result: { approved: false, reason: 'enough' } } }],
    });
    const decision = (await rig.records())[4]?.event;
    expect(decision).toMatchObject({ kind: EventKind.EVENT_APPROVAL_RESULT, actor: { principal: 'person' } });
    expect(decision?.ts?.seconds).toBe(BigInt(Date.UTC(2026, 0, 1) / 1_000));
    expect(rig.tools.asked).toEqual([]);
  });

  it('that was never asked about is asked and answered', async () => {
    const rig = new TurnRig(scripted(gate));
    await rig.run('one');
    const cut = await rig.cutAfter(3);
    await cancel(cut);
    expect((await readLogView(cut.store, cut.uid)).approvals).toMatchObject([{ state: 'receipt' }]);
  });

  it.each([true, false])('that was answered (%s) and not carried out gets its receipt', async (approved) => {
    const rig = new TurnRig(scripted(gate));
    await rig.decide(await rig.run('one'), approved);
    await cancel(rig);
    const view = await readLogView(rig.store, rig.uid);
    expect(view.approvals).toMatchObject([{ state: 'receipt', decision: { result: { approved } } }]);
    expect(rig.tools.asked).toEqual([]);
  });
});

it('a canceled call of the host is not made again by the next turn', async () => {
  const stop = new AbortController();
  const rig = new TurnRig(
    harnessOf(async (_, sink) => void (await sink.toolCall(toolCall('a', Mediation.CONTROLLER_MEDIATED)))),
  );
  rig.tools.execute = () => {
    stop.abort(new Error('x'));
    return new Promise(() => undefined);
  };
  await expect(rig.run('one', {}, stop.signal)).rejects.toThrow();
  await cancel(rig);
  expect(await rig.resume()).toEqual({ kind: 'nothing' });
});
