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
  MessageSchema,
  ToolCallSchema,
  ToolResult_Code,
  ToolResultSchema,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { create, type MessageInitShape } from '../../protocol/protobuf.ts';
import { continuedFact } from './continue-marker.ts';
import { TranscriptFold } from './transcript.ts';

const call = (id: string, command: string) =>
  toolCall('e1', create(ToolCallSchema, { id, tool: 'Bash', args: { command } }));
const result = (id: string, more: MessageInitShape<typeof ToolResultSchema> = {}) =>
  toolResult('e1', create(ToolResultSchema, { ...more, id }));
const asks = (id: string) =>
  event('e1', EventKind.EVENT_APPROVAL_REQUEST, { case: 'approval', value: { toolCallId: id } });

function entries(...events: readonly Event[]) {
  const fold = new TranscriptFold();
  const told = events.flatMap((each, index) => fold.add({ seq: index + 1, event: each }));
  return [...told, ...fold.end()].map(({ seq, ...entry }) => entry);
}

describe('the transcript of a log', () => {
  it('is questions, answers, and one entry for each call with what became of it', () => {
    expect(
      entries(
        executionStart('e1', { inputCount: 1, harness: 'echo' }),
        input('e1', textMessage('user', 'go')),
        call('a', 'ls'),
        call('b', 'rm x'),
        result('b', { isError: true, error: 'exit 1' }),
        result('a'),
        call('c', 'reboot'),
        asks('c'),
        event('e1', EventKind.EVENT_APPROVAL_RESULT, {
          case: 'approvalResult',
          value: { toolCallId: 'c', reason: 'not now', requestSeq: 8n },
        }),
        result('c', { isError: true, code: ToolResult_Code.APPROVAL_DENIED, error: 'denied' }),
        output('e1', textMessage('assistant', 'done')),
        executionEnd('e1'),
      ),
    ).toEqual([
      { kind: 'question', text: 'go' },
      { kind: 'tool', tool: 'Bash', what: 'rm x', outcome: { kind: 'failed', why: 'exit 1' } },
      { kind: 'tool', tool: 'Bash', what: 'ls', outcome: { kind: 'done' } },
      { kind: 'asks', tool: 'Bash', what: 'reboot' },
      { kind: 'decided', approved: false, by: '', reason: 'not now' },
      { kind: 'tool', tool: 'Bash', what: 'reboot', outcome: { kind: 'refused', why: 'denied' } },
      { kind: 'answer', text: 'done' },
    ]);
  });

  it('of an unfinished log says which calls have no result', () => {
    const cut = [input('e1', textMessage('user', 'go')), call('a', 'sleep 9')];
    const open = { kind: 'tool', tool: 'Bash', what: 'sleep 9', outcome: { kind: 'open' } };
    expect(entries(...cut)).toEqual([{ kind: 'question', text: 'go' }, open]);
    expect(entries(...cut, input('e2', textMessage('user', 'again'))).slice(1)).toEqual([
      open,
      { kind: 'question', text: 'again' },
    ]);
    expect(entries(result('x'))).toEqual([{ kind: 'tool', tool: 'x', what: '', outcome: { kind: 'done' } }]);
  });

  it('tells the facts of a city by what people want to know of them', () => {
    const at = '2026-01-01T00:00:00Z';
    const fact = (more: Parameters<typeof cityFact>[0]) =>
      cityFact({ at, actor: 'gc', evidence: 'record', ...more });
    expect(
      entries(
        fact({ kind: 'started', generation: 3, reason: 'wanted: always' }),
        fact({ kind: 'nudged', id: 'm4', source: 'cli', text: 'look at p-19', bytes: 12, actor: 'mayor' }),
        fact({ kind: 'accepted', id: 'm4', attempts: 1, evidence: 'none' }),
        fact({ kind: 'crashed', generation: 3, reason: 'it ended', exit: { code: 1 }, next_try_at: at }),
        continuedFact({ source: 'sess-a', seq: 6, turns: 2 }),
        cityFact({ odd: { some_thing: 3 } }),
        lifecycle(Lifecycle_Kind.LIFECYCLE_FORK, { detail: 'sess-a@6' }),
      ),
    ).toEqual([
      { kind: 'fact', word: 'started', text: 'wanted: always', at },
      { kind: 'fact', word: 'nudged', text: 'look at p-19, by mayor', at },
      { kind: 'fact', word: 'accepted', text: 'message m4, unconfirmed', at },
      { kind: 'fact', word: 'crashed', text: `it ended, exit 1, next try ${at}`, at },
      { kind: 'fact', word: 'continued', text: 'sess-a up to record 6 (turns: 2)', at: '' },
      { kind: 'fact', word: 'odd', text: 'some thing 3', at: '' },
      { kind: 'fact', word: 'forked', text: 'sess-a@6', at: '' },
    ]);
  });

  it('DUR-17 tells why a session began a new conversation', () => {
    const why = 'the key of the one before is not on record';
    expect(
      entries(
        cityFact({ kind: 'starting', generation: 3, reason: 'wanted: always', new_conversation: why }),
        cityFact({ conversation_lost: { program: 'claude', conversation: 'k', reason: 'it is gone' } }),
      ),
    ).toEqual([
      { kind: 'fact', word: 'starting', text: `wanted: always, a new conversation: ${why}`, at: '' },
      { kind: 'fact', word: 'conversation_lost', text: 'it is gone', at: '' },
    ]);
  });

  it('says what went wrong, names files, and leaves reasoning out', () => {
    const message = create(MessageSchema, {
      role: 'assistant',
      parts: [
        { part: { case: 'reasoning', value: { provider: 'x' } } },
        { part: { case: 'text', value: { text: 'see' } } },
        { part: { case: 'file', value: { name: 'a.png', mime: 'image/png' } } },
      ],
    });
    const thought = create(MessageSchema, { role: 'assistant', parts: message.parts.slice(0, 1) });
    expect(
      entries(
        output('e1', thought),
        output('e1', message),
        errorEvent('e1', 'the model is away'),
        executionEnd('e1', 'FAILED'),
      ),
    ).toEqual([
      { kind: 'answer', text: 'see\n[file a.png (image/png)]' },
      { kind: 'trouble', text: 'the model is away' },
      { kind: 'trouble', text: 'the turn failed' },
    ]);
  });
});
