import { commandActor } from '../../../internal/events/event-types.ts';
import { rfc3339 } from '../../../internal/platform/clock.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { LOG_UID_KEY } from '../../../internal/session/journal/facts.ts';
import { continueSession } from '../../../internal/session/log/continue.ts';
import { type PruneReport, prune } from '../../../internal/session/log/prune.ts';
import { DEFAULT_BUDGET } from '../../../internal/session/log/prune-plan.ts';
import { cleanName } from '../../../internal/session/log/title.ts';
import { renameSession } from '../../../internal/session/log/title-rename.ts';
import { isCitySession } from '../../../internal/session/service/city-sessions.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { bytesOption } from '../log/byte-size.ts';
import { findLog, openRecords } from '../log/find-log.ts';
import { rowJson } from '../log/log-json.ts';
import { bytesOnDisk, withLogs } from '../log/open-logs.ts';
import { onePlainLine } from '../output/plain.ts';
import { count, sizeText } from '../output/session-log-text.ts';
import { age } from '../output/times.ts';

/** Of whoever serves the session: an agent of a city runs nothing but its own. */
const DEFAULT_HARNESS = '';

export const runLogRename: CommandRun = (context, input) =>
  withLogs(context, input, async (logs) => {
    const name = cleanName(input.rest('name').join(' '));
    const { uid } = await findLog(context, logs, input.arg('session'));
    const asked = { by: commandActor(context.env), now: context.clock.now() };
    const row = await renameSession(logs.store, uid, name, asked);
    const said = row.name === '' ? 'has no name; its title is shown again' : `is now "${row.name}"`;
    context.out.write(context.json ? `${JSON.stringify(rowJson(row))}\n` : `${uid} ${said}\n`);
    return 0;
  });

export const runLogContinue: CommandRun = (context, input) =>
  withLogs(context, input, async (logs) => {
    const source = await findLog(context, logs, input.arg('session'));
    const at = input.count('at', 1);
    const row = await continueSession(logs.store, source.uid, {
      ids: systemIds,
      name: cleanName(input.text('name') ?? ''),
      ...(at === undefined ? {} : { at }),
      ...(isCitySession(source) ? { harness: DEFAULT_HARNESS } : {}),
    });
    if (context.json) {
      const continues = { source: source.uid, seq: at ?? source.lastSeq };
      context.out.write(`${JSON.stringify({ ...rowJson(row), continues })}\n`);
    } else context.out.write(`${row.uid} continues ${source.uid} after record ${at ?? source.lastSeq}\n`);
    return 0;
  });

export const runLogPrune: CommandRun = (context, input) =>
  withLogs(context, input, async (logs) => {
    const budget = {
      maxAgeMs: input.duration('older-than') ?? DEFAULT_BUDGET.maxAgeMs,
      maxBytes: bytesOption(input, 'max-bytes') ?? DEFAULT_BUDGET.maxBytes,
      keep: input.count('keep') ?? DEFAULT_BUDGET.keep,
    };
    const open = await openRecords(context, logs);
    const dryRun = input.flag('dry-run');
    const report = await prune(logs.store, {
      budget,
      live: new Set(open.map(({ metadata }) => metadata[LOG_UID_KEY] ?? '')),
      now: context.clock.now(),
      dryRun,
      atMostBytes: bytesOnDisk(logs),
      blobs: logs.blobs,
      signal: context.signal,
    });
    context.out.write(context.json ? pruneJson(report, dryRun) : pruneText(context, report, dryRun));
    return 0;
  });

function pruneText(context: Context, { removed, kept, blobs }: PruneReport, dryRun: boolean): string {
  const now = context.clock.now();
  const lines = removed.map(({ uid, name, lastActivityAt, records }) => {
    const rested = context.out.isTTY ? `${age(now - lastActivityAt)} ago` : rfc3339(lastActivityAt);
    return `${uid}  ${count(records, 'record')}, last active ${rested}${name === '' ? '' : `  ${onePlainLine(name)}`}\n`;
  });
  const verb = dryRun ? 'would remove' : 'removed';
  const files =
    blobs.count === 0
      ? ''
      : ` and ${count(blobs.count, 'blob')} (${sizeText(blobs.bytes)}) that no log names`;
  return `${lines.join('')}${verb} ${count(removed.length, 'log')}${files}; ${kept} left\n`;
}

function pruneJson({ removed, kept, blobs }: PruneReport, dryRun: boolean): string {
  const logs = removed.map(({ uid, name, lastActivityAt, records }) => ({
    uid,
    name,
    records,
    last_activity_at: rfc3339(lastActivityAt),
  }));
  return `${JSON.stringify({ dry_run: dryRun, removed: logs, kept, blobs }, null, 2)}\n`;
}
