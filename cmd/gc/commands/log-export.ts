import { resolve } from 'node:path';
import { exportLog } from '../../../internal/session/log/export.ts';
import type { CommandRun } from '../cli/spec.ts';
import { findLog } from '../log/find-log.ts';
import { writeNewFile } from '../log/new-file.ts';
import { withLogs } from '../log/open-logs.ts';
import { count } from '../output/session-log-text.ts';

export const runLogExport: CommandRun = (context, input) =>
  withLogs(context, input, async (logs) => {
    const { uid } = await findLog(context, logs, input.arg('session'));
    const output = input.text('output');
    const pieces = (write: (text: string) => Promise<void>) =>
      exportLog(logs.store, uid, (lines) => {
        context.signal.throwIfAborted();
        return write(lines);
      });
    if (output === undefined) {
      await pieces(async (lines) => {
        context.out.write(lines);
        await context.out.flush();
      });
      return 0;
    }
    const path = resolve(context.cwd, output);
    const records = await writeNewFile(path, input.flag('force'), pieces);
    context.out.write(`${count(records, 'record')} of ${uid} in ${path}\n`);
    return 0;
  });
