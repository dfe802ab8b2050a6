import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sendControl } from '../internal/controller/control-socket-client.ts';
import { sleepers } from '../test/support/cities.ts';
import { until, World } from '../test/support/program.ts';
import { bytesWritten, childrenOf, cpuSeconds, proportionalMemory } from './process-cost.ts';
import { mb, median, ms, type Row } from './row.ts';

const IDLE_SESSIONS = 50;
const IDLE_SECONDS = 20;
const IDLE_BAR_PERCENT = 1;
const TICKS = 20;
const FORTY = 40;
const READY_AFTER_S = 3;
const START_BAR_MS = 10_000;
const DEATHS = 10;
const DEATH_BAR_MS = 250;
const MEMORY_SESSIONS = 100;
const MEMORY_REST_MS = 15_000;
const MEMORY_BAR_BYTES = 80 * 1_048_576;
const PER_SESSION_BAR_BYTES = 0.2 * 1_048_576;

/** tmux processes that an unchanged tick spawns, whatever the number of sessions. */
export async function spawnRows(): Promise<readonly Row[]> {
  const world = new World('tmux');
  try {
    const log = join(world.root, 'tmux-calls');
    const real = execFileSync('sh', ['-c', 'command -v tmux'], { encoding: 'utf8' }).trim();
    const shim = join(world.root, 'shim');
    execFileSync('mkdir', ['-p', shim]);
    writeFileSync(join(shim, 'tmux'), `#!/bin/sh\necho x >> '${log}'\nexec '${real}' "$@"\n`);
    chmodSync(join(shim, 'tmux'), 0o755);
    const env = { PATH: `${shim}:${world.env['PATH']}` };
    const city = world.city('ticks', { 'city.yaml': sleepers(IDLE_SESSIONS) });
    await world.ok(['--city', city, 'start'], { env, timeoutMs: 180_000 });
    const calls = () => (existsSync(log) ? readFileSync(log, 'utf8').length / 2 : 0);
    await settled(calls);
    const before = calls();
    for (let tick = 0; tick < TICKS; tick += 1) {
      await sendControl(city, 'poke', { ...world.env, ...env });
      await delay(50);
    }
    const perTick = (calls() - before) / TICKS;
    return [
      {
        what: `processes spawned per unchanged tick, tmux, ${IDLE_SESSIONS} sessions`,
        bar: '0 with the control channel',
        measured: `${perTick} (${calls() - before} in ${TICKS} ticks)`,
        floor: `${before} calls to start the city`,
        met: perTick === 0,
      },
    ];
  } finally {
    await world.dispose();
  }
}

/** A city with nothing to do. */
export async function idleRows(
  provider: 'tmux' | 'subprocess',
  count = IDLE_SESSIONS,
): Promise<readonly Row[]> {
  const world = new World(provider);
  try {
    const city = world.city('idle', { 'city.yaml': sleepers(count) });
    await world.ok(['--city', city, 'start'], { timeoutMs: 180_000 });
    const pid = (await world.status(city)).controller.pid ?? 0;
    await settled(() => bytesWritten(pid));
    const [cpu, written] = [cpuSeconds(pid), bytesWritten(pid)];
    // The session host, or the control channel of tmux, lives as long as there are sessions: what counts is what is new.
    const known = new Set(childrenOf(pid));
    const spawned = new Set<number>();
    for (let second = 0; second < IDLE_SECONDS; second += 1) {
      await delay(1_000);
      for (const child of childrenOf(pid)) if (!known.has(child)) spawned.add(child);
    }
    const percent = ((cpuSeconds(pid) - cpu) / IDLE_SECONDS) * 100;
    const bytes = bytesWritten(pid) - written;
    return [
      {
        what: `idle city, ${count} sessions, ${provider}`,
        bar: `no child, < ${IDLE_BAR_PERCENT} % of a core, nothing written`,
        measured: `${spawned.size} children, ${percent.toFixed(2)} %, ${bytes} bytes`,
        floor: `${IDLE_SECONDS} s watched`,
        met: spawned.size === 0 && percent < IDLE_BAR_PERCENT && bytes === 0,
      },
    ];
  } finally {
    await world.dispose();
  }
}

/** Forty agents that each need three seconds until their prompt shows. */
export async function startRows(provider: 'tmux' | 'subprocess'): Promise<readonly Row[]> {
  const world = new World(provider);
  try {
    const names = Array.from({ length: FORTY }, (_, i) => `a${i + 1}`);
    const city = world.city('forty', {
      'city.yaml': [
        'workspace: { name: forty, provider: slow }',
        `providers: { slow: { command: "sh slow.sh", prompt_mode: none, ready_prompt_prefix: "READY> " } }`,
        'agents:',
        ...names.map((n) => `  - { name: ${n} }`),
        'named_sessions:',
        ...names.map((n) => `  - { template: ${n}, mode: always }`),
        '',
      ].join('\n'),
      'slow.sh': `sleep ${READY_AFTER_S}; printf 'READY> '; exec sleep 3600\n`,
    });
    const started = await world.gc(['--city', city, 'start'], { timeoutMs: 300_000 });
    if (started.code !== 0) throw new Error(started.stdout + started.stderr);
    const over = started.ms - READY_AFTER_S * 1_000;
    return [
      {
        what: `gc start of ${FORTY} agents, ${provider}`,
        bar: `own ready time + ${START_BAR_MS / 1_000} s`,
        measured: `+ ${(over / 1_000).toFixed(1)} s`,
        floor: `${READY_AFTER_S} s until one is ready`,
        met: over <= START_BAR_MS,
      },
    ];
  } finally {
    await world.dispose();
  }
}

/** From the signal that kills an agent to the event that says so. */
export async function deathRows(provider: 'tmux' | 'subprocess'): Promise<readonly Row[]> {
  const world = new World(provider);
  try {
    const city = world.city('deaths', { 'city.yaml': sleepers(DEATHS) });
    await world.ok(['--city', city, 'start'], { timeoutMs: 120_000 });
    const took: number[] = [];
    for (const session of (await world.status(city)).sessions) {
      const killed = Date.now();
      process.kill(session.pid ?? 0, 'SIGKILL');
      const at = await until('the event', async () => {
        const events = JSON.parse(
          await world.ok(['--city', city, 'events', '--json', '--type', 'session.crashed']),
        ) as {
          subject?: string;
          ts: string;
        }[];
        const found = events.find((e) => e.subject === session.display_name);
        return found ? Date.parse(found.ts) : undefined;
      });
      took.push(at - killed);
    }
    const worst = Math.max(...took);
    return [
      {
        what: `death of an agent seen and recorded, ${provider}`,
        bar: `${DEATH_BAR_MS} ms`,
        measured: `median ${ms(median(took))}, worst ${ms(worst)} of ${took.length}`,
        floor: provider === 'tmux' ? 'looked at every 200 ms' : 'told by the host',
        met: worst <= DEATH_BAR_MS,
      },
    ];
  } finally {
    await world.dispose();
  }
}

/** Memory of the process that runs the city. */
export async function memoryRows(): Promise<readonly Row[]> {
  const at = async (count: number): Promise<number> => {
    const world = new World('subprocess');
    try {
      const city = world.city('memory', { 'city.yaml': sleepers(count) });
      await world.ok(['--city', city, 'start'], { timeoutMs: 300_000 });
      const pid = (await world.status(city)).controller.pid ?? 0;
      await settled(() => bytesWritten(pid));
      // The garbage of the start is collected when the process rests.
      await delay(MEMORY_REST_MS);
      return proportionalMemory(pid);
    } finally {
      await world.dispose();
    }
  };
  const small = await at(10);
  const large = await at(MEMORY_SESSIONS);
  const perSession = (large - small) / (MEMORY_SESSIONS - 10);
  return [
    {
      what: `controller memory at ${MEMORY_SESSIONS} sessions`,
      bar: `${mb(MEMORY_BAR_BYTES)}, ${mb(PER_SESSION_BAR_BYTES)} per further session`,
      measured: `${mb(large)}, ${mb(perSession)} per session`,
      floor: `${mb(small)} at 10 sessions, both after ${MEMORY_REST_MS / 1_000} s of rest`,
      met: large <= MEMORY_BAR_BYTES && perSession <= PER_SESSION_BAR_BYTES,
    },
  ];
}

/** Waits until a counter stands still for two seconds. */
async function settled(read: () => number): Promise<void> {
  let [last, quiet] = [read(), 0];
  while (quiet < 4) {
    await delay(500);
    quiet = read() === last ? quiet + 1 : 0;
    last = read();
  }
}
