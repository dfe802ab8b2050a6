import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import { input, textMessage, toolResult } from '../../../protocol/events.ts';
import {
  type Event,
  MessageSchema,
  type ToolResult,
  ToolResultSchema,
} from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import { create, fromJson, type JsonObject } from '../../../protocol/protobuf.ts';
import { blobHashesOf, hashInName } from './blob-name.ts';
import { BlobStore, blobFolderOf } from './blob-store.ts';
import { collectBlobs } from './collect.ts';
import { BLOB_THRESHOLD_BYTES, externalizeEvent } from './externalize.ts';

const LARGE = 'é'.repeat(BLOB_THRESHOLD_BYTES);
let base: string;
let blobs: BlobStore;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'gc-blobs-'));
  blobs = new BlobStore(join(base, 'sessions.blobs'), systemClock);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const result = (text: string, output?: JsonObject): Event =>
  toolResult(
    'e1',
    create(ToolResultSchema, {
      id: 'a',
      ...(text === '' ? {} : { content: [{ part: { case: 'text', value: { text } } }] }),
      ...(output ? { output } : {}),
    }),
  );
const file = (bytes: Uint8Array): Event =>
  input(
    'e1',
    create(MessageSchema, {
      role: 'user',
      parts: [
        {
          part: {
            case: 'file',
            value: { name: 'a.png', mime: 'image/png', source: { case: 'bytes', value: bytes } },
          },
        },
      ],
    }),
  );
const resultOf = (event: Event): ToolResult =>
  event.body.case === 'result' ? event.body.value : create(ToolResultSchema);
const textOf = (event: Event): string =>
  resultOf(event)
    .content.map(({ part }) => (part.case === 'text' ? part.value.text : ''))
    .join('');

async function whole(event: Event): Promise<ToolResult> {
  const [hash = ''] = blobHashesOf(event);
  const { content, output } = fromJson(
    ToolResultSchema,
    JSON.parse(Buffer.from(await blobs.get(hash)).toString()),
  );
  const { output: _, ...rest } = resultOf(event);
  return { ...rest, content, outputUri: '', outputDigest: '', ...(output ? { output } : {}) };
}

describe('a blob', () => {
  it('is one owner-only file under its hash, however often it is put, and is checked when it is read', async () => {
    const name = await blobs.put(Buffer.from('hello'));
    expect(await blobs.put(Buffer.from('hello'))).toEqual(name);
    const hash = name.uri.slice('blob:sha256:'.length);
    const path = blobs.pathOf(hash);
    expect(path).toBe(join(base, 'sessions.blobs', hash.slice(0, 2), hash));
    expect([statSync(path).mode & 0o777, statSync(join(path, '..')).mode & 0o777]).toEqual([0o600, 0o700]);
    expect(readdirSync(join(path, '..'))).toEqual([hash]);
    writeFileSync(path, 'hellO');
    await expect(blobs.get(hash)).rejects.toMatchObject({ code: 'blob-damaged' });
    await blobs.put(Buffer.from('hello'));
    expect(readFileSync(path, 'utf8')).toBe('hello');
  });

  it('that is not there or is not ours is said clearly, and no name leads out of the folder', async () => {
    const hash = '0'.repeat(64);
    await expect(blobs.get(hash)).rejects.toMatchObject({ code: 'blob-missing' });
    await expect(blobs.get('../../etc/passwd')).rejects.toMatchObject({ code: 'invalid-blob' });
    for (const name of [hash, `sha256:${hash}`, `blob:sha256:${hash}`]) expect(hashInName(name)).toBe(hash);
    for (const name of ['https://x/y', `sha1:${hash}`, hash.slice(1)])
      expect(hashInName(name)).toBeUndefined();
  });

  it('stands beside the file of its logs', () => {
    expect(blobFolderOf('/x/.gc/sessions.db')).toBe('/x/.gc/sessions.blobs');
  });
});

describe('what goes out of a log', () => {
  it('is the bytes of a large file; a small one stays', async () => {
    const bytes = new Uint8Array(BLOB_THRESHOLD_BYTES + 1).fill(7);
    const small = file(bytes.subarray(1));
    expect(await externalizeEvent(small, blobs)).toBe(small);
    const event = await externalizeEvent(file(bytes), blobs);
    const [hash] = blobHashesOf(event);
    const part = event.body.case === 'message' ? event.body.value.parts[0]?.part.value : undefined;
    expect(part).toMatchObject({
      name: 'a.png',
      digest: `sha256:${hash}`,
      source: { case: 'uri', value: `blob:sha256:${hash}` },
    });
    expect(Buffer.compare(await blobs.get(hash ?? ''), bytes)).toBe(0);
  });

  it('is the output of a tool above the limit: its beginning stays, and all of it can be had again', async () => {
    for (const said of [
      result(LARGE),
      result('', { out: LARGE }),
      result('short', { out: LARGE }),
      result(LARGE, { n: 1 }),
    ]) {
      const event = await externalizeEvent(said, blobs);
      const { outputUri, outputDigest, output } = resultOf(event);
      expect([outputUri.slice(5), output]).toEqual([outputDigest, undefined]);
      expect(Buffer.byteLength(textOf(event))).toBeLessThan(2_300);
      expect(await whole(event)).toEqual(resultOf(said));
      expect(await externalizeEvent(event, blobs)).toBe(event);
    }
    const small = result('x'.repeat(BLOB_THRESHOLD_BYTES), { small: true });
    expect(await externalizeEvent(small, blobs)).toBe(small);
  });

  it('is cut between characters and says how much is left out', async () => {
    const text = textOf(await externalizeEvent(result(`x${LARGE}`), blobs));
    expect(text.startsWith(`x${'é'.repeat(1_023)}\n[`)).toBe(true);
    expect(text).toMatch(/\n\[129026 of 131073 bytes left out: blob:sha256:[0-9a-f]{64}\]$/);
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }), async (unit) => {
        const event = await externalizeEvent(result(unit.repeat(BLOB_THRESHOLD_BYTES)), {
          put: async () => ({ uri: 'u', digest: 'd' }),
        });
        return !textOf(event).includes('\ufffd');
      }),
      { numRuns: 20 },
    );
  });

  it('is never the text of a message', async () => {
    const long = input('e1', textMessage('user', 'x'.repeat(20 * BLOB_THRESHOLD_BYTES)));
    expect(await externalizeEvent(long, blobs)).toBe(long);
  });
});

describe('collecting blobs', () => {
  it('removes those that nobody names, and none that is young', async () => {
    const past = new BlobStore(join(base, 'sessions.blobs'), { now: () => 0 });
    const put = async (text: string) => {
      await past.put(Buffer.from(text));
      return (await past.put(Buffer.from(text))).digest.slice('sha256:'.length); // the second one sets the time
    };
    const [kept, gone] = [await put('kept'), await put('gone')];
    await blobs.put(Buffer.from('young'));
    const named = async () => new Set([kept]);
    const now = systemClock.now();
    expect(await collectBlobs(blobs, named, { now, dryRun: true })).toEqual({ count: 1, bytes: 4 });
    expect(await collectBlobs(blobs, named, { now, dryRun: false })).toEqual({ count: 1, bytes: 4 });
    const left = [];
    for await (const { hash } of blobs.list()) left.push(hash);
    expect([left.length, left.includes(kept), left.includes(gone)]).toEqual([2, true, false]);
  });
});
