import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type LogVerdict, verifyPath } from '../verify-file.ts';

const PROGRAM = join(import.meta.dirname, '../../../../conformance/verify_log.py');
const LINE = /^(.+?) {2}(?:sound, (\d+) records|TAMPERED, record (\d+): (.+))$/;

/** What the independent program, run once, says about each log in files and folders. */
export async function verdictsOfPython(paths: readonly string[]): Promise<ReadonlyMap<string, LogVerdict>> {
  const { code, out, err } = await runPython(paths);
  if (code === 2 || code === null) throw new Error(`${PROGRAM} could not judge: ${err}`);
  const verdicts = new Map<string, LogVerdict>();
  for (const line of out.split('\n')) {
    const [, uid, records, seq, what = ''] = LINE.exec(line) ?? [];
    if (uid === undefined) continue;
    const fault = seq === undefined ? undefined : { seq: Number(seq), what };
    verdicts.set(uid, { uid, records: fault ? fault.seq - 1 : Number(records), fault });
  }
  const tampered = [...verdicts.values()].some(({ fault }) => fault);
  if (tampered !== (code === 1))
    throw new Error(`${PROGRAM} ended with ${code}, which is not what it printed`);
  return verdicts;
}

export async function runPython(
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const child = spawn('python3', [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (data) => out.push(data));
  child.stderr.on('data', (data) => err.push(data));
  const [code] = await once(child, 'close');
  return { code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() };
}

/** The same of ours. */
export async function verdictsOfOurs(paths: readonly string[]): Promise<ReadonlyMap<string, LogVerdict>> {
  const verdicts = new Map<string, LogVerdict>();
  for (const path of paths) {
    for await (const { uid, records, fault } of verifyPath(path)) verdicts.set(uid, { uid, records, fault });
  }
  return verdicts;
}
