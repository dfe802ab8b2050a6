// Ends a session's leader and everything that it started: TERM, then KILL to what is left.
// Usage: end-tree.mjs PID BIRTH GRACE_MS     exit 1: something could not be ended
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

const [leader, birth, grace] = [Number(process.argv[2]), process.argv[3], Number(process.argv[4])];
const KILL_WAIT_MS = 3_000;
const POLL_MS = 20;
const hasProc = existsSync('/proc/self/stat');

function fromProc() {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const text = readFileSync(`/proc/${entry}/stat`, 'latin1');
      const rest = text.slice(text.lastIndexOf(')') + 2).split(' ');
      const [ppid, pgid, sid] = [Number(rest[1]), Number(rest[2]), Number(rest[3])];
      return [{ pid: Number(entry), ppid, pgid, sid, state: rest[0], birth: rest[19] }];
    } catch {
      return []; // it ended between the listing and the read
    }
  });
}

function fromPs() {
  const output = execFileSync('ps', ['-axo', 'pid=,ppid=,pgid=,sess=,state=,lstart='], { encoding: 'utf8' });
  return output.split('\n').flatMap((line) => {
    const found = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s+(.+)$/.exec(line);
    if (!found) return [];
    const [pid, ppid, pgid] = found.slice(1, 4).map(Number);
    return [{ pid, ppid, pgid, sid: Number(found[4]), state: found[5], birth: found[6].trim() }];
  });
}

const table = () => (hasProc ? fromProc() : fromPs()).filter((entry) => !/^[ZX]/.test(entry.state));

/** Members by pid, with the birth that each had when it was found. */
const members = new Map();

function living() {
  const all = table();
  const first = all.find((entry) => entry.pid === leader && entry.birth === birth);
  if (first) members.set(leader, birth);
  const isMember = (entry) => members.get(entry.pid) === entry.birth;
  for (let grew = true; grew; ) {
    grew = false;
    for (const entry of all) {
      if (entry.pid <= 1 || isMember(entry) || entry.pid === process.pid) continue;
      const parent = all.find((other) => other.pid === entry.ppid);
      const byDescent = parent !== undefined && isMember(parent);
      // The leader leads the session of its terminal; whoever is in it came from it.
      const bySession = members.has(leader) && (entry.sid === leader || entry.pgid === leader);
      if (!byDescent && !bySession) continue;
      members.set(entry.pid, entry.birth);
      grew = true;
    }
  }
  return all.filter(isMember);
}

function signal(entries, name) {
  for (const { pid } of entries) {
    try {
      process.kill(pid, name);
    } catch {
      // it ended in between
    }
  }
}

const started = performance.now();
const termed = new Set();
for (;;) {
  const left = living();
  if (left.length === 0) break;
  const waited = performance.now() - started;
  if (waited >= grace) signal(left, 'SIGKILL');
  else {
    const fresh = left.filter((entry) => !termed.has(entry.pid));
    signal(fresh, 'SIGTERM');
    // A stopped process takes TERM only when it goes on; a shell at its prompt takes HUP where it ignores TERM.
    signal(fresh, 'SIGCONT');
    signal(fresh, 'SIGHUP');
    for (const { pid } of fresh) termed.add(pid);
  }
  if (waited >= grace + KILL_WAIT_MS) {
    console.error(`processes that could not be ended: ${left.map((entry) => entry.pid).join(' ')}`);
    process.exit(1);
  }
  await new Promise((resolve) => setTimeout(resolve, POLL_MS));
}
