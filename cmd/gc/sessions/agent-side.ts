import { GcError } from '../../../internal/platform/errors.ts';
import type { Environment } from '../../../internal/platform/paths.ts';
import { readProcess } from '../../../internal/platform/process-table.ts';
import { startedWith } from '../../../internal/runtime/host/process-evidence.ts';

/** What a program has that was started for a session: one of a city, or one that runs a turn. */
const MARKS = ['GC_SESSION_ID', 'GC_SESSION_UID', 'GC_INSTANCE_TOKEN'];
/** More ancestors than any real command has. */
const MOST_ANCESTORS = 64;

/**
 * An agent cannot answer its own question: neither with its environment nor, where it can be seen, after having cleared it.
 * The account is the same, so this keeps honest programs honest and nobody out.
 * @throws GcError `answered-by-agent`
 */
export function refuseAgents(env: Environment, pid: number, what: string): void {
  const mark = MARKS.find((name) => env[name]) ?? markOfAncestor(pid);
  if (mark === undefined) return;
  throw new GcError(
    'answered-by-agent',
    `${what} is for a person: an agent cannot answer its own question, and this runs inside a session (${mark} is set)`,
    { next: 'let a person run it, in a terminal of their own' },
  );
}

function markOfAncestor(pid: number): string | undefined {
  let next = readProcess(pid)?.ppid;
  for (let steps = 0; next !== undefined && next > 1 && steps < MOST_ANCESTORS; steps += 1) {
    const ancestor = next;
    const mark = MARKS.find((name) => startedWith(ancestor, name));
    if (mark !== undefined) return mark;
    next = readProcess(ancestor)?.ppid;
  }
  return undefined;
}
