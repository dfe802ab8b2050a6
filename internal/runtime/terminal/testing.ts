import { systemClock } from '../../platform/clock.ts';
import { FakeClock } from '../../platform/fake-clock.ts';
import { seededIds } from '../../platform/ids.ts';
import type { StartOptions, StartProgress } from '../provider.ts';
import { EMPTY_RUNTIME_CONFIG, type RuntimeConfig } from '../runtime-config.ts';
import type { TerminalProviderOptions } from './options.ts';
import type { ScriptedAgentOptions } from './scripted-agent.ts';
import { ScriptedAgent } from './scripted-agent.ts';
import { ScriptedBackend, type ScriptedProgram, type ScriptedTerminal } from './scripted-backend.ts';
import { localSessionLock } from './session-lock.ts';
import { TerminalProvider } from './terminal-provider.ts';

export const TEST_SESSION = 'mayor';

/** A provider over scripted terminals on a fake clock. */
export interface TestBench {
  readonly clock: FakeClock;
  readonly backend: ScriptedBackend;
  readonly provider: TerminalProvider;
  readonly agent: ScriptedAgent;
  /** Set-up commands that were run. */
  readonly commands: string[];
  terminal(): ScriptedTerminal;
  /** Lets time pass until `work` is settled; fails when it never is. */
  run<T>(work: Promise<T>): Promise<T>;
}

export interface BenchOptions extends Partial<TerminalProviderOptions> {
  readonly agent?: ScriptedAgentOptions;
  /** Instead of the scripted agent. */
  readonly program?: ScriptedProgram;
}

const STEP_MS = 50;
/** Real time. */
const LIMIT_MS = 20_000;

export function testBench(options: BenchOptions = {}): TestBench {
  const clock = new FakeClock();
  const agent = new ScriptedAgent(options.agent);
  const backend = new ScriptedBackend(clock, () => options.program ?? agent);
  const commands: string[] = [];
  const provider = new TerminalProvider({
    backend,
    clock,
    ids: seededIds('bench'),
    launcherDir: '/nonexistent',
    hostEnv: { PATH: '/bin', GC_SESSION: 'tmux' },
    runShell: async (request) => {
      commands.push(request.command);
      return { kind: 'ok' };
    },
    lock: localSessionLock(),
    ...options,
  });
  return {
    clock,
    backend,
    provider,
    agent,
    commands,
    terminal() {
      const terminal = backend.terminals.get(TEST_SESSION);
      if (!terminal) throw new Error('no terminal');
      return terminal;
    },
    run: (work) => settleOn(clock, work),
  };
}

async function settleOn<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let settled = false;
  const watch = work.finally(() => {
    settled = true;
  });
  watch.catch(() => undefined); // the caller sees it through `work`
  const deadline = systemClock.monotonic() + LIMIT_MS;
  while (!settled) {
    if (systemClock.monotonic() > deadline) throw new Error('it never ends');
    await new Promise((resolve) => setImmediate(resolve));
    // With nobody asleep the work waits for the real disk: time stands still meanwhile.
    if (clock.pending === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    else if (!settled) await clock.advance(STEP_MS);
  }
  return await work;
}

/** A config for an agent like Claude Code. */
export function claudeConfig(over: Partial<RuntimeConfig> = {}): RuntimeConfig {
  return {
    ...EMPTY_RUNTIME_CONFIG,
    command: 'claude',
    providerName: 'claude',
    readyPromptPrefix: '❯ ',
    readyDelayMs: 10_000,
    processNames: ['node', 'claude'],
    emitsPermissionWarning: true,
    ...over,
  };
}

/** Start options with a log of the progress. */
export function startOptions(signal: AbortSignal = new AbortController().signal): StartOptions & {
  readonly progress: StartProgress[];
} {
  const progress: StartProgress[] = [];
  return { signal, progress, onProgress: (p) => progress.push(p) };
}
