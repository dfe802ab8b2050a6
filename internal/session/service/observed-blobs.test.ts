import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { textMessage } from '../../protocol/events.ts';
import {
  Mediation,
  ToolCallSchema,
  type ToolResult,
  ToolResultSchema,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { create } from '../../protocol/protobuf.ts';
import { blobHashesOf } from '../log/blobs/blob-name.ts';
import { BlobStore } from '../log/blobs/blob-store.ts';
import { BLOB_THRESHOLD_BYTES } from '../log/blobs/externalize.ts';
import type { ToolExecutor } from '../turn/harness.ts';
import { openBench, type Script, say, scripted, sessionIn, uidOf } from './testing/service-bench.ts';

const LARGE = 'x'.repeat(BLOB_THRESHOLD_BYTES + 1);
let base: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'gc-observed-'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const large = (id: string): ToolResult =>
  create(ToolResultSchema, { id, content: textMessage('tool', LARGE).parts });

/** The results in the log of a session that a harness ran a turn of, and the blobs that its log names. */
async function ran(observes: boolean, script: Script) {
  const blobs = new BlobStore(join(base, 'blobs'), systemClock);
  const tools: ToolExecutor = { execute: async (_, { id }) => large(id) };
  const bench = await openBench({
    harnesses: { it: { ...scripted(script), observes } },
    blobs,
    executor: tools,
  });
  const { frames, error } = await bench.call.exec({ harness: 'it', inputs: [say(LARGE)] });
  expect(error).toBeUndefined();
  const events = (await bench.store.read(uidOf(sessionIn(frames[0])), {})).map(({ event }) => event);
  const results = events.flatMap(({ body }) => (body.case === 'result' ? [body.value] : []));
  return { blobs, results, named: events.flatMap(blobHashesOf) };
}

it('a large result of a harness that acts by itself is named by the log and kept beside it', async () => {
  const { blobs, results, named } = await ran(true, async (_, sink) => {
    await sink.observed(create(ToolCallSchema, { id: 'a', tool: 'Bash' }));
    await sink.report(large('a'));
    await sink.output(textMessage('assistant', LARGE));
  });
  expect(named).toHaveLength(1);
  expect(results[0]?.outputUri).toBe(`blob:sha256:${named[0]}`);
  expect(Buffer.from(await blobs.get(named[0] ?? '')).toString()).toContain(LARGE);
});

it('what the host hands to a harness, and texts, stay in the log whole', async () => {
  const got: ToolResult[] = [];
  const call = create(ToolCallSchema, {
    id: 'a',
    tool: 'Bash',
    idempotencyKey: 'k',
    mediation: Mediation.CONTROLLER_MEDIATED,
  });
  for (const observes of [true, false]) {
    const { results, named } = await ran(observes, async (_, sink) => {
      got.push(await sink.toolCall(call));
      if (!observes) await sink.report(large('b'));
    });
    expect(named).toEqual([]);
    expect(got.at(-1)).toEqual(results[0]);
  }
});
