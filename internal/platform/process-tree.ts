import { basename, extname } from 'node:path';
import type { Clock } from './clock.ts';
import { codeOf } from './errors.ts';
import { bootId, type ProcessIdentity } from './process-identity.ts';
import { type ProcessEntry, readArguments, readProcess, readProcesses } from './process-table.ts';

/** All processes at one moment, with the questions that ownership needs. */
export interface ProcessTable {
  entry(pid: number): ProcessEntry | undefined;
  /** Children, grandchildren ... deepest first. */
  descendants(pid: number): readonly ProcessEntry[];
  inSession(sid: number): readonly ProcessEntry[];
  inGroup(pgid: number): readonly ProcessEntry[];
}

/** Between looks at whether a signalled process is gone. */
const EXIT_POLL_MS = 25;
/** How long KILL may take to be seen before a process counts as left. */
const KILL_WAIT_MS = 2_000;
/** `node script.js` is known by its script. */
const SCRIPT_HOSTS = new Set(['node', 'bun', 'npx', 'deno']);
const HOST_VERBS = new Set(['run', 'exec', 'x']);

/** One look at all processes. */
export function snapshotProcesses(): ProcessTable {
  return tableOf(readProcesses());
}

let coming: Promise<ProcessTable> | undefined;

/** The same look for all who ask within one turn of the event loop; it is taken after the last of them has asked. */
export function sharedSnapshot(): Promise<ProcessTable> {
  coming ??= new Promise((resolve) => {
    setImmediate(() => {
      coming = undefined;
      resolve(snapshotProcesses());
    });
  });
  return coming;
}

/** A table over given entries, for tests and for one snapshot shared by many questions. */
export function tableOf(entries: readonly ProcessEntry[]): ProcessTable {
  const byPid = new Map(entries.map((e) => [e.pid, e]));
  const byParent = groupBy(entries, (e) => e.ppid);
  const bySession = groupBy(entries, (e) => e.sid);
  const byGroup = groupBy(entries, (e) => e.pgid);
  const walk = (
    pid: number,
    depth: number,
    into: { entry: ProcessEntry; depth: number }[],
    seen: Set<number>,
  ) => {
    for (const child of byParent.get(pid) ?? []) {
      if (seen.has(child.pid)) continue;
      seen.add(child.pid);
      into.push({ entry: child, depth });
      walk(child.pid, depth + 1, into, seen);
    }
  };
  return {
    entry: (pid) => byPid.get(pid),
    descendants: (pid) => {
      const found: { entry: ProcessEntry; depth: number }[] = [];
      walk(pid, 1, found, new Set([pid]));
      return found.sort((a, b) => b.depth - a.depth).map((f) => f.entry);
    },
    inSession: (sid) => bySession.get(sid) ?? [],
    inGroup: (pgid) => byGroup.get(pgid) ?? [],
  };
}

/**
 * The processes that belong to a leader: its descendants, and what is in the session or the group that it leads
 * (a reparented helper keeps those), deepest first, the leader last. The leader itself may be gone already.
 */
export function treeOf(leaderPid: number, table: ProcessTable): readonly ProcessEntry[] {
  const leader = table.entry(leaderPid);
  const found = new Map<number, ProcessEntry>();
  const add = (entry: ProcessEntry) => {
    if (entry.pid !== leaderPid && entry.pid > 1) found.set(entry.pid, entry);
  };
  table.descendants(leaderPid).forEach(add);
  const members = [...table.inSession(leaderPid), ...table.inGroup(leaderPid)];
  for (const member of members) {
    table.descendants(member.pid).forEach(add);
    add(member);
  }
  return leader ? [...found.values(), leader] : [...found.values()];
}

/** Every name that a process can be known by: command name, argv[0], and the script of a script host. */
export function namesOf(entries: readonly ProcessEntry[]): readonly string[] {
  const names = new Set<string>();
  for (const entry of entries) {
    if (entry.state === 'Z') continue;
    names.add(basename(entry.comm));
    const argv = readArguments(entry.pid);
    const program = basename(argv[0] ?? '');
    if (program) names.add(program);
    if (SCRIPT_HOSTS.has(program)) {
      const script = argv.slice(1).find((a) => !a.startsWith('-') && !HOST_VERBS.has(a));
      if (script) names.add(basename(script)).add(basename(script, extname(script)));
    }
  }
  return [...names];
}

export interface KillOptions {
  /** Between TERM and KILL. */
  readonly graceMs: number;
  readonly clock: Clock;
  /** Members found earlier, while the leader still lived; they are checked by start time before any signal. */
  readonly known?: readonly ProcessEntry[];
}

/**
 * Ends a leader and everything that is its own: TERM, then KILL after the grace. The tree is found again while it
 * dies, so that helpers started meanwhile go too. A process whose start time changed is never signalled.
 * Answers the pids that could not be ended.
 */
export async function killTree(
  leader: ProcessIdentity,
  options: KillOptions,
): Promise<{ left: readonly number[] }> {
  const members = new Map<number, ProcessEntry>((options.known ?? []).map((e) => [e.pid, e]));
  const termed = new Set<number>();
  const started = options.clock.monotonic();
  for (;;) {
    const alive = livingTree(leader, members);
    const elapsed = options.clock.monotonic() - started;
    if (alive.length === 0) return { left: [] };
    if (elapsed >= options.graceMs + KILL_WAIT_MS) return { left: alive.map((e) => e.pid) };
    if (elapsed >= options.graceMs) {
      for (const entry of alive) signalExactly(entry, 'SIGKILL');
    } else {
      for (const entry of alive) {
        if (termed.has(entry.pid)) continue;
        termed.add(entry.pid);
        signalExactly(entry, 'SIGTERM');
        // A stopped process takes TERM only when it goes on, and may have been stopped since it was looked at.
        signalExactly(entry, 'SIGCONT');
      }
    }
    await options.clock.sleep(EXIT_POLL_MS);
  }
}

/** Adds the tree's present members to `members` and answers those that still live. */
function livingTree(leader: ProcessIdentity, members: Map<number, ProcessEntry>): readonly ProcessEntry[] {
  const table = snapshotProcesses();
  const leaderNow = table.entry(leader.pid);
  const leaderIsOurs =
    leader.bootId === bootId() && (leaderNow === undefined || leaderNow.startTime === leader.startTime);
  if (leaderIsOurs && (leaderNow || members.size > 0)) {
    for (const entry of treeOf(leader.pid, table)) if (!members.has(entry.pid)) members.set(entry.pid, entry);
  }
  for (const known of [...members.values()]) {
    if (table.entry(known.pid)?.startTime !== known.startTime) continue;
    for (const entry of table.descendants(known.pid))
      if (!members.has(entry.pid)) members.set(entry.pid, entry);
  }
  return [...members.values()].filter((known) => {
    const now = table.entry(known.pid);
    return now !== undefined && now.startTime === known.startTime && now.state !== 'Z';
  });
}

/** Sends a signal after reading the start time once more. A process that is gone is fine. */
export function signalExactly(
  entry: { readonly pid: number; readonly startTime: string },
  signal: NodeJS.Signals,
): boolean {
  if (readProcess(entry.pid)?.startTime !== entry.startTime) return false;
  try {
    process.kill(entry.pid, signal);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false;
    throw error;
  }
}

function groupBy(
  entries: readonly ProcessEntry[],
  key: (e: ProcessEntry) => number,
): Map<number, ProcessEntry[]> {
  const groups = new Map<number, ProcessEntry[]>();
  for (const entry of entries) {
    const group = groups.get(key(entry));
    if (group) group.push(entry);
    else groups.set(key(entry), [entry]);
  }
  return groups;
}
