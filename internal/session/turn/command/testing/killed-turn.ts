import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Event, EventSchema } from '../../../../protocol/generated/agentsessions/v1/common_pb.ts';
import { fromBinary, toBinary } from '../../../../protocol/protobuf.ts';
import type { CommandSpec } from '../command-spec.ts';

const HOST = new URL('./mortal-host.ts', import.meta.url).pathname;
const LOOK_MS = 20;
const LIMIT_MS = 30_000;

export interface KilledTurn {
  readonly spec: CommandSpec;
  readonly work: string;
  readonly ledgerDir: string;
  readonly text: string;
  readonly execution: string;
  readonly history: readonly Event[];
  readonly log: string;
}

/** Runs a turn in a host of its own, kills the host with SIGKILL once `when` holds, and answers what it had recorded. */
export async function killTurn(
  turn: KilledTurn,
  when: (recorded: readonly Event[]) => boolean,
): Promise<readonly Event[]> {
  writeFileSync(turn.log, '');
  const history = turn.history.map((event) => Buffer.from(toBinary(EventSchema, event)).toString('base64'));
  const job = JSON.stringify({ ...turn, history });
  const host = spawn(process.execPath, ['--import', 'tsx', HOST, job], { stdio: 'inherit' });
  const gone = once(host, 'exit');
  const started = performance.now();
  while (!when(readEvents(turn.log))) {
    if (host.exitCode !== null || performance.now() - started > LIMIT_MS)
      throw new Error('the turn did not get there');
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  host.kill('SIGKILL');
  await gone;
  return readEvents(turn.log);
}

function readEvents(log: string): readonly Event[] {
  return readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => fromBinary(EventSchema, Buffer.from(line, 'base64')));
}

/** Whether a file of the work dir is there and holds this. */
export function holds(work: string, file: string, text: string): boolean {
  const path = join(work, file);
  return existsSync(path) && readFileSync(path, 'utf8').includes(text);
}
