import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../internal/platform/clock.ts';
import { systemIds } from '../internal/platform/ids.ts';
import { readLockHolder } from '../internal/platform/lifetime-lock.ts';
import { hostLockFile } from '../internal/runtime/host/runtime-files.ts';
import { HostBackend } from '../internal/runtime/subprocess/host-backend.ts';
import { nodeHostCommand } from '../internal/runtime/subprocess/host-launcher.ts';
import { proportionalMemory } from './process-cost.ts';
import { mb, type Row } from './row.ts';

/**
 * What the session host weighs: alone, with many sessions whose screens and memory scrollback are full, and while one
 * more agent floods its terminal. The floor is the same host without sessions.
 */
const BAR_BYTES_PER_SESSION = 1_048_576;
const SESSIONS = 50;
const COLUMNS = 120;
const ROWS = 40;
/** Fills the screen and everything kept in memory above it. */
const FILL = 'i=0; while [ $i -lt 400 ]; do printf "%0100d\\n" $i; i=$((i+1)); done; exec sleep 600';
const FLOOD = 'exec yes "the quick brown fox jumps over the lazy dog, again and again and again"';
const FLOOD_MS = 10_000;
const SETTLE_MS = 1_500;

interface HostMemory {
  readonly empty: number;
  readonly full: number;
  readonly flooded: number;
}

/** The rows of the cost table. */
export async function hostMemoryRows(sessions = SESSIONS): Promise<readonly Row[]> {
  const found = await measureHostMemory(sessions);
  const row = (what: string, total: number, count: number): Row => {
    const each = (total - found.empty) / count;
    return {
      what,
      bar: `${mb(BAR_BYTES_PER_SESSION)} a session`,
      measured: `${mb(each)} a session (${mb(total)} in all)`,
      floor: `${mb(found.empty)} with one idle session`,
      met: each <= BAR_BYTES_PER_SESSION,
    };
  };
  return [
    row(`host memory (PSS), ${sessions} full screens`, found.full, sessions),
    row(`the same while one more agent floods`, found.flooded, sessions + 1),
  ];
}

/** Starts a real host in a private folder, measures it from outside, and ends it. */
async function measureHostMemory(sessions: number): Promise<HostMemory> {
  const dir = mkdtempSync(join(tmpdir(), 'gc-hm-'));
  const path = { PATH: '/usr/local/bin:/usr/bin:/bin' };
  const backend = new HostBackend({
    dir,
    cityId: 'bench',
    hostCommand: hostCommand(),
    env: path,
    clock: systemClock,
    ids: systemIds,
  });
  const create = (name: string, script: string) =>
    backend.create(
      name,
      {
        argv: ['sh', '-c', script],
        cwd: dir,
        env: path,
        unsetEnv: [],
        pty: true,
        columns: COLUMNS,
        rows: ROWS,
      },
      new AbortController().signal,
    );
  try {
    await create('first', 'exec sleep 600');
    const pid = Number(readLockHolder(hostLockFile(dir))?.['pid']);
    await systemClock.sleep(SETTLE_MS);
    const empty = proportionalMemory(pid);
    for (let i = 0; i < sessions; i += 1) await create(`idle-${i}`, FILL);
    await systemClock.sleep(SETTLE_MS);
    const full = proportionalMemory(pid);
    await create('flood', FLOOD);
    await systemClock.sleep(FLOOD_MS);
    const flooded = proportionalMemory(pid);
    return { empty, full, flooded };
  } finally {
    const seen = await backend.inspectAll();
    const names = seen.kind === 'seen' ? [...seen.sessions.keys()] : [];
    await Promise.all(names.map((name) => backend.kill(name, 0)));
    await backend.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The built host when there is one: it is what people run. */
export function hostCommand(): readonly string[] {
  const built = fileURLToPath(new URL('../dist/host.js', import.meta.url));
  if (existsSync(built)) return nodeHostCommand(process.execPath, built);
  const source = fileURLToPath(new URL('../internal/runtime/host/main.ts', import.meta.url));
  const loader = createRequire(import.meta.url).resolve('tsx');
  return nodeHostCommand(process.execPath, source, '--import', loader);
}
