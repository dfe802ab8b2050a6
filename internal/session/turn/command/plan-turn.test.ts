import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fieldsOf } from '../../../platform/fields.ts';
import { seededIds } from '../../../platform/ids.ts';
import { textMessage } from '../../../protocol/events.ts';
import { type Event, MessageSchema } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import { create } from '../../../protocol/protobuf.ts';
import { claudeConversations, tailOf } from './claude-conversations.ts';
import { claudeParser } from './claude-dialect.ts';
import { codexConversations } from './codex-conversations.ts';
import { codexParser } from './codex-dialect.ts';
import type { Conversations, OutputParser, Tail } from './dialect.ts';
import { dataPart, filePart } from './lenient-json.ts';
import { type NativeFact, nativeFact } from './native-fact.ts';
import { planTurn } from './plan-turn.ts';
import { continuationPrompt, promptOf } from './prompts.ts';
import { RecordingSink, SESSION, startOf, told, turnOf } from './testing/recording-sink.ts';
import { CLAUDE_KEY, CODEX_KEY, homeWithRecordings, recordedLines, shortly } from './testing/recordings.ts';
import { TurnRecorder } from './turn-recorder.ts';

const PARENT = 'sess-00000000000000000000000a';

let home = '';
let work = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'gc-plan-'));
  work = join(home, 'work');
  mkdirSync(work);
  homeWithRecordings(home, work);
});
afterEach(() => rmSync(home, { recursive: true }));

interface Recorded {
  readonly program: 'claude' | 'codex';
  readonly conversations: Conversations;
  readonly conversation: string;
  readonly parser: () => OutputParser;
  /** The message that the first turn ended with. */
  readonly firstEnd: string;
  readonly prompt: string;
}

const PROGRAMS: readonly Recorded[] = [
  {
    program: 'claude',
    conversations: claudeConversations,
    conversation: CLAUDE_KEY,
    parser: claudeParser,
    firstEnd: 'b4a6b417-33fd-4566-8784-eb45e3dfea37',
    prompt: 'RUN: echo one > one.txt && cat one.txt',
  },
  {
    program: 'codex',
    conversations: codexConversations,
    conversation: CODEX_KEY,
    parser: () => codexParser(1),
    firstEnd: '01a22c1a-b9da-7853-b7d9-44ceb07e1f33',
    prompt: 'RUN: echo one > cone.txt && cat cone.txt',
  },
];

describe.each(PROGRAMS)('$program: a turn that was cut', (recorded) => {
  const { program, conversations, conversation, parser, firstEnd, prompt } = recorded;
  const fact = (more: Partial<NativeFact> = {}): Event =>
    nativeFact({ session: SESSION, program, conversation, state: 'starting', message: '', ...more });
  const plan = ({
    place = work,
    ...more
  }: {
    history?: readonly Event[];
    recorded?: readonly Event[];
    place?: string;
  }) =>
    planTurn({
      session: SESSION,
      program,
      history: [],
      recorded: [],
      prompt,
      place: { workDir: place, env: { HOME: home } },
      conversations,
      ids: seededIds(1),
      ...more,
    });

  /** What a whole first turn records, its facts aside. */
  async function firstTurn(): Promise<readonly Event[]> {
    const sink = new RecordingSink();
    const recorder = new TurnRecorder(startOf(prompt), program, sink);
    const made = parser();
    for (const line of recordedLines(`${program}-tool-call.stream.jsonl`)) {
      for (const effect of made.line(line)) if (effect.kind !== 'conversation') await recorder.apply(effect);
    }
    return sink.events.slice(0, 3);
  }
  const cutTo = (tail: Tail | undefined, count: number): Conversations => ({
    ...conversations,
    tail: async () => tail && { ...tail, happened: tail.happened.slice(0, count), complete: false },
  });

  it('finds the place of a turn in the conversation, and what happened since', async () => {
    const place = { workDir: work, env: { HOME: home } };
    const whole = await conversations.tail(place, conversation, '');
    const said = (tail: Tail | undefined) =>
      tail?.happened.map((effect) => (effect.kind === 'prompt' ? effect.text : shortly([effect])[0]));
    expect(said(whole)?.[0]).toBe(prompt);
    expect(whole?.complete).toBe(true);
    const since = await conversations.tail(place, conversation, firstEnd);
    expect(said(since)?.slice(0, 2)).toEqual(['SAY: second', 'text second']);
    expect(await conversations.tail(place, 'ffffffff-0000-4000-8000-000000000000', '')).toBeUndefined();
    expect(await conversations.tail(place, conversation, 'unknown')).toMatchObject({
      found: false,
      happened: [],
    });
  });

  it.each([0, 1, 2, 3])(
    'is over when the transcript says so: %d of its 3 effects were recorded, the rest is told once',
    async (count) => {
      const effects = await firstTurn();
      const found = await conversations.tail({ workDir: work, env: { HOME: home } }, conversation, '');
      const end = found?.happened.findIndex((effect) => effect.kind === 'text') ?? 0;
      const first: Tail = {
        happened: found?.happened.slice(0, end + 1) ?? [],
        complete: true,
        last: firstEnd,
        found: true,
      };
      const made = await planTurn({
        session: SESSION,
        program,
        history: [],
        recorded: [fact(), ...effects.slice(0, count)],
        prompt,
        place: { workDir: work, env: { HOME: home } },
        conversations: { ...conversations, tail: async () => first },
        ids: seededIds(1),
      });
      expect(made).toMatchObject({ kind: 'over', fact: { state: 'ended', message: firstEnd } });
      expect(made.missing.map((effect) => effect.kind)).toEqual(['call', 'result', 'text'].slice(count));
      const sink = new RecordingSink();
      const recorder = new TurnRecorder(
        startOf(prompt, { recorded: effects.slice(0, count) }),
        program,
        sink,
      );
      for (const effect of made.missing) await recorder.apply(effect);
      const kept = told([...effects.slice(0, count), ...sink.events]).map((line) => line.split(' ')[0]);
      expect(kept).toEqual(['calls', 'gets', 'says']);
    },
  );

  it('goes on in its conversation, told what was done and what is open', async () => {
    const place = { workDir: work, env: { HOME: home } };
    const whole = await conversations.tail(place, conversation, '');
    const at = (count: number) =>
      planTurn({
        session: SESSION,
        program,
        history: [],
        recorded: [fact()],
        prompt,
        place,
        conversations: cutTo(whole, count),
        ids: seededIds(1),
      });
    const open = await at(2);
    expect(open).toMatchObject({ kind: 'run', mode: { kind: 'resume', conversation }, base: '' });
    expect(open.kind === 'run' && open.prompt).toMatch(
      /^You were interrupted.*nobody knows how it came out/s,
    );
    const done = await at(3);
    expect(done.kind === 'run' && done.prompt).toMatch(/Done already; do not do it again:\n.*done: /s);
    expect(done.kind === 'run' && done.prompt).not.toContain(`${prompt}\n`);
  });

  it('tells its message again when the conversation never came to the disk although something was done', async () => {
    const [call] = await firstTurn();
    const made = await plan({ recorded: [fact({ conversation: 'absent' }), ...(call ? [call] : [])] });
    expect(made).toMatchObject({ kind: 'run', mode: { kind: 'new' } });
    expect(made.kind === 'run' && made.prompt).toContain(`Go on from where you were.\n\n${prompt}`);
  });

  it('is run from scratch when nothing had happened yet, in a conversation that goes on all the same', async () => {
    const history = turnOf('e0', 'before', [fact({ state: 'ended', message: firstEnd })]);
    const fresh = await plan({ recorded: [fact({ conversation: 'absent' })] });
    expect(fresh).toMatchObject({ kind: 'run', mode: { kind: 'new' }, prompt });
    const empty = cutTo(
      await conversations.tail({ workDir: work, env: { HOME: home } }, conversation, firstEnd),
      0,
    );
    const made = await planTurn({
      session: SESSION,
      program,
      history,
      recorded: [fact({ message: firstEnd })],
      prompt,
      place: { workDir: work, env: { HOME: home } },
      conversations: empty,
      ids: seededIds(1),
    });
    expect(made).toMatchObject({ mode: { kind: 'resume', conversation }, base: firstEnd, prompt });
  });

  it('a fork goes on after the last turn that it has, the parent is only read', async () => {
    const before = readAll(home);
    const parent = fact({ session: PARENT, state: 'ended', message: firstEnd });
    const made = await plan({ history: turnOf('e0', 'before', [parent]), place: home });
    expect(made).toMatchObject({ kind: 'run', base: firstEnd, prompt });
    const mode = made.kind === 'run' ? made.mode : undefined;
    expect(mode).toMatchObject({ kind: 'resume' });
    const tail = await conversations.tail(
      { workDir: home, env: { HOME: home } },
      mode?.conversation ?? '',
      '',
    );
    expect(tail?.happened.map((effect) => effect.kind)).toEqual(['prompt', 'call', 'result', 'text']);
    expect(tail?.last).toBe(firstEnd);
    expect(mode?.conversation).not.toBe(conversation);
    for (const [file, text] of before) expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('a fork in the middle of a turn knows what was recorded before it, and not a word more', async () => {
    const effects = await firstTurn();
    const history = [fact({ session: PARENT }), ...effects.slice(0, 2)];
    const made = await plan({ history, place: home });
    const conversationOf = made.kind === 'run' ? (made.mode.conversation ?? '') : '';
    const tail = await conversations.tail({ workDir: home, env: { HOME: home } }, conversationOf, '');
    expect(tail?.happened.map((effect) => effect.kind)).toEqual(['prompt', 'call', 'result']);
  });

  it('a turn that was cut in the parent goes on in the fork, in a conversation of its own', async () => {
    const effects = await firstTurn();
    const made = await plan({ recorded: [fact({ session: PARENT }), ...effects.slice(0, 2)], place: home });
    expect(made).toMatchObject({ kind: 'run', missing: [], mode: { kind: 'resume' } });
    expect(made.kind === 'run' && made.mode.conversation).not.toBe(conversation);
    expect(made.kind === 'run' && made.prompt).toContain('Done already; do not do it again');
    const bare = await plan({ recorded: [fact({ session: PARENT })], place: home });
    expect(bare).toMatchObject({ kind: 'run', mode: { kind: 'new' } });
    expect(bare.kind === 'run' && bare.prompt).toContain(prompt);
  });

  it('a fork at a place that the conversation does not have fails', async () => {
    const history = [fact({ session: PARENT, state: 'ended', message: 'gone' })];
    await expect(plan({ history, place: home })).rejects.toMatchObject({ code: 'command-conversation-lost' });
  });
});

it('a conversation that was killed and resumed: what was cut is there, what the program put in is not', () => {
  const entries = recordedLines('claude-killed-and-resumed.transcript.jsonl').map((line) =>
    fieldsOf(JSON.parse(line)),
  );
  const { happened, complete } = tailOf(entries);
  expect(happened.map((effect) => effect.kind)).toEqual(['prompt', 'call', 'prompt', 'text']);
  expect(complete).toBe(true);
});

it('a continuation tells long work shortly', () => {
  const call = { tool: 'Bash', args: { command: 'x'.repeat(5_000) } };
  const text = continuationPrompt(
    Array.from({ length: 100 }, () => call),
    undefined,
  );
  expect(text).toContain('You have made 100 tool calls; these are the last.');
  expect(text.length).toBeLessThan(40 * 800);
});

it('inputs are joined; those that are neither text nor data are refused', () => {
  const data = create(MessageSchema, { role: 'user', parts: [dataPart({ a: 1 })] });
  expect(promptOf([textMessage('user', 'x'), data], 'coder')).toBe('x\n\n{"a":1}');
  const file = create(MessageSchema, { role: 'user', parts: [filePart('image/png', 'AAEC')] });
  expect(() => promptOf([file], 'coder')).toThrow(
    'harness coder takes texts and data, not a part of kind file',
  );
});

function readAll(folder: string): readonly (readonly [string, string])[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.jsonl'))
    .map((file) => [join(folder, file), readFileSync(join(folder, file), 'utf8')] as const);
}
