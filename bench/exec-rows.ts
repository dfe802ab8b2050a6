import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../internal/platform/clock.ts';
import { systemIds } from '../internal/platform/ids.ts';
import { ExecProvider } from '../internal/runtime/exec/exec-provider.ts';
import { PROBES_PER_LOOK } from '../internal/runtime/exec/script-survey.ts';
import { runShell } from '../internal/runtime/run-shell.ts';
import { localSessionLock } from '../internal/runtime/terminal/session-lock.ts';
import type { Row } from './row.ts';

const SESSIONS = [1, 50, 200];
const TICKS = 4;

/** How often a session script is run per look at all sessions: with `observe`, and with the published operations only. */
export async function execRows(): Promise<readonly Row[]> {
  const observing = await Promise.all(SESSIONS.map((count) => runsPerTick(count, true)));
  const asking = await Promise.all(SESSIONS.map((count) => runsPerTick(count, false)));
  const counts = (runs: readonly number[]) => SESSIONS.map((n, i) => `${n}: ${runs[i]}`).join(', ');
  const limit = PROBES_PER_LOOK + 1;
  return [
    {
      what: 'runs of a session script per tick, by sessions, with observe',
      bar: '1',
      measured: counts(observing),
      floor: '1',
      met: observing.every((runs) => runs === 1),
    },
    {
      what: 'runs of a session script per tick, by sessions, without',
      bar: `at most ${limit}`,
      measured: counts(asking),
      floor: '1 to list them',
      met: asking.every((runs) => runs <= limit),
    },
  ];
}

async function runsPerTick(sessions: number, observes: boolean): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'gc-bench-exec-'));
  try {
    const names = Array.from({ length: sessions }, (_, i) => `s${i}`);
    writeFileSync(join(dir, 'names'), names.map((name) => `${name}\n`).join(''));
    const lines = names.map((name) => `${JSON.stringify({ name, state: 'running' })}\n`);
    writeFileSync(join(dir, 'lines'), lines.join(''));
    const file = join(dir, 'sessions');
    writeFileSync(file, scriptText(dir, observes));
    chmodSync(file, 0o755);
    const provider = new ExecProvider({
      script: { shown: './sessions', file },
      env: { PATH: process.env['PATH'] },
      cwd: dir,
      dir: join(dir, 'own'),
      node: process.execPath,
      clock: systemClock,
      ids: systemIds,
      runShell,
      lock: localSessionLock(),
    });
    await provider.observe(); // what the script can do is asked once
    const log = join(dir, 'log');
    writeFileSync(log, '');
    let most = 0;
    for (let tick = 0; tick < TICKS; tick += 1) {
      const survey = await provider.observe();
      if (survey.kind !== 'seen' || survey.sessions.size !== sessions)
        throw new Error(survey.kind === 'seen' ? `${survey.sessions.size} of ${sessions}` : survey.kind);
      most = Math.max(most, readFileSync(log, 'utf8').length);
      writeFileSync(log, '');
    }
    return most;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** One character in the log per run. */
function scriptText(dir: string, observes: boolean): string {
  return `#!/bin/sh
printf . >>'${dir}/log'
case $1 in
features) ${observes ? 'echo observe' : 'exit 2'} ;;
observe) cat '${dir}/lines' ;;
list-running) cat '${dir}/names' ;;
get-meta | get-last-activity) ;;
is-running) echo true ;;
*) exit 2 ;;
esac
`;
}
