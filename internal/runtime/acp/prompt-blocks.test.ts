import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MAX_LINE_BYTES } from '../host/protocol.ts';
import { promptBlocks, tooLarge } from './prompt-blocks.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-blocks-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const file = (name: string, content: string | Buffer) => {
  const path = join(dir, name);
  writeFileSync(path, content);
  return { type: 'file_path', path } as const;
};

it('keeps texts as they are and leaves out empty ones', async () => {
  const blocks = await promptBlocks([
    { type: 'text', text: ' a\nb ' },
    { type: 'text', text: '' },
    { type: 'file_path', path: '' },
  ]);
  expect(blocks).toEqual([{ type: 'text', text: ' a\nb ' }]);
  expect(await promptBlocks([])).toEqual([]);
});

it('puts a text file in whole, under its name', async () => {
  expect(await promptBlocks([file('plan.md', '# plan\né 🙂\n')])).toEqual([
    { type: 'text', text: '--- plan.md ---\n# plan\né 🙂\n' },
  ]);
});

it('links a file that is too large or no text, so that the agent reads it itself', async () => {
  const large = file('large.txt', 'x'.repeat(1_048_577));
  const binary = file('picture.png', Buffer.from([0x89, 0x50, 0x00, 0xff]));
  const latin = file('latin1.txt', Buffer.from([0x66, 0xfc, 0x72]));
  const linked = (path: string, name: string) => ({ type: 'link', uri: pathToFileURL(path).href, name });
  expect(await promptBlocks([large, binary, latin])).toEqual([
    linked(large.path, 'large.txt'),
    linked(binary.path, 'picture.png'),
    linked(latin.path, 'latin1.txt'),
  ]);
  expect(await promptBlocks([file('most.txt', 'x'.repeat(1_048_576))])).toMatchObject([{ type: 'text' }]);
});

it('several files together never make a prompt that cannot be sent', async () => {
  const files = ['a', 'b', 'c', 'd'].map((name) => file(name, 'x'.repeat(1_000_000)));
  const blocks = await promptBlocks(files);
  expect(blocks.map((block) => block.type)).toEqual(['text', 'text', 'link', 'link']);
  expect(tooLarge(blocks)).toBeUndefined();
});

it('says why a file could not be read, and not where it is', async () => {
  mkdirSync(join(dir, 'folder'));
  const blocks = await promptBlocks([
    { type: 'file_path', path: join(dir, 'missing.md') },
    { type: 'file_path', path: join(dir, 'folder') },
  ]);
  expect(blocks).toEqual([
    { type: 'text', text: '[Error reading missing.md: no such file]' },
    { type: 'text', text: '[Error reading folder: it is a folder]' },
  ]);
  expect(JSON.stringify(blocks)).not.toContain(dir);
});

it('measures a prompt as it is sent', () => {
  expect(tooLarge([{ type: 'text', text: 'x'.repeat(3_000_000) }])).toBeUndefined();
  expect(tooLarge([{ type: 'text', text: '\u0001'.repeat(1_000_000) }])).toContain(
    'put the text into a file',
  );
  expect(tooLarge([{ type: 'text', text: 'x'.repeat(MAX_LINE_BYTES) }])).toBeDefined();
});
