import { createHash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ensurePrivateDir, writeFileAtomicSync } from '../../../platform/atomic-file.ts';
import type { Clock } from '../../../platform/clock.ts';
import { codeOf } from '../../../platform/errors.ts';
import {
  bootId,
  identityOf,
  type ProcessIdentity,
  parseProcessIdentity,
} from '../../../platform/process-identity.ts';
import { type ProcessEntry, readProcess, readProcesses } from '../../../platform/process-table.ts';
import { killTree } from '../../../platform/process-tree.ts';
import { startedWith } from '../../../runtime/host/process-evidence.ts';

/** The variable whose value proves that a process belongs to one run of one turn. */
export const TURN_TOKEN = 'GC_TURN_TOKEN';
/** Between TERM and KILL. */
export const END_GRACE_MS = 2_000;
const OWNER_ONLY = 0o600;

/** A program that runs, or is about to run, a turn. */
export interface RunningTurn {
  readonly token: string;
  /** Absent: it was about to be started. */
  readonly leader: ProcessIdentity | undefined;
}

/** One small owner-only file per session whose program runs, so that the death of its host leaves nothing unknown behind. */
export class TurnLedger {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Written before the program runs. */
  intend(session: string, token: string): void {
    this.#write(session, { bootId: bootId(), token });
  }

  started(session: string, token: string, leader: ProcessIdentity): void {
    this.#write(session, { bootId: leader.bootId, token, leader });
  }

  /** Only what is of that run: somebody else may have taken the session over and run its own. */
  remove(session: string, token: string): void {
    if (this.find(session)?.token === token) rmSync(this.#file(session), { force: true });
  }

  /** `undefined` when no program of the session can live any more, or nothing can be proven of it. */
  find(session: string): RunningTurn | undefined {
    let value: unknown;
    try {
      value = JSON.parse(readFileSync(this.#file(session), 'utf8'));
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return undefined;
      throw error;
    }
    if (typeof value !== 'object' || value === null) return undefined;
    const { bootId: boot, token, leader } = value as Record<string, unknown>;
    if (boot !== bootId() || typeof token !== 'string' || token === '') return undefined;
    return { token, leader: parseProcessIdentity(leader) };
  }

  #write(session: string, entry: object): void {
    ensurePrivateDir(this.#dir);
    writeFileAtomicSync(this.#file(session), `${JSON.stringify(entry)}\n`, OWNER_ONLY);
  }

  /** Ids come from clients: they name no path. */
  #file(session: string): string {
    const name = createHash('sha256').update(session).digest('hex').slice(0, 32);
    return join(this.#dir, `${name}.json`);
  }
}

/**
 * Ends a turn's program and everything that it started: TERM, then KILL after the grace. Nothing is signalled but the
 * process that was recorded, what descends from it, and what carries the run's token. Answers what could not be ended.
 */
export async function endTurn({ token, leader }: RunningTurn, clock: Clock): Promise<readonly number[]> {
  // Tools run in sessions of their own and lose their parent when it is killed: the token still tells them.
  const marked = readProcesses().filter((entry) => startedWith(entry.pid, TURN_TOKEN) === token);
  const leaders = leader && isOurs(leader, token) ? [leader] : identitiesOf(marked);
  const ended = await Promise.all(
    leaders.map((process) => killTree(process, { graceMs: END_GRACE_MS, clock, known: marked })),
  );
  return [...new Set(ended.flatMap((result) => result.left))];
}

/** A token that cannot be read is no mismatch; another one is. */
function isOurs(leader: ProcessIdentity, token: string): boolean {
  if (leader.bootId !== bootId() || readProcess(leader.pid)?.startTime !== leader.startTime) return false;
  const carried = startedWith(leader.pid, TURN_TOKEN);
  return carried === undefined || carried === token;
}

function identitiesOf(entries: readonly ProcessEntry[]): readonly ProcessIdentity[] {
  return entries.flatMap((entry) => identityOf(entry.pid) ?? []);
}
