import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../platform/clock.ts';
import { seededIds } from '../../../platform/ids.ts';
import { runShell } from '../../run-shell.ts';
import { localSessionLock } from '../../terminal/session-lock.ts';
import { ExecProvider, type ExecProviderOptions } from '../exec-provider.ts';
import type { ScriptCommand } from '../find-script.ts';

/** Session scripts in a private folder, and what was asked of them. */
export interface ScriptBench {
  readonly dir: string;
  /** Writes an executable script; without a first line it is one of sh, and logs each call. */
  script(text: string, mode?: number): ScriptCommand;
  provider(script: ScriptCommand, options?: Partial<ExecProviderOptions>): ExecProvider;
  /** `op name args...` of every call so far, oldest first. */
  calls(): readonly string[];
  close(): void;
}

let counter = 0;

export function scriptBench(): ScriptBench {
  const dir = mkdtempSync(join(tmpdir(), 'gc-exec-'));
  const log = join(dir, 'calls');
  return {
    dir,
    script(text, mode = 0o755) {
      counter += 1;
      const file = join(dir, `script-${counter}`);
      const head = text.startsWith('#!') ? '' : `#!/bin/sh\nd='${dir}'\nprintf '%s\\n' "$*" >>"$d/calls"\n`;
      writeFileSync(file, `${head}${text}\n`);
      chmodSync(file, mode);
      return { shown: `./script-${counter}`, file };
    },
    provider(script, options = {}) {
      mkdirSync(join(dir, 'own'), { recursive: true });
      return new ExecProvider({
        script,
        env: { PATH: process.env['PATH'], HOME: dir },
        cwd: dir,
        dir: join(dir, 'own'),
        node: process.execPath,
        clock: systemClock,
        ids: seededIds('exec'),
        runShell,
        lock: localSessionLock(),
        ...options,
      });
    },
    calls() {
      try {
        return readFileSync(log, 'utf8').split('\n').slice(0, -1);
      } catch {
        return []; // nothing was called yet
      }
    },
    close: () => rmSync(dir, { recursive: true, force: true }),
  };
}

/** The case arms of a script that keeps `<name>.running` and metadata in files. Source: Gas City's exec test double. */
export const FILE_BACKED = `
case $1 in
start) [ ! -e "$d/$2.running" ] || { echo "session \\"$2\\" Already Exists" >&2; exit 1; }
  cat >"$d/$2.json"; : >"$d/$2.running" ;;
stop) rm -f "$d/$2.running" "$d/$2".meta.* ;;
is-running) if [ -e "$d/$2.running" ]; then echo true; else echo false; fi ;;
list-running) for f in "$d/$2"*.running; do [ ! -e "$f" ] || basename "$f" .running; done ;;
set-meta) cat >"$d/$2.meta.$3" ;;
get-meta) [ ! -e "$d/$2.meta.$3" ] || cat "$d/$2.meta.$3" ;;
remove-meta) rm -f "$d/$2.meta.$3" ;;
interrupt|send-keys|clear-scrollback|copy-to) ;;
nudge) cat >>"$d/$2.nudges" ;;
get-last-activity) echo 2026-01-02T03:04:05Z ;;
process-alive) grep -qx agent && [ -e "$d/$2.running" ] && echo true || echo false ;;
*) exit 2 ;;
esac`;
