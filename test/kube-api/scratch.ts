import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'kube-api-';
const IN_MEMORY = '/dev/shm';
const ENOUGH_BYTES = 1_000_000_000;

/**
 * A new folder for the pods. In memory where programs may be run from there: a container's root is some thirty small
 * files, which costs more than its processes on a disk.
 */
export function makeScratch(): string {
  const parent = memoryWillDo() ? IN_MEMORY : tmpdir();
  removeLeftovers(parent);
  return mkdtempSync(join(parent, `${PREFIX}${process.pid}-`));
}

/** A server that was killed could not tidy up. Its processes went with it; its folder may be memory. */
function removeLeftovers(parent: string): void {
  for (const name of readdirSync(parent)) {
    const pid = /^kube-api-(\d+)-\w+$/.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    rmSync(join(parent, name), { recursive: true, force: true });
  }
}

function memoryWillDo(): boolean {
  try {
    const mounts = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' '));
    const options = mounts.findLast(([, at, type]) => at === IN_MEMORY && type === 'tmpfs')?.[3]?.split(',');
    if (!options || options.includes('noexec')) return false;
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize > ENOUGH_BYTES;
  } catch {
    return false;
  }
}
