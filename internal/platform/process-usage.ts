import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Clock } from './clock.ts';
import { snapshotProcesses, treeOf } from './process-tree.ts';

/** What a process and everything that belongs to it use. */
export interface TreeUsage {
  /** Its own and its part of what it shares where the system tells that (PSS), else all it can touch (RSS). */
  readonly memoryBytes: number;
  /** Processor time of everything that lives, and of what it has already collected, milliseconds. */
  readonly cpuMs: number;
  /** Of one core, between two looks: 1 is a whole core. */
  readonly cpuShare: number;
  readonly processes: number;
}

export interface ProcessUsage {
  readonly memoryBytes: number;
  readonly cpuMs: number;
}

const HAS_PROC = process.platform === 'linux';
/** In /proc processor time is counted in hundredths, whatever the kernel's own clock. Source: proc(5), USER_HZ. */
const TICK_MS = 10;
const PS_TIMEOUT_MS = 5_000;
const KIB = 1_024;

/**
 * What the trees of the leaders use, by the leaders' pids: two looks, `overMs` apart, on the monotonic clock. A tree
 * that is gone by the second look is left out. Reading memory costs about a millisecond per process: not for every tick.
 */
export async function measureTrees(
  leaders: readonly number[],
  overMs: number,
  clock: Clock,
): Promise<ReadonlyMap<number, TreeUsage>> {
  if (leaders.length === 0) return new Map();
  const before = await look(leaders, readCpu);
  const began = clock.monotonic();
  await clock.sleep(overMs);
  const after = await look(leaders, readProcessUsage);
  return usageBetween(before, after, clock.monotonic() - began);
}

type Look<T> = ReadonlyMap<number, ReadonlyMap<number, T>>;

/** Usage by leader, from two looks `elapsedMs` apart. A process that was not there before has used all of its time between them. */
export function usageBetween(
  before: Look<{ readonly cpuMs: number }>,
  after: Look<ProcessUsage>,
  elapsedMs: number,
): ReadonlyMap<number, TreeUsage> {
  const measured = new Map<number, TreeUsage>();
  for (const [leader, members] of after) {
    if (members.size === 0) continue;
    const all = [...members.values()];
    const sum = (of: (each: ProcessUsage) => number) => all.reduce((total, each) => total + of(each), 0);
    const earlier = [...(before.get(leader)?.values() ?? [])];
    const cpuMs = sum((each) => each.cpuMs);
    const spent = before.has(leader) ? cpuMs - earlier.reduce((total, each) => total + each.cpuMs, 0) : 0;
    measured.set(leader, {
      memoryBytes: sum((each) => each.memoryBytes),
      cpuMs,
      // What ended in between takes its time with it.
      cpuShare: elapsedMs > 0 ? Math.max(0, spent) / elapsedMs : 0,
      processes: members.size,
    });
  }
  return measured;
}

async function look<T>(leaders: readonly number[], read: (pid: number) => T | undefined): Promise<Look<T>> {
  const table = snapshotProcesses();
  const fromPs = HAS_PROC ? undefined : await readAllFromPs();
  return new Map(
    leaders.map((leader) => {
      const members = treeOf(leader, table).filter((entry) => entry.state !== 'Z');
      const used = members.flatMap(({ pid }) => {
        // Both kinds of look are parts of one answer of `ps`.
        const usage = fromPs ? (fromPs.get(pid) as T | undefined) : read(pid);
        return usage === undefined ? [] : [[pid, usage] as const];
      });
      return [leader, new Map(used)] as const;
    }),
  );
}

/** One process now; `undefined` when it is gone or not ours to look at. Linux only. */
export function readProcessUsage(pid: number): ProcessUsage | undefined {
  const cpu = readCpu(pid);
  const memoryBytes = readMemory(pid);
  return cpu && memoryBytes !== undefined ? { ...cpu, memoryBytes } : undefined;
}

function readCpu(pid: number): { readonly cpuMs: number } | undefined {
  const text = readProc(pid, 'stat');
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  // utime, stime, and those of children that were waited for.
  const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index] ?? 0), 0);
  return { cpuMs: ticks * TICK_MS };
}

/** Shared pages are counted once over all who share them; without that right, as if they were its own. */
function readMemory(pid: number): number | undefined {
  const pss = kibOf(readProc(pid, 'smaps_rollup'), /^Pss:\s+(\d+) kB$/m);
  return pss ?? kibOf(readProc(pid, 'status'), /^VmRSS:\s+(\d+) kB$/m);
}

function kibOf(text: string | undefined, line: RegExp): number | undefined {
  const kib = line.exec(text ?? '')?.[1];
  return kib === undefined ? undefined : Number(kib) * KIB;
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return undefined; // it ended, or belongs to somebody else
  }
}

function readAllFromPs(): Promise<ReadonlyMap<number, ProcessUsage>> {
  return new Promise((resolve) => {
    execFile('ps', ['-axo', 'pid=,rss=,time='], { timeout: PS_TIMEOUT_MS }, (_error, stdout) =>
      resolve(parsePsUsage(stdout)),
    );
  });
}

/** `ps -o pid=,rss=,time=`: KiB, and `[[dd-]hh:]mm:ss[.cc]`. */
export function parsePsUsage(text: string): ReadonlyMap<number, ProcessUsage> {
  const rows = text.split('\n').flatMap((line) => {
    const [, pid, rss, days = '0', clock = ''] =
      /^\s*(\d+)\s+(\d+)\s+(?:(\d+)-)?([\d:.]+)\s*$/.exec(line) ?? [];
    if (pid === undefined) return [];
    const seconds = clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
    const cpuMs = Math.round((Number(days) * 86_400 + seconds) * 1_000);
    return [[Number(pid), { memoryBytes: Number(rss) * KIB, cpuMs }] as const];
  });
  return new Map(rows);
}
