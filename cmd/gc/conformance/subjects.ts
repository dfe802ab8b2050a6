import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type Ability, ALL_ABILITIES } from '../../../conformance/provider/abilities.ts';
import { installAcpAgent } from '../../../conformance/provider/acp-agents.ts';
import type { ProviderSubject } from '../../../conformance/provider/case.ts';
import type { RunOptions } from '../../../conformance/provider/run.ts';
import { GcError, unreachable } from '../../../internal/platform/errors.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { parseFeatures } from '../../../internal/runtime/exec/features.ts';
import type { ScriptCalls } from '../../../internal/runtime/exec/script-calls.ts';
import { canClose, type Provider } from '../../../internal/runtime/provider.ts';
import { EMPTY_RUNTIME_CONFIG } from '../../../internal/runtime/runtime-config.ts';
import type { HostBackend } from '../../../internal/runtime/subprocess/host-backend.ts';
import type { TerminalProviderOptions } from '../../../internal/runtime/terminal/options.ts';
import { buildInfo } from '../build-info.ts';
import { hostCommand, providerPrograms } from '../city/own-programs.ts';
import type { Context } from '../context.ts';
import type { AskedProvider } from './asked-provider.ts';
import { LACKS, offersOf } from './declared.ts';
import { judgeScript, lacksOfScript } from './exec-checks.ts';
import { endOwnSessions } from './own-sessions.ts';

/** An implementation in a scratch folder of its own: nothing of a real city is touched. */
export interface CheckedSubject {
  readonly subject: ProviderSubject;
  /** Why it does not offer what it does not. */
  readonly lacks: Readonly<Partial<Record<Ability, string>>>;
  /** What becomes of a case that failed, where much is left to the implementation. */
  readonly judge?: (required: ReadonlySet<Ability>) => RunOptions['judge'];
  /** Ends every session of the subject and removes its folder. */
  close(): Promise<void>;
}

interface Made {
  readonly provider: Provider;
  /** The operations of its script. */
  readonly calls?: ScriptCalls;
  /** Takes away what outlives the last session. */
  readonly end?: () => Promise<unknown>;
}

const CITY_ID = 'conformance';
/** `features` prints words that the script knows by heart. */
const FEATURES_MS = 4_000;

/** @throws GcError when a program, a script or a cluster that the provider needs is not there */
export async function openSubject(asked: AskedProvider, context: Context): Promise<CheckedSubject> {
  const scratch = mkdtempSync(join(tmpdir(), 'gc-conformance-'));
  const opened: Made[] = [];
  const open = async () => {
    // The second is what a command beside a controller would have.
    const role = opened.length === 0 ? 'controller' : 'visitor';
    const made = await makeProvider(asked, context, scratch, role);
    opened.push(made);
    return made.provider;
  };
  let pods: Awaited<ReturnType<typeof agentsInPods>> | undefined;
  const end = async () => {
    await Promise.allSettled(opened.map(endProvider));
    pods?.close();
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  try {
    const first = await open();
    // What cannot even be looked at is said once, and not by every case. A script is judged by each of its answers.
    if (asked.kind !== 'exec') await first.listRunning('');
    if (asked.kind === 'k8s') pods = await agentsInPods(context);
    const subject: ProviderSubject = {
      title: asked.shown,
      provider: first,
      offers: offersOf(asked.kind),
      scratch,
      config: () => ({
        ...EMPTY_RUNTIME_CONFIG,
        command: 'sleep 300',
        env: asked.kind === 'k8s' ? {} : pathOf(context),
      }),
      ...(asked.kind === 'fake' ? {} : { second: open }),
      ...(asked.kind === 'acp' ? acpAgents(scratch) : {}),
      ...pods,
    };
    return {
      ...(asked.kind === 'exec'
        ? await lessOfScript(subject, opened)
        : { subject, lacks: LACKS[asked.kind] }),
      ...(asked.kind === 'exec' ? { judge: judgeScript } : {}),
      close: () => endOwnSessions(first, process.pid).finally(end),
    };
  } catch (error) {
    await end();
    throw error;
  }
}

async function endProvider({ provider, end }: Made): Promise<void> {
  await end?.();
  if (canClose(provider)) await provider.close();
}

async function agentsInPods(context: Context) {
  const { podAgents } = await import('./k8s-subject.ts');
  return podAgents(context.env, context.clock);
}

function acpAgents(scratch: string): Pick<ProviderSubject, 'agent' | 'config'> {
  const standIn = { ...EMPTY_RUNTIME_CONFIG, ...installAcpAgent({ kind: 'recorder' }, scratch) };
  return { agent: installAcpAgent, config: () => standIn };
}

async function makeProvider(
  asked: AskedProvider,
  context: Context,
  scratch: string,
  role: 'controller' | 'visitor',
): Promise<Made> {
  switch (asked.kind) {
    case 'fake': {
      const { FakeProvider } = await import('../../../internal/runtime/fake.ts');
      return { provider: new FakeProvider(context.clock) };
    }
    case 'subprocess':
      return terminals(await hostBackend('host', context, scratch), context, scratch);
    case 'acp': {
      const { AcpProvider } = await import('../../../internal/runtime/acp/acp-provider.ts');
      const backend = await hostBackend('acp', context, scratch);
      const options = await terminalOptions(context, scratch);
      return { provider: new AcpProvider({ ...options, backend, clientVersion: buildInfo.version }) };
    }
    case 'tmux': {
      const { TmuxBackend } = await import('../../../internal/runtime/tmux/tmux-backend.ts');
      const { tmuxVersion } = await import('../../../internal/runtime/tmux/version.ts');
      // A server of its own, found by nobody else.
      const sockets = join(scratch, 'tmux');
      mkdirSync(sockets, { recursive: true, mode: 0o700 });
      const env = { ...pathOf(context), HOME: scratch, TMUX_TMPDIR: sockets, LANG: 'C.UTF-8' };
      await tmuxVersion({ tmuxPath: 'tmux', env, onSpawn: () => undefined });
      const backend = new TmuxBackend({
        socketName: CITY_ID,
        cityId: CITY_ID,
        transport: 'auto',
        clock: context.clock,
        env,
      });
      return { ...(await terminals(backend, context, scratch)), end: () => backend.shutdownIfEmpty() };
    }
    case 'exec':
      return execProvider(asked.script, context, scratch);
    case 'k8s':
      return k8sProvider(context, scratch, role);
    default:
      return unreachable(asked);
  }
}

async function k8sProvider(context: Context, scratch: string, role: 'controller' | 'visitor'): Promise<Made> {
  const { clusterProvider } = await import('./k8s-subject.ts');
  const options = await terminalOptions(context, scratch);
  const { clock, ids } = options;
  const host = {
    dir: join(scratch, 'k8s'),
    command: hostCommand(context.self),
    env: { ...pathOf(context), HOME: scratch },
  };
  const own = { cityId: `${CITY_ID}-${basename(scratch)}`, host, clock, ids, role };
  const provider = clusterProvider(context.env, options, own);
  return { provider, end: () => provider.release() };
}

async function execProvider(script: string, context: Context, scratch: string): Promise<Made> {
  const [{ ExecProvider }, { findScript }, { ScriptCalls, DEFAULT_EXEC_TIMEOUTS }] = await Promise.all([
    import('../../../internal/runtime/exec/exec-provider.ts'),
    import('../../../internal/runtime/exec/find-script.ts'),
    import('../../../internal/runtime/exec/script-calls.ts'),
  ]);
  const { scriptsDir: shipped, node } = providerPrograms(context.self);
  const { PATH: path } = pathOf(context);
  const found = findScript({ script, root: context.cwd, path, shipped });
  const dir = join(scratch, 'exec');
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  // The script inherits what it would inherit from a controller, but for a state folder of its own.
  const env = { ...context.env, GC_EXEC_STATE_DIR: join(dir, 'state'), GC_NODE: node };
  const { clock, ids, runShell, lock } = await terminalOptions(context, scratch);
  const { cwd } = context;
  const calls = new ScriptCalls({ script: found, env: defined(env), cwd, timeouts: DEFAULT_EXEC_TIMEOUTS });
  const provider = new ExecProvider({ script: found, env, cwd, dir, node, clock, ids, runShell, lock });
  return { provider, calls };
}

async function lessOfScript(
  subject: ProviderSubject,
  [made]: readonly Made[],
): Promise<Pick<CheckedSubject, 'subject' | 'lacks'>> {
  const calls = made?.calls;
  if (!calls) throw new GcError('internal', 'no script to ask');
  const says = await calls.run(['features', ''], { timeoutMs: FEATURES_MS });
  // A file that cannot be run at all.
  if (says.kind === 'not-started') throw calls.failure(['features'], says);
  const knowsPaste = says.kind === 'ended' && says.code === 0 && parseFeatures(says.stdout).terminal;
  const lacks = await lacksOfScript(calls, subject, knowsPaste);
  return { lacks, subject: { ...subject, offers: new Set(ALL_ABILITIES.filter((each) => !lacks[each])) } };
}

const defined = (env: Context['env']): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );

async function terminals(
  backend: TerminalProviderOptions['backend'],
  context: Context,
  scratch: string,
): Promise<Made> {
  const { TerminalProvider } = await import('../../../internal/runtime/terminal/terminal-provider.ts');
  return { provider: new TerminalProvider({ ...(await terminalOptions(context, scratch)), backend }) };
}

async function terminalOptions(
  context: Context,
  scratch: string,
): Promise<Omit<TerminalProviderOptions, 'backend'>> {
  const { runShell } = await import('../../../internal/runtime/run-shell.ts');
  const { fileSessionLock } = await import('../../../internal/runtime/terminal/session-lock.ts');
  return {
    clock: context.clock,
    ids: systemIds,
    launcherDir: join(scratch, 'launch'),
    hostEnv: { ...pathOf(context), HOME: scratch },
    runShell,
    lock: fileSessionLock(join(scratch, 'locks'), context.clock),
  };
}

async function hostBackend(folder: string, context: Context, scratch: string): Promise<HostBackend> {
  const { HostBackend } = await import('../../../internal/runtime/subprocess/host-backend.ts');
  return new HostBackend({
    dir: join(scratch, folder),
    cityId: CITY_ID,
    hostCommand: hostCommand(context.self),
    env: { ...pathOf(context), HOME: scratch },
    clock: context.clock,
    ids: systemIds,
  });
}

function pathOf(context: Context): { readonly PATH: string } {
  const path = context.env['PATH'];
  if (path === undefined) throw new GcError('no-path', 'PATH is not set: no agent could be started');
  return { PATH: path };
}
