import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type JsonlLine, readJsonl, readLineAt } from './jsonl-lines.ts';

async function withFile<T>(content: string | Buffer, work: (path: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'gc-jsonl-'));
  try {
    writeFileSync(join(dir, 'f'), content);
    return await work(join(dir, 'f'));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function lines(content: string | Buffer, maxLineBytes?: number): Promise<readonly JsonlLine[]> {
  return withFile(content, async (path) => {
    const handle = await open(path);
    const found: JsonlLine[] = [];
    for await (const line of readJsonl(handle, maxLineBytes)) found.push(line);
    await handle.close();
    return found;
  });
}

it('gives every line with its place, whatever its length, and the place gives the line again', async () => {
  const values = fc.array(
    fc.oneof(
      fc.json(),
      fc.integer({ min: 0, max: 700_000 }).map((length) => JSON.stringify('ü'.repeat(length))),
    ),
    { maxLength: 6 },
  );
  await fc.assert(
    fc.asyncProperty(values, fc.boolean(), async (texts, ended) => {
      const content = texts.join('\n') + (ended && texts.length > 0 ? '\n' : '');
      await withFile(content, async (path) => {
        const handle = await open(path);
        const found: unknown[] = [];
        for await (const line of readJsonl(handle)) {
          if (line.kind === 'bad') throw new Error(`bad line at ${line.offset}`);
          expect(await readLineAt(handle, line.offset, line.length)).toEqual(line.value);
          found.push(line.value);
        }
        await handle.close();
        expect(found).toEqual(texts.map((text) => JSON.parse(text) as unknown));
      });
    }),
    { numRuns: 40 },
  );
});

it('counts a line that is too long and goes on behind it, without keeping it', async () => {
  const long = JSON.stringify('x'.repeat(900_000));
  const found = await lines(`1\n${long}\n2\n${long}`, 100_000);
  expect(found.map((line) => (line.kind === 'line' ? line.value : 'bad'))).toEqual([1, 'bad', 2]);
});

it('takes a line with a carriage return', async () => {
  expect((await lines('1\r\n2\r\n')).map((line) => line.kind === 'line' && line.value)).toEqual([1, 2]);
});
