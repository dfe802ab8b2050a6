import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  cityFact,
  errorEvent,
  event,
  executionEnd,
  executionStart,
  input,
  lifecycle,
  output,
  textMessage,
  toolCall,
  toolResult,
} from '../../protocol/events.ts';
import {
  type Event,
  EventKind,
  Lifecycle_Kind,
  type Message,
  MessageSchema,
  ToolCallSchema,
  ToolResult_Code,
  ToolResultSchema,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { create } from '../../protocol/protobuf.ts';
import { continuedFact } from './continue-marker.ts';
import { rebuild, rebuildMessages } from './rebuild.ts';
import { MemoryLogStore } from './testing/memory-log-store.ts';

const ask = (text: string, turn = 'e1') => input(turn, textMessage('user', text));
const say = (text: string, turn = 'e1') => output(turn, textMessage('assistant', text));
const call = (id: string, turn = 'e1', tool = 'Bash') => toolCall(turn, create(ToolCallSchema, { id, tool }));
const done = (id: string, text: string, turn = 'e1') =>
  toolResult(turn, create(ToolResultSchema, { id, content: [{ part: { case: 'text', value: { text } } }] }));
const start = (turn: string) => executionStart(turn, { inputCount: 1, harness: 'echo' });
const decided = (id: string, approved: boolean, reason: string, turn = 'e1') =>
  event(turn, EventKind.EVENT_APPROVAL_RESULT, {
    case: 'approvalResult',
    value: { toolCallId: id, approved, reason, requestSeq: 3n },
  });

/** Messages as short lines. */
const lines = (messages: readonly Message[]): readonly string[] =>
  messages.map(({ role, parts }) => {
    const said = parts.map(({ part }) => {
      switch (part.case) {
        case 'text':
          return part.value.text;
        case 'toolCall':
          return `call ${part.value.id}`;
        case 'toolResult': {
          const text = part.value.content.map((each) =>
            each.part.case === 'text' ? each.part.value.text : '',
          );
          return `result ${part.value.id}: ${text.join('')}`;
        }
        default:
          return part.case;
      }
    });
    return `${role}: ${said.join(' + ')}`;
  });

const of = (...events: readonly Event[]) =>
  lines(rebuildMessages([{ records: events.map((each) => ({ event: each })) }]));

describe('a rebuilt conversation', () => {
  it('is questions, answers, and calls with their results in the order of the calls', () => {
    expect(
      of(
        start('e1'),
        ask('look at both'),
        say('I look'),
        call('a'),
        call('b'),
        done('b', 'two'),
        done('a', 'one'),
        say('both are fine'),
        executionEnd('e1'),
      ),
    ).toEqual([
      'user: look at both',
      'assistant: I look + call a + call b',
      'tool: result a: one + result b: two',
      'assistant: both are fine',
    ]);
  });

  it('keeps equal call ids of different turns apart', () => {
    expect(
      of(
        ask('one'),
        call('1'),
        done('1', 'first'),
        ask('two', 'e2'),
        call('1', 'e2'),
        done('1', 'second', 'e2'),
      ),
    ).toEqual([
      'user: one',
      'assistant: call 1',
      'tool: result 1: first',
      'user: two',
      'assistant: call 1',
      'tool: result 1: second',
    ]);
  });

  it('takes a result that comes after the model went on to its call', () => {
    expect(of(ask('go'), call('a'), say('meanwhile'), done('a', 'late'))).toEqual([
      'user: go',
      'assistant: call a',
      'tool: result a: late',
      'assistant: meanwhile',
    ]);
  });

  it('says of a call that was cut off that it was interrupted, and drops it when nothing follows', () => {
    const cut = [ask('go'), say('I run it'), call('a')];
    expect(of(...cut)).toEqual(['user: go', 'assistant: I run it']);
    expect(of(...cut, ask('again', 'e2'))).toEqual([
      'user: go',
      'assistant: I run it + call a',
      'tool: result a: Interrupted: the call was cut off and no result is known.',
      'user: again',
    ]);
    expect(of(ask('go'), call('a'))).toEqual(['user: go']);
  });

  it('gives a refused call its refusal, with or without its receipt', () => {
    const receipt = toolResult(
      'e1',
      create(ToolResultSchema, {
        id: 'a',
        isError: true,
        code: ToolResult_Code.APPROVAL_DENIED,
        error: 'no',
        content: [{ part: { case: 'text', value: { text: 'no' } } }],
        approvalRequestSeq: 3n,
        approvalDecisionSeq: 4n,
      }),
    );
    const refused = [ask('go'), call('a'), decided('a', false, 'not on a Friday')];
    expect(of(...refused)).toEqual([
      'user: go',
      'assistant: call a',
      'tool: result a: Refused: the call was not approved. not on a Friday',
    ]);
    const messages = rebuildMessages([{ records: [...refused, receipt].map((each) => ({ event: each })) }]);
    expect(lines(messages).at(-1)).toBe('tool: result a: no');
    expect(messages.at(-1)?.parts[0]?.part.value).toMatchObject({
      approvalRequestSeq: 0n,
      approvalDecisionSeq: 0n,
    });
  });

  it('has no reasoning, no result without a call, and no message without a part', () => {
    const thought = create(MessageSchema, {
      role: 'assistant',
      parts: [
        { part: { case: 'reasoning', value: { provider: 'x' } } },
        { part: { case: 'text', value: { text: 'yes' } } },
      ],
    });
    const onlyThought = create(MessageSchema, { role: 'assistant', parts: thought.parts.slice(0, 1) });
    expect(of(ask('why'), output('e1', onlyThought), output('e1', thought), done('nobody', 'x'))).toEqual([
      'user: why',
      'assistant: yes',
    ]);
  });

  it('takes a call that a message asks for and a record tells of for one', () => {
    const asks = create(MessageSchema, {
      role: 'assistant',
      parts: [
        { part: { case: 'text', value: { text: 'I look' } } },
        { part: { case: 'toolCall', value: { id: 'a', tool: 'Read' } } },
      ],
    });
    expect(of(ask('go'), output('e1', asks), call('a', 'e1', 'Read'), done('a', 'text'))).toEqual([
      'user: go',
      'assistant: I look + call a',
      'tool: result a: text',
    ]);
  });

  it('starts at the newest compaction with its summary and what it kept', async () => {
    const store = new MemoryLogStore();
    await store.append('sess-1', [
      ask('one'),
      say('1'),
      cityFact({ compacted: { summary: 'older', first_kept_seq: 2 } }),
      ask('two', 'e2'),
      say('2', 'e2'),
      cityFact({ compacted: { summary: 'one was asked', first_kept_seq: 4 } }),
      ask('three', 'e3'),
    ]);
    expect(lines(await rebuild(store, 'sess-1'))).toEqual([
      'user: one was asked',
      'user: two',
      'assistant: 2',
      'user: three',
    ]);
    expect(lines(await rebuild(store, 'sess-1', { at: 3 }))).toEqual(['user: older', 'assistant: 1']);
  });

  it('a compaction that was only observed brings no summary: everything counts', async () => {
    const store = new MemoryLogStore();
    const fact = cityFact({ compacted: { conversation: 'c', trigger: 'auto', evidence: 'transcript' } });
    await store.append('sess-1', [ask('1'), say('one'), fact, ask('2')]);
    expect(lines(await rebuild(store, 'sess-1'))).toEqual(['user: 1', 'assistant: one', 'user: 2']);
  });
});

describe('a conversation that is continued', () => {
  it('is read where it is, however long the chain, and only as far as it was carried', async () => {
    const store = new MemoryLogStore();
    await store.append('a', [ask('first'), say('1'), ask('after', 'e2')]);
    await store.append('b', [continuedFact({ source: 'a', seq: 2, turns: 1 }), ask('second'), say('2')]);
    await store.append('c', [continuedFact({ source: 'b', seq: 3, turns: 2 }), ask('third')]);
    expect(lines(await rebuild(store, 'c'))).toEqual([
      'user: first',
      'assistant: 1',
      'user: second',
      'assistant: 2',
      'user: third',
    ]);
  });

  it('goes without a source that is gone, and never round in circles', async () => {
    const store = new MemoryLogStore();
    await store.append('a', [continuedFact({ source: 'b', seq: 9, turns: 1 }), ask('a')]);
    await store.append('b', [continuedFact({ source: 'a', seq: 9, turns: 1 }), ask('b')]);
    await store.append('c', [continuedFact({ source: 'gone', seq: 9, turns: 1 }), ask('c')]);
    expect(lines(await rebuild(store, 'a'))).toEqual(['user: b', 'user: a']);
    expect(lines(await rebuild(store, 'c'))).toEqual(['user: c']);
  });

  it('begins at its own compaction when it has one', async () => {
    const store = new MemoryLogStore();
    await store.append('a', [ask('first')]);
    await store.append('b', [
      continuedFact({ source: 'a', seq: 1, turns: 1 }),
      ask('second'),
      cityFact({ compacted: { summary: 'both', first_kept_seq: 4 } }),
      ask('third', 'e2'),
    ]);
    expect(lines(await rebuild(store, 'b'))).toEqual(['user: both', 'user: third']);
  });
});

const turn = fc
  .record({
    text: fc.string({ maxLength: 12 }),
    calls: fc.array(fc.record({ answered: fc.boolean(), speaks: fc.boolean() }), { maxLength: 4 }),
    ends: fc.boolean(),
  })
  .map(({ text, calls, ends }) => (id: string): readonly Event[] => [
    start(id),
    ask(text, id),
    ...calls.flatMap(({ answered, speaks }, n) => [
      ...(speaks ? [say(`said ${n}`, id)] : []),
      call(`c${n}`, id),
      ...(answered ? [done(`c${n}`, `out ${n}`, id)] : []),
    ]),
    ...(ends ? [say('done', id), executionEnd(id)] : []),
  ]);
const turns = fc.array(turn, { maxLength: 5 }).map((each) => each.flatMap((make, n) => make(`e${n}`)));
const noise = fc.constantFrom(
  cityFact({ nudged: { text: 'hello', evidence: 'hook' } }),
  cityFact({ woken: { reason: 'a person' } }),
  lifecycle(Lifecycle_Kind.LIFECYCLE_SUSPEND, { snapshotLocal: 'x' }),
  lifecycle(Lifecycle_Kind.LIFECYCLE_RESUME),
  errorEvent('e0', 'the harness went away'),
  event('e0', EventKind.EVENT_USAGE, { case: 'usage', value: { model: 'm', inputTokens: 3n } }),
);

describe('what a person reports', () => {
  it('DUR-09 a suspended and resumed log with progress between its messages gives the same conversation', async () => {
    await fc.assert(
      fc.asyncProperty(
        turns,
        fc.array(fc.tuple(fc.nat(60), noise), { maxLength: 20 }),
        async (events, extras) => {
          const plain = rebuildMessages([{ records: events.map((each) => ({ event: each })) }]);
          const store = new MemoryLogStore();
          const mixed = [...events];
          for (const [place, extra] of extras) mixed.splice(Math.min(place, mixed.length), 0, extra);
          for (const each of mixed) await store.append('sess-1', [each]);
          expect(await rebuild(store, 'sess-1')).toEqual(plain);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('DUR-18 a fork at record 10 of 20 knows ten records, and a turn stopped at once can be continued', async () => {
    const store = new MemoryLogStore();
    const events = Array.from({ length: 10 }, (_, n) => [
      ask(`q${n}`, `e${n}`),
      say(`a${n}`, `e${n}`),
    ]).flat();
    await store.append('sess-1', events);
    await store.fork({
      parent: 'sess-1',
      atSeq: 10,
      marker: lifecycle(Lifecycle_Kind.LIFECYCLE_FORK, { detail: 'sess-1@10' }),
      children: [{ uid: 'sess-2', name: '', labels: {} }],
    });
    expect(lines(await rebuild(store, 'sess-2'))).toEqual(lines(await rebuild(store, 'sess-1')).slice(0, 10));
    await store.append('sess-2', [start('x'), ask('stopped', 'x'), start('y'), ask('go on', 'y')]);
    expect(lines(await rebuild(store, 'sess-2')).slice(-2)).toEqual(['user: stopped', 'user: go on']);
  });
});
