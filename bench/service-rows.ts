import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../internal/platform/clock.ts';
import { systemIds } from '../internal/platform/ids.ts';
import { input, textMessage } from '../internal/protocol/events.ts';
import {
  CreateSessionRequestSchema,
  ExecRequestSchema,
} from '../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import { create } from '../internal/protocol/protobuf.ts';
import { openSessionLogStore } from '../internal/session/log/sqlite/session-log-store.ts';
import { World } from '../test/support/program.ts';
import { ServedProgram } from '../test/support/served.ts';
import { ms, type Row } from './row.ts';

const TURNS = 300;
const WARM_UP = 50;
/** The start with its input, the call of the model, the answer, the end: each is on the disk before the next. */
const COMMITS = 4;
const OVERHEAD_BAR_MS = 3;

/** What the service costs: a turn that does nothing, asked for over gRPC of the built program in a process of its own. */
export async function serviceRows(): Promise<readonly Row[]> {
  const commit = await commitMs();
  const world = new World();
  const served = new ServedProgram(world, []);
  try {
    await served.start();
    const sessions = served.sessions();
    const { signal } = new AbortController();
    const made = await sessions.createSession(
      create(CreateSessionRequestSchema, { session: { harness: 'echo' } }),
      signal,
    );
    const session = made.metadata?.uid ?? '';
    const took: number[] = [];
    for (let n = 0; n < TURNS + WARM_UP; n += 1) {
      const began = performance.now();
      const request = create(ExecRequestSchema, { session, inputs: [textMessage('user', `turn ${n}`)] });
      for await (const _ of sessions.exec(request, signal));
      if (n >= WARM_UP) took.push(performance.now() - began);
    }
    took.sort((a, b) => a - b);
    const p75 = took[Math.floor(took.length * 0.75)] ?? Number.NaN;
    const overhead = p75 - COMMITS * commit;
    return [
      {
        what: 'an echo turn over gRPC, beyond its commits',
        bar: `p75 ${OVERHEAD_BAR_MS} ms`,
        measured: `${ms(overhead)} of ${ms(p75)}`,
        floor: `${COMMITS} commits of ${ms(commit)}`,
        met: overhead <= OVERHEAD_BAR_MS,
      },
    ];
  } finally {
    await served.kill();
    await world.dispose();
  }
}

/** The median append that waits for the disk. */
async function commitMs(): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'gc-bench-commit-'));
  const store = openSessionLogStore(join(dir, 'a.db'), { clock: systemClock, ids: systemIds });
  const took: number[] = [];
  for (let n = 0; n < TURNS; n += 1) {
    const began = performance.now();
    await store.append('a', [input('e', textMessage('user', `turn ${n}`))]);
    took.push(performance.now() - began);
  }
  await store.close();
  rmSync(dir, { recursive: true, force: true });
  took.sort((a, b) => a - b);
  return took[Math.floor(took.length / 2)] ?? Number.NaN;
}
