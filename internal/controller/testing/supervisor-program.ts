import { systemClock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import { systemIds } from '../../platform/ids.ts';
import { runSupervisor } from '../supervisor.ts';
import { silentLog } from './supervising.ts';

// A program that knows `supervisor run` alone, with cities that do nothing: what a background start launches in tests.
const detach = new AbortController();
process.on('SIGTERM', () => detach.abort());
if (process.env['TEST_BREAK']) {
  process.stderr.write('first line\ncannot go on: no luck\n');
  process.exit(7);
}
try {
  await runSupervisor({
    env: process.env,
    clock: systemClock,
    ids: systemIds,
    pid: process.pid,
    version: 'test',
    log: silentLog,
    print: () => undefined,
    startCity: async () => {
      let finish: () => void = () => undefined;
      const ended = new Promise<void>((resolve) => {
        finish = resolve;
      });
      const end = async () => finish();
      return { ended, reload: () => undefined, stop: end, detach: end };
    },
    fileStamp: () => '',
    detach: detach.signal,
    exitWhenEmpty: process.argv.includes('--exit-when-empty'),
  });
  process.exit(0);
} catch (error) {
  process.exit(error instanceof GcError && error.code === 'supervisor-already-running' ? 3 : 1);
}
