import { parseArgs } from 'node:util';
import { systemClock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { systemIds } from '../../platform/ids.ts';
import { closeInherited } from './descriptors.ts';
import { runHost } from './run-host.ts';

/**
 * Entry of the session host process: `--dir <runtime dir of the city> --city <id>`. The client that starts it gives it
 * a session of its own and a log file as its output. Nothing is loaded after this file's imports.
 */
closeInherited();
const { values } = parseArgs({ options: { dir: { type: 'string' }, city: { type: 'string' } } });
const log = (line: string) => {
  process.stderr.write(`${new Date(systemClock.now()).toISOString()} ${process.pid} ${line}\n`);
};
const lifetime = new AbortController();

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => lifetime.abort());
process.on('SIGHUP', () => log('hang-up ignored'));
// Whatever goes wrong with one session or connection must not take the agents of the others with it.
process.on('uncaughtException', (error) => log(`unexpected error: ${error.stack ?? messageOf(error)}`));

if (!values.dir || !values.city) {
  log('usage: host --dir <runtime dir of the city> --city <id>');
  process.exitCode = 2;
} else {
  try {
    const { dir, city } = values;
    await runHost({
      dir,
      city,
      pid: process.pid,
      clock: systemClock,
      ids: systemIds,
      log,
      signal: lifetime.signal,
    });
    process.exit(0);
  } catch (error) {
    log(`the host could not run: ${messageOf(error)}`);
    process.exit(1);
  }
}
