import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { textOf } from '../../protocol/events.ts';
import { EventKind } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { type ChainedRecord, ChainWalk } from '../../protocol/hash-chain.ts';
import { type Step, scripted, TurnRig } from './testing/turn-rig.ts';
import type { TurnOutcome } from './turn.ts';

const failure = (name: string) => expect.objectContaining({ failure: name });

/** What a turn did, without ids of records and errors: two runs of the same turn agree in it. */
function story(records: readonly ChainedRecord[]): readonly string[] {
  return records.flatMap(({ event: { kind, body } }) => {
    if (kind === EventKind.EVENT_ERROR || kind === EventKind.EVENT_LIFECYCLE) return [];
    const name = EventKind[kind].replace('EVENT_', '');
    switch (body.case) {
      case 'model':
        return [`${name} ${body.value.inputHash.slice(0, 8)}`];
      case 'tool':
        return [`${name} ${body.value.id}`];
      case 'result':
        return [`${name} ${body.value.id} ${JSON.stringify(body.value.output)} ${body.value.code}`];
      case 'message':
        return [`${name} ${textOf(body.value).replace(/\d+/, 'n')}`];
      default:
        return [name];
    }
  });
}

/** Runs or resumes until nothing is left, answering each question. */
async function finish(
  rig: TurnRig,
  first: TurnOutcome,
  approved: (callId: string) => boolean,
): Promise<void> {
  let outcome = first;
  while (outcome.kind === 'parked') {
    await rig.decide(outcome, approved(outcome.ref.toolCallId));
    outcome = await rig.resume();
  }
}

const yes = (): boolean => true;

const SCRIPTS: Readonly<Record<string, readonly Step[]>> = {
  model: [{ do: 'model', ask: 'a' }],
  tools: [
    { do: 'model', ask: 'a' },
    { do: 'tool', id: 't1' },
    { do: 'model', ask: 'b' },
    { do: 'tool', id: 't2' },
    { do: 'output', text: 'done' },
  ],
  approval: [
    { do: 'model', ask: 'a' },
    { do: 'gate', id: 'g1' },
    { do: 'usage', tokens: 3 },
    { do: 'gate', id: 'g2' },
    { do: 'report', id: 'r' },
  ],
};

/** Cuts the log after every record, goes on from there in a new host, and compares. */
async function checkEveryCut(steps: readonly Step[], approved: (callId: string) => boolean): Promise<void> {
  const whole = new TurnRig(scripted(steps));
  await finish(whole, await whole.run('one'), approved);
  await finish(whole, await whole.run('two'), approved);
  const records = await whole.records();
  const starts = records.filter(({ event: { kind } }) => kind === EventKind.EVENT_EXECUTION_START);
  const second = starts[1]?.seq ?? 0;
  for (let cut = 1; cut <= records.length; cut += 1) {
    const rig = await whole.cutAfter(cut, { seed: `cut ${cut}` });
    // A log that another host wrote may end within the inputs; ours appends them with the start.
    if (records[cut]?.event.kind === EventKind.EVENT_INPUT) {
      await expect(rig.resume()).rejects.toEqual(failure('incomplete-invocation'));
      continue;
    }
    for (const [key, nth] of whole.tools.effects) rig.tools.effects.set(key, nth);
    await finish(rig, await rig.resume(), approved);
    const end = cut < second ? second - 1 : records.length;
    expect(story(await rig.records()), `cut after ${cut}`).toEqual(story(records.slice(0, end)));
    checkEffects(rig, records.slice(0, cut), records.slice(cut, end), approved);
    const walk = new ChainWalk();
    for (const record of await rig.records()) walk.check(record);
    expect(await rig.resume()).toEqual({ kind: 'nothing' });
  }
}

/** Asked for anew is exactly what the log does not hold: an effect that was cut between intent and result, and all later ones. */
function checkEffects(
  rig: TurnRig,
  before: readonly ChainedRecord[],
  after: readonly ChainedRecord[],
  approved: (callId: string) => boolean,
): void {
  const answers = (records: readonly ChainedRecord[]) =>
    records.filter(({ event: { kind } }, nth) => {
      const last = nth === 0 ? before.at(-1) : records[nth - 1];
      return kind === EventKind.EVENT_OUTPUT && last?.event.kind === EventKind.EVENT_MODEL_CALL;
    });
  expect(rig.model.calls).toHaveLength(answers(after).length);
  const results = after.flatMap(({ event: { body } }) => (body.case === 'result' ? [body.value.id] : []));
  const hosted = results.filter((id) => id !== 'r' && (id.startsWith('t') || approved(id)));
  expect(rig.tools.asked.map(({ id }) => id)).toEqual(hosted);
}

describe('I3 a log that is cut after any record is gone on with, each effect at most once more', () => {
  it.each(Object.entries(SCRIPTS))('%s', async (_, steps) => {
    await checkEveryCut(steps, yes);
  });

  it('a denied call', async () => {
    await checkEveryCut(SCRIPTS['approval'] ?? [], (id) => id !== 'g1');
  });

  it('any turn', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('model' as const), ask: fc.constantFrom('a', 'b') }),
      fc.record({ do: fc.constant('output' as const), text: fc.constantFrom('x', 'y') }),
      fc.constant({ do: 'tool' as const, id: '' }),
      fc.constant({ do: 'gate' as const, id: '' }),
      fc.record({ do: fc.constant('usage' as const), tokens: fc.nat(9) }),
    );
    const steps = fc
      .array(step, { maxLength: 6 })
      .map((list) =>
        list.map((each, nth): Step => ('id' in each ? { ...each, id: `${each.do[0]}${nth}` } : each)),
      );
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (script, approved) => {
        await checkEveryCut(script, () => approved);
      }),
      { numRuns: 25 },
    );
  });
});
