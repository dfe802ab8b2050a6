import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JournalFact } from '../../../runtime/acp/agent/journal-fact.ts';
import type { PlacedEntry } from '../observed.ts';
import { JournalObserver, MESSAGE_CHARS } from './acp-observed.ts';
import { type KnownLine, toJournalLine } from './journal-line.ts';

const line = (seq: number, fact: unknown, more: object = {}): KnownLine => {
  const value = { v: 1, seq, at: 1_000 + seq, conversation: 'c', cwd: '/w', turn: 1, fact, ...more };
  const found = toJournalLine(JSON.parse(JSON.stringify(value)), 'file');
  if (!found) throw new Error('no line');
  return found;
};
const observed = (lines: readonly KnownLine[], observer = new JournalObserver(1)) =>
  lines.flatMap((each) => observer.take(each));
const told = (entries: readonly PlacedEntry[]) => entries.map(({ entry }) => entry);
const lines = (facts: readonly unknown[]) => facts.map((fact, index) => line(index + 1, fact));

const word = fc.string({ maxLength: 6 });
const spoken = fc
  .record({
    kind: fc.constantFrom('prompt', 'message', 'thought'),
    parts: fc.array(word, { minLength: 1, maxLength: 4 }),
  })
  .map(({ kind, parts }) => ({ kind, parts }));
const single = fc.constantFrom(
  { kind: 'turn-ended', stop: 'end_turn' },
  { kind: 'tool-started', call: 't', title: 'ls', input: '{"command":"ls"}' },
  { kind: 'tool-finished', call: 't', title: 'ls', failed: false, output: 'a' },
  { kind: 'opened', how: 'new', agent: 'x' },
  { kind: 'of-tomorrow', anything: [1] },
);

/** Facts as a writer makes them: each text with a name of its own, in parts that follow each other. */
const journals = fc.array(fc.oneof(spoken, single), { maxLength: 12 }).map((items) =>
  items.flatMap((item, index): readonly unknown[] => {
    if (!('parts' in item)) return [item];
    return item.parts.map((text, part) => ({
      kind: item.kind,
      message: `m${index}`,
      text,
      ...(part < item.parts.length - 1 && { continues: true }),
    }));
  }),
);

describe('what the lines of a journal tell', () => {
  it('is what was said, called, asked and answered, in order', () => {
    const facts: readonly JournalFact[] = [
      { kind: 'opened', how: 'new', agent: 'a' },
      { kind: 'prompt', message: '1.1', text: 'do' },
      { kind: 'thought', message: '1.2', text: 'hm' },
      { kind: 'tool-started', call: 't', title: 'Run ls', tool: 'execute', input: '{"command":"ls"}' },
      {
        kind: 'asked',
        question: 'q',
        call: 't',
        title: 'Run ls',
        detail: 'ls',
        options: [{ id: 'y', name: 'Yes', kind: 'allow_once' }],
      },
      { kind: 'answered', question: 'q', by: 'client', option: 'y' },
      { kind: 'tool-finished', call: 't', title: 'Run ls', failed: true, output: 'no' },
      { kind: 'message', message: '1.3', text: 'done' },
      { kind: 'turn-ended', stop: 'end_turn' },
      { kind: 'turn-ended', stop: 'cancelled' },
      { kind: 'turn-ended', stop: 'error: no credit' },
    ];
    const id = (seq: number) => `c:${seq}:${1_000 + seq}`;
    expect(told(observed(lines(facts)))).toEqual([
      { kind: 'turn-end', id: id(1), how: 'unknown' },
      { kind: 'prompt', id: id(2), at: 1_002, text: 'do' },
      {
        kind: 'tool-call',
        id: id(4),
        callId: 't',
        name: 'execute',
        title: 'Run ls',
        input: { description: 'Run ls', command: 'ls' },
      },
      {
        kind: 'asked',
        id: id(5),
        at: 1_005,
        question: 'q',
        callId: 't',
        title: 'Run ls',
        detail: 'ls',
        options: [{ id: 'y', name: 'Yes', kind: 'allow_once' }],
      },
      { kind: 'answered', id: id(6), at: 1_006, question: 'q', by: 'client', option: 'y' },
      { kind: 'tool-result', id: id(7), callId: 't', error: true, text: 'no' },
      { kind: 'answer', id: id(8), text: 'done', ends: false },
      { kind: 'turn-end', id: id(9), how: 'completed' },
      { kind: 'turn-end', id: id(10), how: 'interrupted' },
      { kind: 'failure', id: id(11), text: 'no credit' },
    ]);
  });

  it('is the same from wherever nothing is open, whoever goes on there', () => {
    fc.assert(
      fc.property(journals, fc.nat(), (facts, seed) => {
        const all = lines(facts);
        const whole = observed(all);
        let observer = new JournalObserver(1);
        const entries: PlacedEntry[] = [];
        for (const [index, each] of all.entries()) {
          entries.push(...observer.take(each));
          if (!observer.isOpen && (seed + index) % 3 === 0) observer = new JournalObserver(each.seq + 1);
        }
        expect(entries).toEqual(whole);
      }),
      { numRuns: 200 },
    );
  });

  it('joins every text of its parts, and tells what there is of one that was cut off', () => {
    fc.assert(
      fc.property(journals, (facts) => {
        const texts = new Map<string, string>();
        for (const fact of facts as readonly Record<string, string>[]) {
          if (fact['kind'] !== 'prompt' && fact['kind'] !== 'message') continue;
          const name = `${fact['kind']} ${fact['message']}`;
          texts.set(name, (texts.get(name) ?? '') + fact['text']);
        }
        const said = [...texts].filter(([name, text]) => text !== '' || name.startsWith('prompt'));
        const entries = told(observed(lines(facts)));
        const got = entries.flatMap((one) =>
          one.kind === 'prompt' || one.kind === 'answer' ? [one.text] : [],
        );
        expect(got).toEqual(said.map(([, text]) => text));
      }),
      { numRuns: 200 },
    );
    const cut = { kind: 'message', message: 'm', text: 'half', continues: true };
    const entries = told(observed(lines([cut, { kind: 'opened', how: 'loaded', agent: '' }])));
    expect(entries).toMatchObject([{ kind: 'answer', text: 'half' }, { kind: 'turn-end' }]);
  });

  it('says how many lines are not there any more', () => {
    fc.assert(
      fc.property(journals, fc.array(fc.boolean(), { maxLength: 12 }), (facts, gone) => {
        const left = lines(facts).filter((_, index) => !gone[index]);
        const missed = told(observed(left)).flatMap((one) => (one.kind === 'missed' ? [one.count] : []));
        const last = left.at(-1)?.seq ?? 0;
        expect(missed.reduce((sum, count) => sum + count, 0)).toBe(last - left.length);
      }),
      { numRuns: 200 },
    );
  });

  it('holds no more of one text than a bounded piece', () => {
    const part = { kind: 'message', message: 'm', text: 'x'.repeat(MESSAGE_CHARS / 2), continues: true };
    const entries = told(observed(lines([part, part, part, { ...part, continues: false }])));
    expect(entries.map((one) => ('text' in one ? one.text.length : 0))).toEqual([
      MESSAGE_CHARS,
      MESSAGE_CHARS,
    ]);
  });

  it('never fails on what a line may hold', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (fact, value) => {
        const kinds = [
          'opened',
          'prompt',
          'tool-started',
          'tool-finished',
          'asked',
          'answered',
          'turn-ended',
        ];
        for (const kind of kinds) {
          const fields = typeof fact === 'object' && fact !== null ? fact : { call: fact, options: [fact] };
          observed([line(1, { ...fields, kind })]);
        }
        expect(toJournalLine(value, 'file')).toBeUndefined();
      }),
      { numRuns: 100 },
    );
  });

  it('in another form is refused with what to do', () => {
    expect(() => line(1, {}, { v: 2 })).toThrow(
      expect.objectContaining({
        code: 'journal-version',
        message: 'file: the conversation is written in form 2, and this gc reads form 1',
        next: expect.stringContaining('gc'),
      }),
    );
  });
});
