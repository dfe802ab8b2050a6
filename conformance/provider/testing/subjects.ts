import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JudgedKind, offersOf } from '../../../cmd/gc/conformance/declared.ts';
import { systemClock } from '../../../internal/platform/clock.ts';
import { FakeProvider } from '../../../internal/runtime/fake.ts';
import type { Provider } from '../../../internal/runtime/provider.ts';
import { EMPTY_RUNTIME_CONFIG } from '../../../internal/runtime/runtime-config.ts';
import type { TerminalBackend } from '../../../internal/runtime/terminal/backend.ts';
import { TerminalProvider } from '../../../internal/runtime/terminal/terminal-provider.ts';
import { TmuxBackend } from '../../../internal/runtime/tmux/tmux-backend.ts';
import type { ProviderSubject } from '../case.ts';
import { providerParts, sourceHost } from './host-parts.ts';

export interface OpenSubject {
  readonly subject: ProviderSubject;
  close(): Promise<void>;
}

/** The in-memory double: everything but real processes. */
export function fakeSubject(): OpenSubject {
  const scratch = mkdtempSync(join(tmpdir(), 'gc-conf-'));
  const provider = new FakeProvider(systemClock);
  return {
    subject: {
      title: 'fake',
      provider,
      offers: offersOf('fake'),
      scratch,
      config: () => EMPTY_RUNTIME_CONFIG,
    },
    close: async () => {
      await provider.close();
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}

/** tmux on a private server, over one transport. */
export function tmuxSubject(transport: 'control' | 'plain'): OpenSubject {
  const scratch = mkdtempSync(join(tmpdir(), 'gc-conf-'));
  const env = {
    PATH: process.env['PATH'],
    HOME: scratch,
    TMUX_TMPDIR: join(scratch, 'tmux'),
    LANG: 'C.UTF-8',
  };
  mkdirSync(env.TMUX_TMPDIR, { mode: 0o700 });
  // The first is what a controller uses; another process, one command, always asks plainly.
  let opened = 0;
  const open = () => {
    opened += 1;
    const own = opened === 1 ? transport : 'plain';
    return new TmuxBackend({
      socketName: 'gc-conf',
      cityId: 'conformance',
      transport: own,
      clock: systemClock,
      env,
    });
  };
  const end = () => {
    try {
      execFileSync('tmux', ['-L', 'gc-conf', 'kill-server'], { env: { ...env }, stdio: 'ignore' });
    } catch {
      // no server is left: the usual case
    }
  };
  return terminalSubject('tmux', `tmux, ${transport}`, scratch, open, end);
}

/** The embedded session host, run from its source. */
export function subprocessSubject(): OpenSubject {
  const scratch = mkdtempSync(join(tmpdir(), 'gc-conf-'));
  return terminalSubject(
    'subprocess',
    'subprocess',
    scratch,
    () => sourceHost(scratch),
    () => undefined,
  );
}

function terminalSubject(
  kind: JudgedKind,
  title: string,
  scratch: string,
  open: () => TerminalBackend,
  end: () => void,
): OpenSubject {
  const opened: TerminalProvider[] = [];
  const provider = (): TerminalProvider => {
    const made = new TerminalProvider({ ...providerParts(scratch), backend: open() });
    opened.push(made);
    return made;
  };
  const first = provider();
  return {
    subject: {
      title,
      provider: first,
      offers: offersOf(kind),
      scratch,
      config: () => ({
        ...EMPTY_RUNTIME_CONFIG,
        command: 'sleep 300',
        env: { PATH: process.env['PATH'] ?? '' },
      }),
      second: async (): Promise<Provider> => provider(),
    },
    close: async () => {
      for (const name of await first.listRunning('')) await first.stop(name, { graceMs: 100 });
      for (const each of opened) await each.close();
      end();
      rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}
