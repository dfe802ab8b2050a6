import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../internal/platform/clock.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { ExecProvider } from '../../../internal/runtime/exec/exec-provider.ts';
import { findScript } from '../../../internal/runtime/exec/find-script.ts';
import { runShell } from '../../../internal/runtime/run-shell.ts';
import { EMPTY_RUNTIME_CONFIG } from '../../../internal/runtime/runtime-config.ts';
import { fileSessionLock } from '../../../internal/runtime/terminal/session-lock.ts';
import type { Ability } from '../abilities.ts';
import { SHORT_WAITS } from './host-parts.ts';
import type { OpenSubject } from './subjects.ts';

const SCRIPTS = join(import.meta.dirname, '../../../session-scripts');

export interface ExecSubjectOptions {
  readonly offers: ReadonlySet<Ability>;
  /** Goes to the script over the machine's environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A session script with its sessions in a scratch folder of their own; `script` as it stands behind `exec:`. */
export function execSubject(script: string, options: ExecSubjectOptions): OpenSubject {
  const scratch = mkdtempSync(join(tmpdir(), 'gc-conf-'));
  const path = options.env?.['PATH'] ?? process.env['PATH'] ?? '';
  const found = findScript({ script, root: SCRIPTS, path, shipped: SCRIPTS });
  const open = () =>
    new ExecProvider({
      script: found,
      env: { PATH: path, HOME: scratch, TMPDIR: scratch, GC_CONFORMANCE_LEAK: 'yes', ...options.env },
      cwd: scratch,
      dir: join(scratch, 'exec'),
      node: process.execPath,
      clock: systemClock,
      ids: systemIds,
      runShell,
      lock: fileSessionLock(join(scratch, 'locks'), systemClock),
      timings: SHORT_WAITS,
    });
  const first = open();
  return {
    subject: {
      title: `exec:${script}`,
      provider: first,
      offers: options.offers,
      scratch,
      config: () => ({
        ...EMPTY_RUNTIME_CONFIG,
        command: 'sleep 300',
        env: { PATH: process.env['PATH'] ?? '' },
      }),
      second: async () => open(),
    },
    close: async () => {
      for (const name of await first.listRunning('')) await first.stop(name, { graceMs: 100 });
      await first.close();
      rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}
