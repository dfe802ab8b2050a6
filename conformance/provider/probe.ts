import { existsSync, readFileSync } from 'node:fs';

/** Whether a process of the suite's own agents still lives. A zombie, which only waits to be collected, does not. */
export function processLives(pid: number): boolean {
  const stat = `/proc/${pid}/stat`;
  if (existsSync('/proc/self/stat')) {
    if (!existsSync(stat)) return false;
    const text = readFileSync(stat, 'latin1');
    return !/^[ZX]/.test(text.slice(text.lastIndexOf(')') + 2));
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // no such process
  }
}
