import { GcError } from '../../../internal/platform/errors.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { lifecycle } from '../../../internal/protocol/events.ts';
import { Lifecycle_Kind } from '../../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import { newSessionUid } from '../../../internal/protocol/session-id.ts';
import { SessionDeletedError } from '../../../internal/session/log/errors.ts';
import type { SessionRow } from '../../../internal/session/log/session-log.ts';
import { cleanName } from '../../../internal/session/log/title.ts';
import { isCitySession } from '../../../internal/session/service/city-sessions.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import { findLog } from '../log/find-log.ts';
import { rowJson } from '../log/log-json.ts';
import { withLogs } from '../log/open-logs.ts';
import { onePlainLine } from '../output/plain.ts';

/** Source: agentsessions.v1 Fork. */
const MAX_CHILDREN = 128;
/** Of whoever serves the session: an agent of a city runs nothing but its own. */
const DEFAULT_HARNESS = '';

/** New sessions that share the parent's log up to a record. The parent is not touched. */
export const runSessionFork: CommandRun = (context, input) =>
  withLogs(context, input, async (logs) => {
    const names = namesOf(input);
    const parent = await findLog(context, logs, input.arg('session'));
    if (parent.deletedAt !== undefined) throw new SessionDeletedError(parent.uid);
    const atSeq = input.count('at', 1) ?? parent.lastSeq;
    if (atSeq > parent.lastSeq) {
      throw new GcError(
        'fork-beyond-head',
        `${parent.uid} ends at record ${parent.lastSeq}, before ${atSeq}`,
        {
          next: `gc log show ${parent.uid} --records`,
        },
      );
    }
    const children = await logs.store.fork({
      parent: parent.uid,
      atSeq,
      marker: lifecycle(Lifecycle_Kind.LIFECYCLE_FORK, { detail: `${parent.uid}@${atSeq}` }),
      ...(isCitySession(parent) ? { harness: DEFAULT_HARNESS } : {}),
      children: names.map((name) => ({ uid: newSessionUid(systemIds), name, labels: {} })),
    });
    context.out.write(
      context.json ? `${JSON.stringify(children.map(rowJson), null, 2)}\n` : children.map(childLine).join(''),
    );
    return 0;
  });

const childLine = ({ uid, parentUid, forkSeq, name }: SessionRow): string =>
  `child ${uid} parent=${parentUid} fork_seq=${forkSeq} name=${onePlainLine(name)}\n`;

/** One name for each child, `''` for none. @throws UsageError */
function namesOf(input: Input): readonly string[] {
  const names = input.text('name')?.split(',').map(cleanName);
  const count = input.count('count', 1) ?? names?.length ?? 1;
  if (count > MAX_CHILDREN) throw new UsageError(`--count is at most ${MAX_CHILDREN}, not ${count}`);
  if (names && names.length !== count) {
    throw new UsageError(`--name has ${names.length} names for ${count} children: give one for each`);
  }
  return names ?? Array.from({ length: count }, () => '');
}
