import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClaudeTranscriptReader } from './claude-reader.ts';
import { CodexTranscriptReader } from './codex-reader.ts';
import { glanceOf } from './conversation-glance.ts';
import { GeminiTranscriptReader } from './gemini-reader.ts';
import type { PlacedEntry, TranscriptCursor } from './observed.ts';
import { OpencodeTranscriptReader } from './opencode-reader.ts';
import { PiTranscriptReader } from './pi-reader.ts';
import * as claude from './testing/claude-lines.ts';
import { recordedConversation, writeDatabase } from './testing/opencode-store.ts';
import type { TranscriptReader } from './transcript-reader.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gc-readers-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const recorded = (name: string): string => readFileSync(join(import.meta.dirname, 'testdata', name), 'utf8');

const codexLine = (type: string, payload: unknown): unknown => ({
  timestamp: '2026-01-02T10:00:00.000Z',
  type,
  payload,
});

interface Subject {
  readonly reader: (root: string) => TranscriptReader;
  /** Where its files of JSON lines lie. */
  readonly file: string;
  readonly text: () => string;
}

const SUBJECTS: readonly Subject[] = [
  {
    reader: (at) => new ClaudeTranscriptReader([at]),
    file: '-work/22222222-2222-4222-8222-222222222222.jsonl',
    text: () =>
      claude.jsonl([
        claude.prompt('u1', 'go'),
        claude.call('a1', 'c1', 'ls'),
        claude.result('r1', 'c1', 'out'),
        claude.answer('a2', 'done ✓'),
        ...claude.noise(),
      ]),
  },
  {
    reader: (at) => new CodexTranscriptReader([at]),
    file: '2026/01/02/rollout-2026-01-02T10-00-00-01a22c1c-f6e8-76b2-9ba4-7a54a87e43e8.jsonl',
    text: () =>
      claude.jsonl([
        codexLine('session_meta', { id: 'x', cwd: '/work', timestamp: '2026-01-02T10:00:00.000Z' }),
        codexLine('event_msg', { type: 'task_started', model_context_window: 258_400 }),
        codexLine('response_item', { type: 'message', id: 'm1', role: 'user', content: [{ text: 'gö' }] }),
        codexLine('response_item', { type: 'function_call', id: 'f1', call_id: 'c', arguments: '{' }),
        codexLine('response_item', { type: 'message', id: 'm2', role: 'assistant', content: 'done' }),
        codexLine('event_msg', { type: 'task_complete', turn_id: 't' }),
      ]),
  },
  {
    reader: (at) => new GeminiTranscriptReader([at]),
    file: 'work/chats/session-2026-11-30T18-06-dc074ad9.jsonl',
    text: () => recorded('gemini-0.61.jsonl'),
  },
  {
    reader: (at) => new PiTranscriptReader([at]),
    file: '--work--/2026-11-30T18-07-05-409Z_01a22da3-96c0-70e7-a2af-1ef9770ae828.jsonl',
    text: () => recorded('pi-0.73.jsonl'),
  },
];

async function everything(reader: TranscriptReader, file: string): Promise<void> {
  const chunk = await reader.observe(file, undefined);
  await reader.observe(file, chunk?.cursor);
  await reader.observe(file, { offset: 7, anchor: 'of another file' });
  const tail = await reader.tail(file);
  if (tail) glanceOf(tail);
  await reader.read(file, { tail: 0 });
  await reader.locate({ workDir: '/work', keys: [], aloneInWorkDir: true });
  await reader.locate({ workDir: '/work', keys: ['x'], aloneInWorkDir: false, beacon: 'x' });
}

for (const subject of SUBJECTS) {
  const setUp = (): { reader: TranscriptReader; file: string } => {
    const file = join(root, subject.file);
    mkdirSync(dirname(file), { recursive: true });
    return { reader: subject.reader(root), file };
  };

  describe(`the reader of ${subject.reader('').family}`, () => {
    it('reads what was cut, damaged or mixed up anywhere, and never throws', async () => {
      const { reader, file } = setUp();
      const whole = Buffer.from(subject.text());
      const piece = fc
        .tuple(fc.nat(whole.length), fc.nat(whole.length))
        .map(([a, b]) => whole.subarray(Math.min(a, b), Math.max(a, b)));
      const bytes = fc.oneof(piece, fc.uint8Array({ maxLength: 40 }), fc.constant(Buffer.from('\n')));
      await fc.assert(
        fc.asyncProperty(fc.array(bytes, { maxLength: 6 }), async (pieces) => {
          writeFileSync(file, Buffer.concat(pieces));
          await everything(reader, file);
        }),
        { numRuns: 15 },
      );
    });

    it('reads lines of any JSON', async () => {
      const { reader, file } = setUp();
      const lines = subject
        .text()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      // A real line of which any field is something else.
      const changed = fc
        .tuple(fc.constantFrom(...lines), fc.jsonValue({ maxDepth: 2 }), fc.nat(20))
        .map(([line, value, at]) => {
          const keys = Object.keys(line);
          return { ...line, [keys[at % keys.length] ?? 'x']: value };
        });
      await fc.assert(
        fc.asyncProperty(fc.array(fc.oneof(fc.jsonValue({ maxDepth: 3 }), changed)), async (values) => {
          writeFileSync(file, values.map((value) => `${JSON.stringify(value)}\n`).join(''));
          await everything(reader, file);
        }),
        { numRuns: 15 },
      );
    });

    it('is told the same piece by piece as at once', async () => {
      const { reader, file } = setUp();
      const whole = Buffer.from(subject.text());
      writeFileSync(file, whole);
      const atOnce = (await reader.observe(file, undefined))?.entries;
      expect(atOnce?.length).toBeGreaterThan(3);
      await fc.assert(
        fc.asyncProperty(fc.array(fc.nat(whole.length), { maxLength: 8 }), async (cuts) => {
          writeFileSync(file, '');
          const told: PlacedEntry[] = [];
          let cursor: TranscriptCursor | undefined;
          let from = 0;
          for (const to of [...cuts.toSorted((a, b) => a - b), whole.length]) {
            appendFileSync(file, whole.subarray(from, to));
            from = to;
            const chunk = await reader.observe(file, cursor);
            expect(chunk?.restarted).toBe(false);
            told.push(...(chunk?.entries ?? []));
            cursor = chunk?.cursor;
          }
          expect(told).toEqual(atOnce);
        }),
        { numRuns: 12 },
      );
    });
  });
}

describe('the reader of opencode', () => {
  it('reads messages and parts of any JSON, and is told the same in pieces as at once', async () => {
    const reader = new OpencodeTranscriptReader([root]);
    const real = recordedConversation();
    const file = `${join(root, 'opencode.db')}#${real.session.id}`;
    writeDatabase(root, real);
    const atOnce = (await reader.observe(file, undefined))?.entries;
    await fc.assert(
      fc.asyncProperty(fc.nat(real.messages.length), async (cut) => {
        rmSync(join(root, 'opencode.db'));
        writeDatabase(root, { ...real, messages: real.messages.slice(0, cut) });
        const first = await reader.observe(file, undefined);
        writeDatabase(root, real);
        const second = await reader.observe(file, first?.cursor);
        expect([...(first?.entries ?? []), ...(second?.entries ?? [])]).toEqual(atOnce);
      }),
      { numRuns: 3 },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue({ maxDepth: 2 }), { minLength: 12 }), async (values) => {
        const some = (index: number): unknown => values[index % values.length];
        writeDatabase(root, {
          ...real,
          messages: real.messages.map((row, index) => ({ ...row, data: some(index) })),
          parts: real.parts.map((row, index) => ({ ...row, data: some(index + 5) })),
        });
        await everything(reader, file);
      }),
      { numRuns: 5 },
    );
  });
});
