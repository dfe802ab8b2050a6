import { join } from 'node:path';
import { cityRuntimeDir, type Environment } from '../platform/paths.ts';
import { LEASE_VARIABLE } from '../runtime/k8s/lease/lease-variable.ts';
import type { Provider } from '../runtime/provider.ts';
import { type ExecProviderName, isExecName, type ProviderName, scriptOf } from '../runtime/registry.ts';
import type { TerminalBackend } from '../runtime/terminal/backend.ts';
import type { TerminalProviderOptions } from '../runtime/terminal/options.ts';
import { acpDir, needsRouter, withAcp } from './acp-sessions.ts';
import { type CityHolder, clusterCityId } from './cluster-city-id.ts';
import { lookPathIn } from './look-path.ts';
import type { MadeProvider, MakeProvider, ProviderFacts } from './provider-decision.ts';
import { remoteMatch } from './remote-match.ts';

export interface MakeProviderOptions {
  /** What runs the embedded session host: executable and arguments. */
  readonly hostCommand: readonly string[];
  /** The folder of the session scripts that come with the program; `''`: none. */
  readonly scriptsDir: string;
  /** A Node that scripts can run. */
  readonly node: string;
  /** What agents that are spoken to in a protocol are told that we are. */
  readonly version: string;
  /** What tells this machine from others. */
  readonly machine: () => string;
}

/** Makes the providers of this version. Each is loaded only when a city uses it. */
export function standardProviders(options: MakeProviderOptions): MakeProvider {
  return async (name, facts) => {
    const made = await makeNamed(name, facts, options);
    if (name === 'acp' || !needsRouter(facts)) return made;
    return withAcp(made, await makeAcp(facts, options), facts.clock);
  };
}

function makeNamed(
  name: ProviderName,
  facts: ProviderFacts,
  options: MakeProviderOptions,
): Promise<MadeProvider> {
  if (isExecName(name)) return makeExec(name, facts, options);
  switch (name) {
    case 'tmux':
      return makeTmux(facts);
    case 'subprocess':
      return makeSubprocess(facts, options);
    case 'acp':
      return makeAcp(facts, options);
    case 'k8s':
      return makeK8s(facts, options);
    case 'hybrid':
      return makeHybrid(facts, options);
    case 'fake':
    case 'fail':
      return makeDouble(name, facts);
  }
}

async function makeTmux(facts: ProviderFacts): Promise<MadeProvider> {
  const [{ TmuxBackend }, { chooseSocket }] = await Promise.all([
    import('../runtime/tmux/tmux-backend.ts'),
    import('../runtime/tmux/choose-socket.ts'),
  ]);
  const { cityId, env, role, clock, ids } = facts;
  const socketName = facts.tmuxSocket || (await chooseSocket(socketQuestion(facts))).socketName;
  // Connecting has its own small risk for the server (see docs/providers.md): one command asks plainly.
  const transport = role === 'controller' ? 'auto' : 'plain';
  const backend = new TmuxBackend({ socketName, cityId, transport, clock, env, ids });
  const provider = await terminalProvider(facts, backend);
  return {
    provider,
    tmuxSocket: socketName,
    detail: `tmux -L ${socketName} attach`,
    tidy: () => backend.shutdownIfEmpty(),
  };
}

function socketQuestion({ city, cityId, env }: ProviderFacts) {
  const configured = city.session.socket;
  return { cityName: city.workspace.name, cityId, env, ...(configured === '' ? {} : { configured }) };
}

async function makeSubprocess(facts: ProviderFacts, options: MakeProviderOptions): Promise<MadeProvider> {
  const backend = await hostBackend(facts, options, cityRuntimeDir(facts.env, facts.city.root));
  return {
    provider: await terminalProvider(facts, backend),
    detail: 'embedded terminals',
    tidy: () => backend.release(),
  };
}

async function makeAcp(facts: ProviderFacts, options: MakeProviderOptions): Promise<MadeProvider> {
  const { AcpProvider } = await import('../runtime/acp/acp-provider.ts');
  const { acp } = facts.city.session;
  const backend = await hostBackend(facts, options, acpDir(facts));
  const provider = new AcpProvider({
    ...(await terminalParts(facts)),
    backend,
    clientVersion: options.version,
    handshakeTimeoutMs: acp.handshakeTimeoutMs,
    nudgeBusyTimeoutMs: acp.nudgeBusyTimeoutMs,
  });
  return { provider, detail: 'Agent Client Protocol', tidy: () => backend.release() };
}

async function makeExec(
  name: ExecProviderName,
  facts: ProviderFacts,
  options: MakeProviderOptions,
): Promise<MadeProvider> {
  const [{ ExecProvider }, { findScript }] = await Promise.all([
    import('../runtime/exec/exec-provider.ts'),
    import('../runtime/exec/find-script.ts'),
  ]);
  const { city, env, clock, ids } = facts;
  const root = city.root;
  const script = findScript({
    script: scriptOf(name).trim(),
    root,
    path: env['PATH'] ?? '',
    shipped: options.scriptsDir,
  });
  const { runShell, lock } = await sharedParts(facts);
  const dir = join(cityRuntimeDir(env, root), 'exec');
  const provider = new ExecProvider({
    script,
    env,
    cwd: root,
    dir,
    node: options.node,
    clock,
    ids,
    runShell,
    lock,
  });
  return { provider, detail: `script ${script.file}` };
}

/** On this machine in tmux, or in embedded terminals where that is missing, and on Kubernetes. */
async function makeHybrid(facts: ProviderFacts, options: MakeProviderOptions): Promise<MadeProvider> {
  const { city, env, clock } = facts;
  const [{ HybridProvider }, local, remote] = await Promise.all([
    import('../runtime/hybrid/hybrid-provider.ts'),
    usesTmux(facts) ? makeTmux(facts) : makeSubprocess(facts, options),
    makeK8s(facts, options),
  ]);
  const match = remoteMatch(env, city);
  return {
    provider: new HybridProvider({
      local: local.provider,
      remote: remote.provider,
      remoteMatch: match,
      clock,
    }),
    ...(local.tmuxSocket === undefined ? {} : { tmuxSocket: local.tmuxSocket }),
    detail: match === '' ? 'all local: remote_match is not set' : `names with "${match}" on Kubernetes`,
    tidy: () => Promise.all([local.tidy?.(), remote.tidy?.()]),
  };
}

/** While sessions live, it stays what it was when they were started: the socket is on record, or that there is none. */
function usesTmux({ tmuxSocket, city, env }: ProviderFacts): boolean {
  if (tmuxSocket !== undefined) return tmuxSocket !== '';
  return lookPathIn(city.root, env)('tmux') !== undefined;
}

/** @throws GcError `k8s-settings` */
async function makeK8s(facts: ProviderFacts, options: MakeProviderOptions): Promise<MadeProvider> {
  const [{ K8sProvider }, { resolveK8sSettings }, { clusterTargetOf }] = await Promise.all([
    import('../runtime/k8s/k8s-provider.ts'),
    import('../runtime/k8s/k8s-settings.ts'),
    import('../runtime/k8s/api/cluster-target.ts'),
  ]);
  const { city, env, role, clock, ids, tenure } = facts;
  const settings = resolveK8sSettings(env, city.session.k8s);
  const host = {
    dir: join(cityRuntimeDir(env, city.root), 'k8s'),
    command: options.hostCommand,
    env: hostEnvironment(env),
  };
  const target = clusterTargetOf(env, settings.context);
  const provider = new K8sProvider(await terminalParts(facts), {
    settings,
    target,
    cityId: clusterCityId(city.root, await holderOf(env, options)),
    host,
    clock,
    ids,
    role,
    machineEnv: env,
    ...(tenure ? { tenure } : {}),
  });
  return { provider, detail: `namespace ${settings.namespace}`, tidy: () => provider.release() };
}

/** @throws GcError `k8s-settings` */
async function holderOf(env: Environment, { machine }: MakeProviderOptions): Promise<CityHolder> {
  const name = env[LEASE_VARIABLE] ?? '';
  if (name === '') return { kind: 'machine', identity: machine() };
  const { resolveK8sSettings } = await import('../runtime/k8s/k8s-settings.ts');
  // As where the lease is taken: the environment alone says in which namespace it is.
  return { kind: 'lease', namespace: resolveK8sSettings(env).namespace, name };
}

/** Sessions of each kind have a host of their own. */
async function hostBackend(facts: ProviderFacts, options: MakeProviderOptions, dir: string) {
  const { HostBackend } = await import('../runtime/subprocess/host-backend.ts');
  const { cityId, role, clock, ids } = facts;
  const { hostCommand } = options;
  return new HostBackend({ dir, cityId, hostCommand, env: hostEnvironment(facts.env), clock, ids, role });
}

async function terminalProvider(facts: ProviderFacts, backend: TerminalBackend): Promise<Provider> {
  const { TerminalProvider } = await import('../runtime/terminal/terminal-provider.ts');
  return new TerminalProvider({ ...(await terminalParts(facts)), backend });
}

async function terminalParts(facts: ProviderFacts): Promise<Omit<TerminalProviderOptions, 'backend'>> {
  const { runShell, lock, launcherDir } = await sharedParts(facts);
  return { clock: facts.clock, ids: facts.ids, launcherDir, hostEnv: facts.env, runShell, lock };
}

async function sharedParts(facts: ProviderFacts) {
  const [{ fileSessionLock }, { runShell }] = await Promise.all([
    import('../runtime/terminal/session-lock.ts'),
    import('../runtime/run-shell.ts'),
  ]);
  const runtime = join(facts.gcDir, 'runtime');
  return {
    runShell,
    lock: fileSessionLock(join(runtime, 'session-locks'), facts.clock),
    launcherDir: join(runtime, 'launch'),
  };
}

async function makeDouble(name: 'fake' | 'fail', facts: ProviderFacts): Promise<MadeProvider> {
  if (name === 'fail') return { provider: (await import('../runtime/fail.ts')).failProvider(facts.clock) };
  const { FakeProvider } = await import('../runtime/fake.ts');
  return { provider: new FakeProvider(facts.clock) };
}

/** Enough to run Node and to find the runtime directory. Agents get none of it. */
const HOST_VARIABLES = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'TZ',
  'TMPDIR',
  'XDG_RUNTIME_DIR',
  'GC_HOME',
];

function hostEnvironment(env: Environment): Readonly<Record<string, string>> {
  const kept = HOST_VARIABLES.map((name) => [name, env[name]] as const);
  return Object.fromEntries(
    kept.filter((entry): entry is readonly [string, string] => entry[1] !== undefined),
  );
}
