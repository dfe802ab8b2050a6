import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** One process as the operating system shows it at one moment. */
export interface ProcessEntry {
  readonly pid: number;
  readonly ppid: number;
  readonly pgid: number;
  readonly sid: number;
  /** One letter: `R`, `S`, `D`, `T`, `Z` ... */
  readonly state: string;
  /** Opaque, equal for the same life of a pid: clock ticks since boot on Linux, `ps lstart` elsewhere. */
  readonly startTime: string;
  /** Cut at 15 characters on Linux. */
  readonly comm: string;
}

const HAS_PROC = process.platform === 'linux';
const PS_TIMEOUT_MS = 5_000;
const PS_COLUMNS = 'pid=,ppid=,pgid=,sess=,state=,lstart=,comm=';

/** Every process, `undefined` for a process that is gone. One pass over `/proc`, or one `ps` where there is none. */
export function readProcesses(): readonly ProcessEntry[] {
  if (!HAS_PROC) return parsePs(ps(['-axo', PS_COLUMNS]));
  const entries: ProcessEntry[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const entry = readProcStat(Number(name));
    if (entry) entries.push(entry);
  }
  return entries;
}

/** One process, `undefined` when there is none by that number. */
export function readProcess(pid: number): ProcessEntry | undefined {
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  if (!HAS_PROC) return parsePs(ps(['-o', PS_COLUMNS, '-p', String(pid)]))[0];
  return readProcStat(pid);
}

/** The argument list, empty when it cannot be read. */
export function readArguments(pid: number): readonly string[] {
  try {
    if (!HAS_PROC)
      return ps(['-o', 'args=', '-p', String(pid)])
        .trim()
        .split(/\s+/);
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
  } catch {
    return []; // the process ended meanwhile, or belongs to somebody else
  }
}

/** Tells one boot of the machine from another. */
export function readBootId(): string {
  if (HAS_PROC) return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return execFileSync('sysctl', ['-n', 'kern.boottime'], { encoding: 'utf8', timeout: PS_TIMEOUT_MS }).trim();
}

function readProcStat(pid: number): ProcessEntry | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined; // it ended between the listing and the read
  }
  // The name may hold spaces and parentheses: fields are counted from the last one.
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  const rest = text.slice(close + 2).split(' ');
  return {
    pid,
    comm: text.slice(open + 1, close),
    state: rest[0] ?? '?',
    ppid: Number(rest[1]),
    pgid: Number(rest[2]),
    sid: Number(rest[3]),
    startTime: rest[19] ?? '',
  };
}

function ps(args: readonly string[]): string {
  try {
    return execFileSync('ps', [...args], { encoding: 'utf8', timeout: PS_TIMEOUT_MS });
  } catch {
    return ''; // ps exits 1 when no process matches
  }
}

function parsePs(text: string): readonly ProcessEntry[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s+(\S+\s+\S+\s+\d+\s+\S+\s+\d+)\s+(.*)$/.exec(
      line,
    );
    if (!match) return [];
    const pgid = Number(match[3]);
    const sess = Number(match[4]);
    return [
      {
        pid: Number(match[1]),
        ppid: Number(match[2]),
        pgid,
        sid: Number.isFinite(sess) && sess > 0 ? sess : pgid,
        state: (match[5] ?? '?').slice(0, 1),
        startTime: match[6] ?? '',
        comm: match[7] ?? '',
      },
    ];
  });
}
