import { browse, rowsOf } from '../../../internal/session/log/browse.ts';
import type { SessionSummary } from '../../../internal/session/log/summary.ts';
import type { CommandRun } from '../cli/spec.ts';
import { summaryJson } from '../log/log-json.ts';
import { withLogs } from '../log/open-logs.ts';
import { screenOf } from '../log/screen.ts';
import { renderLogTable } from '../output/session-log-text.ts';

export const runLogList: CommandRun = (context, input) =>
  withLogs(context, input, async ({ store }) => {
    const project = input.text('project');
    const logs: SessionSummary[] = [];
    const options = {
      includeDeleted: input.flag('all'),
      signal: context.signal,
      ...(project === undefined ? {} : { project }),
    };
    for await (const log of browse(store, options)) logs.push(log);
    if (context.json) {
      context.out.write(`${JSON.stringify(logs.map(summaryJson), null, 2)}\n`);
      return 0;
    }
    const uids: string[] = [];
    for await (const { uid } of rowsOf(store, { includeDeleted: true })) uids.push(uid);
    context.out.write(renderLogTable(logs, uids, screenOf(context)));
    return 0;
  });
