import { join } from 'node:path';
import { cityRuntimeDir, type Environment } from '../platform/paths.ts';
import type { Provider } from '../runtime/provider.ts';
import type { ProviderName } from '../runtime/registry.ts';
import type { TerminalBackend } from '../runtime/terminal/backend.ts';
import type { MadeProvider, MakeProvider, ProviderFacts } from './provider-decision.ts';

export interface MakeProviderOptions {
  /** What runs the embedded session host: executable and arguments. */
  readonly hostCommand: readonly string[];
}

/** Makes the providers of this version. Each is loaded only when a city uses it. */
export function standardProviders(options: MakeProviderOptions): MakeProvider {
  return async (name, facts) => {
    switch (name) {
      case 'tmux':
        return makeTmux(facts);
      case 'subprocess':
        return makeSubprocess(facts, options.hostCommand);
      case 'fake':
      case 'fail':
        return makeDouble(name, facts);
    }
  };
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

async function makeSubprocess(facts: ProviderFacts, hostCommand: readonly string[]): Promise<MadeProvider> {
  const { HostBackend } = await import('../runtime/subprocess/host-backend.ts');
  const { city, cityId, env, role, clock, ids } = facts;
  const dir = cityRuntimeDir(env, city.root);
  const backend = new HostBackend({ dir, cityId, hostCommand, env: hostEnvironment(env), clock, ids, role });
  return {
    provider: await terminalProvider(facts, backend),
    detail: 'embedded terminals',
    tidy: () => backend.release(),
  };
}

async function terminalProvider(facts: ProviderFacts, backend: TerminalBackend): Promise<Provider> {
  const [{ TerminalProvider }, { fileSessionLock }, { runShell }] = await Promise.all([
    import('../runtime/terminal/terminal-provider.ts'),
    import('../runtime/terminal/session-lock.ts'),
    import('../runtime/run-shell.ts'),
  ]);
  const runtime = join(facts.gcDir, 'runtime');
  return new TerminalProvider({
    backend,
    clock: facts.clock,
    ids: facts.ids,
    launcherDir: join(runtime, 'launch'),
    hostEnv: facts.env,
    runShell,
    lock: fileSessionLock(join(runtime, 'session-locks'), facts.clock),
  });
}

async function makeDouble(
  name: Extract<ProviderName, 'fake' | 'fail'>,
  facts: ProviderFacts,
): Promise<MadeProvider> {
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
