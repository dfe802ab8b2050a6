import { join } from 'node:path';
import { systemClock } from '../../../internal/platform/clock.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { runShell } from '../../../internal/runtime/run-shell.ts';
import { HostBackend } from '../../../internal/runtime/subprocess/host-backend.ts';
import type { TerminalTimings } from '../../../internal/runtime/terminal/options.ts';
import { fileSessionLock } from '../../../internal/runtime/terminal/session-lock.ts';

/** The suite's agents live, or ask, at once: waiting long whether they do would prove nothing. */
export const SHORT_WAITS: Partial<TerminalTimings> = { settleMs: 50, questionSettleMs: 300 };

const HOST_MAIN = join(import.meta.dirname, '../../../internal/runtime/host/main.ts');

/** The environment of a subject's hosts. Agents must get nothing of it: the last variable would tell. */
export const hostEnvironment = (scratch: string): Readonly<Record<string, string>> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: scratch,
  GC_CONFORMANCE_LEAK: 'yes',
});

/** The embedded session host, run from its source, in a folder of the subject's scratch folder. */
export const sourceHost = (scratch: string, folder = 'host'): HostBackend =>
  new HostBackend({
    dir: join(scratch, folder),
    cityId: 'conformance',
    hostCommand: [process.execPath, '--import', import.meta.resolve('tsx'), HOST_MAIN],
    env: hostEnvironment(scratch),
    clock: systemClock,
    ids: systemIds,
  });

/** What every provider over a back end takes beside it. */
export const providerParts = (scratch: string) => ({
  clock: systemClock,
  ids: systemIds,
  launcherDir: join(scratch, 'launch'),
  hostEnv: { PATH: process.env['PATH'], HOME: scratch },
  runShell,
  lock: fileSessionLock(join(scratch, 'locks'), systemClock),
  timings: SHORT_WAITS,
});
