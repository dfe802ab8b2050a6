import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Ability, ProviderSubject } from '../../../conformance/provider/case.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { FakeProvider } from '../../../internal/runtime/fake.ts';
import { canClose, type Provider } from '../../../internal/runtime/provider.ts';
import { runShell } from '../../../internal/runtime/run-shell.ts';
import { EMPTY_RUNTIME_CONFIG } from '../../../internal/runtime/runtime-config.ts';
import { HostBackend } from '../../../internal/runtime/subprocess/host-backend.ts';
import type { TerminalBackend } from '../../../internal/runtime/terminal/backend.ts';
import { fileSessionLock } from '../../../internal/runtime/terminal/session-lock.ts';
import { TerminalProvider } from '../../../internal/runtime/terminal/terminal-provider.ts';
import { TmuxBackend } from '../../../internal/runtime/tmux/tmux-backend.ts';
import { hostCommand } from '../city/own-programs.ts';
import type { Context } from '../context.ts';

export const CHECKED_PROVIDERS = ['tmux', 'subprocess', 'fake'] as const;
export type CheckedProvider = (typeof CHECKED_PROVIDERS)[number];

export interface OpenSubject {
  readonly subject: ProviderSubject;
  /** Ends every session of the subject and removes its folder. */
  close(): Promise<void>;
}

/** What an implementation here offers; cases that need more do not apply to it. */
const OFFERS: Readonly<Record<CheckedProvider, readonly Ability[]>> = {
  tmux: ['commands', 'terminal', 'observe', 'watch', 'idle', 'attach', 'env-as-meta', 'shared'],
  subprocess: [
    'commands',
    'terminal',
    'observe',
    'watch',
    'idle',
    'attach',
    'env-as-meta',
    'shared',
    'drains-output',
  ],
  fake: ['observe', 'env-as-meta'],
};

const CITY_ID = 'conformance';

/** An implementation in a scratch folder of its own: nothing of a real city is touched. */
export function openSubject(name: CheckedProvider, context: Context): OpenSubject {
  const scratch = mkdtempSync(join(tmpdir(), 'gc-conformance-'));
  const opened: Made[] = [];
  const open = () => {
    const made = makeProvider(name, context, scratch);
    opened.push(made);
    return made.provider;
  };
  const first = open();
  return {
    subject: {
      title: name,
      provider: first,
      offers: new Set(OFFERS[name]),
      scratch,
      config: () => ({ ...EMPTY_RUNTIME_CONFIG, command: 'sleep 300', env: pathOf(context) }),
      ...(name === 'fake' ? {} : { second: async () => open() }),
    },
    async close() {
      const names = await first.listRunning('');
      for (const session of names) await first.stop(session);
      for (const { provider, end } of opened) {
        await end();
        if (canClose(provider)) await provider.close();
      }
      rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

interface Made {
  readonly provider: Provider;
  /** Takes away what outlives the last session. */
  readonly end: () => Promise<unknown>;
}

function makeProvider(name: CheckedProvider, context: Context, scratch: string): Made {
  const nothing = async () => undefined;
  switch (name) {
    case 'fake':
      return { provider: new FakeProvider(context.clock), end: nothing };
    case 'subprocess':
      return { provider: terminalProvider(hostBackend(context, scratch), context, scratch), end: nothing };
    case 'tmux': {
      const backend = tmuxBackend(context, scratch);
      return {
        provider: terminalProvider(backend, context, scratch),
        end: () => backend.shutdownIfEmpty(),
      };
    }
  }
}

function terminalProvider(backend: TerminalBackend, context: Context, scratch: string): Provider {
  return new TerminalProvider({
    backend,
    clock: context.clock,
    ids: systemIds,
    launcherDir: join(scratch, 'launch'),
    hostEnv: { ...pathOf(context), HOME: scratch },
    runShell,
    lock: fileSessionLock(join(scratch, 'locks'), context.clock),
  });
}

/** On a server of its own, found by nobody else. */
function tmuxBackend(context: Context, scratch: string): TmuxBackend {
  const sockets = join(scratch, 'tmux');
  mkdirSync(sockets, { recursive: true, mode: 0o700 });
  return new TmuxBackend({
    socketName: CITY_ID,
    cityId: CITY_ID,
    transport: 'auto',
    clock: context.clock,
    env: { ...pathOf(context), HOME: scratch, TMUX_TMPDIR: sockets, LANG: 'C.UTF-8' },
  });
}

function hostBackend(context: Context, scratch: string): TerminalBackend {
  return new HostBackend({
    dir: join(scratch, 'host'),
    cityId: CITY_ID,
    hostCommand: hostCommand(context.self),
    env: { ...pathOf(context), HOME: scratch },
    clock: context.clock,
    ids: systemIds,
  });
}

function pathOf(context: Context): Readonly<Record<string, string>> {
  const path = context.env['PATH'];
  if (path === undefined) throw new GcError('no-path', 'PATH is not set: no agent could be started');
  return { PATH: path };
}
