import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomicSync } from '../../platform/atomic-file.ts';
import type { Clock } from '../../platform/clock.ts';
import { codeOf } from '../../platform/errors.ts';
import { acquireLifetimeLock } from '../../platform/lifetime-lock.ts';
import { bootId, identityOf, isSameProcess, type ProcessIdentity } from '../../platform/process-identity.ts';
import type { ProcessEntry } from '../../platform/process-table.ts';
import { killTree, snapshotProcesses } from '../../platform/process-tree.ts';
import { INSTANCE_TOKEN, Ledger, type LedgerEntry, TERMINAL_OF } from './ledger.ts';
import { leadersStartedWith, numbersNotReused, startedWith } from './process-evidence.ts';
import { hostLockFile } from './runtime-files.ts';

/** Agents of a host that is gone get this long after TERM; most went with their terminals already. */
export const REAP_GRACE_MS = 2_000;
const OWNER_ONLY = 0o600;

export interface ReapReport {
  /** Sessions that the dead host had. */
  readonly names: readonly string[];
  /** Processes that could not be ended. */
  readonly left: readonly number[];
}

/**
 * Ends what a dead session host left behind, by its ledger. Answers `undefined`, and does nothing, when a host (or
 * somebody else who reaps) holds the host's lock.
 */
export async function reapLedger(runtimeDir: string, clock: Clock): Promise<ReapReport | undefined> {
  const lock = acquireLifetimeLock(hostLockFile(runtimeDir), { pid: process.pid, role: 'reaper' });
  if (!lock) return undefined;
  try {
    return await endRecorded(runtimeDir, clock);
  } finally {
    lock.release();
  }
}

/** The same, for a caller that holds the host's lock. What was lost is written down for the controller. */
export async function endRecorded(runtimeDir: string, clock: Clock): Promise<ReapReport> {
  const ledger = new Ledger(runtimeDir);
  const entries = ledger.entries();
  const left: number[] = [];
  const ended: string[] = [];
  await Promise.all(
    entries.map(async (entry) => {
      const survivors = await endEntry(entry, clock);
      left.push(...survivors);
      if (survivors.length === 0) ended.push(entry.name);
    }),
  );
  recordLoss(runtimeDir, ended);
  for (const name of ended) ledger.remove(name);
  return { names: entries.map((entry) => entry.name), left };
}

/** Adds to the sessions that went with a host and that no controller was told of yet. */
export function recordLoss(runtimeDir: string, names: readonly string[]): void {
  if (names.length === 0) return;
  const all = [...new Set([...peekLoss(runtimeDir), ...names])];
  writeFileAtomicSync(lossFile(runtimeDir), `${JSON.stringify({ names: all })}\n`, OWNER_ONLY);
}

/** Sessions that went with a host, told once: reading them forgets them. */
export function takeLoss(runtimeDir: string): readonly string[] {
  const names = peekLoss(runtimeDir);
  rmSync(lossFile(runtimeDir), { force: true });
  return names;
}

const lossFile = (runtimeDir: string): string => join(runtimeDir, 'lost.json');

function peekLoss(runtimeDir: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(readFileSync(lossFile(runtimeDir), 'utf8'));
    if (typeof value !== 'object' || value === null || !('names' in value)) return [];
    return Array.isArray(value.names) ? value.names.filter((name) => typeof name === 'string') : [];
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return [];
    throw error;
  }
}

async function endEntry(entry: LedgerEntry, clock: Clock): Promise<readonly number[]> {
  if (entry.bootId !== bootId()) return []; // another boot of the machine: nothing of it lives
  const own = entry.leader ? [entry.leader] : leadersWith(INSTANCE_TOKEN, entry);
  const leaders = [...own, ...leadersWith(TERMINAL_OF, entry)];
  const ended = await Promise.all(
    leaders.map((leader) =>
      killTree(leader, { graceMs: REAP_GRACE_MS, clock, known: orphansOf(leader, entry) }),
    ),
  );
  return ended.flatMap((result) => result.left);
}

/**
 * Told by the agent's token: its own process, when the host died between starting it and writing its number down, and
 * commands that the host ran for it.
 */
function leadersWith(variable: string, entry: LedgerEntry): readonly ProcessIdentity[] {
  if (entry.token === '') return [];
  return leadersStartedWith(variable, entry.token).flatMap((pid) => identityOf(pid) ?? []);
}

/**
 * What is left of a session whose leader is gone already. Its number still names that session when numbers cannot have
 * come round since, or when a member carries the agent's token.
 */
function orphansOf(leader: ProcessIdentity, entry: LedgerEntry): readonly ProcessEntry[] {
  if (isSameProcess(leader)) return [];
  const table = snapshotProcesses();
  if (table.entry(leader.pid) && table.entry(leader.pid)?.startTime !== leader.startTime) return [];
  const members = [...table.inSession(leader.pid), ...table.inGroup(leader.pid)];
  const carriesToken = (member: ProcessEntry) =>
    entry.token !== '' && startedWith(member.pid, INSTANCE_TOKEN) === entry.token;
  return numbersNotReused(entry.forks) || members.some(carriesToken) ? members : [];
}
