import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../internal/platform/clock.ts';
import { systemIds } from '../internal/platform/ids.ts';
import { readLockHolder } from '../internal/platform/lifetime-lock.ts';
import { AcpProvider } from '../internal/runtime/acp/acp-provider.ts';
import { hostLockFile } from '../internal/runtime/host/runtime-files.ts';
import { runShell } from '../internal/runtime/run-shell.ts';
import { EMPTY_RUNTIME_CONFIG } from '../internal/runtime/runtime-config.ts';
import { HostBackend } from '../internal/runtime/subprocess/host-backend.ts';
import { localSessionLock } from '../internal/runtime/terminal/session-lock.ts';
import { hostCommand } from './host-memory.ts';
import { cpuSeconds, proportionalMemory } from './process-cost.ts';
import { mb, type Row } from './row.ts';

/**
 * What idle agents of the Agent Client Protocol cost: the processor time of the session host that holds their
 * conversations, and of a controller that watches them and looks at all of them now and then.
 */
const AGENTS = 50;
const WATCHED_S = 20;
/** As often as a controller looks by itself. */
const LOOK_EVERY_MS = 10_000;
/** What starting leaves to do goes on for a while; at rest, a second passes with hardly any of it. */
const SETTLE_LOOK_MS = 1_000;
const SETTLE_LOOKS = 15;
const AT_REST_S = 0.01;
const BAR_PERCENT = 1;
const BAR_BYTES_PER_AGENT = 1_048_576;
const STARTS_AT_ONCE = 5;
const START_LIMIT_MS = 60_000;

/** An agent that weighs next to nothing itself: it opens a conversation and waits. */
const AGENT = `
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\\([0-9]*\\).*/\\1/p')
  case $line in
    *'"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{}}' ;;
    *'"session/new"'*) result='{"sessionId":"s"}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$result"
done
`;

export async function acpRows(): Promise<readonly Row[]> {
  const dir = mkdtempSync(join(tmpdir(), 'gc-acp-bench-'));
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin' };
  const clock = systemClock;
  const ids = systemIds;
  const backend = new HostBackend({ dir, cityId: 'bench', hostCommand: hostCommand(), env, clock, ids });
  const launcherDir = join(dir, 'launch');
  const lock = localSessionLock();
  const made = { backend, clock, ids, launcherDir, hostEnv: env, runShell, lock, clientVersion: 'bench' };
  const provider = new AcpProvider(made);
  const workDir = join(dir, 'work');
  mkdirSync(workDir);
  writeFileSync(join(workDir, 'agent.sh'), AGENT);
  const config = { ...EMPTY_RUNTIME_CONFIG, workDir, env, command: 'exec sh agent.sh' };
  const start = (name: string) =>
    provider.start(name, config, { signal: AbortSignal.timeout(START_LIMIT_MS) });
  try {
    await start('first');
    const host = Number(readLockHolder(hostLockFile(dir))?.['pid']);
    await atRest(host);
    const [alone, memoryAlone] = [await idlePercent(provider, host), proportionalMemory(host)];
    const names = Array.from({ length: AGENTS - 1 }, (_, i) => `idle-${i}`);
    for (let at = 0; at < names.length; at += STARTS_AT_ONCE) {
      await Promise.all(names.slice(at, at + STARTS_AT_ONCE).map(start));
    }
    await atRest(host);
    const [all, memory] = [await idlePercent(provider, host), proportionalMemory(host)];
    const each = (memory - memoryAlone) / (AGENTS - 1);
    return [
      {
        what: `${AGENTS} idle ACP agents, host and controller`,
        bar: `< ${BAR_PERCENT} % of a core`,
        measured: `${all.toFixed(2)} %`,
        floor: `${alone.toFixed(2)} % with one agent`,
        met: all < BAR_PERCENT,
      },
      {
        what: 'host memory (PSS) of an idle ACP agent',
        bar: mb(BAR_BYTES_PER_AGENT),
        measured: mb(each),
        floor: `${mb(memoryAlone)} with one agent`,
        met: each <= BAR_BYTES_PER_AGENT,
      },
    ];
  } finally {
    await Promise.all((await provider.listRunning('')).map((name) => provider.stop(name, { graceMs: 100 })));
    await provider.close();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** Of one core, the host and this process together. */
async function idlePercent(provider: AcpProvider, host: number): Promise<number> {
  const over = new AbortController();
  const watching = (async () => {
    for await (const _event of provider.watch(over.signal)); // as a controller follows them
  })();
  const [hostBefore, ownBefore] = [cpuSeconds(host), ownCpuSeconds()];
  for (let waited = 0; waited < WATCHED_S * 1_000; waited += LOOK_EVERY_MS) {
    await systemClock.sleep(LOOK_EVERY_MS);
    await provider.observe();
  }
  const used = cpuSeconds(host) - hostBefore + ownCpuSeconds() - ownBefore;
  over.abort();
  await watching;
  return (used / WATCHED_S) * 100;
}

async function atRest(host: number): Promise<void> {
  let before = Number.NEGATIVE_INFINITY;
  for (let looks = 0; looks < SETTLE_LOOKS; looks += 1) {
    const now = cpuSeconds(host) + ownCpuSeconds();
    if (now - before < AT_REST_S) return;
    before = now;
    await systemClock.sleep(SETTLE_LOOK_MS);
  }
}

function ownCpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000;
}
