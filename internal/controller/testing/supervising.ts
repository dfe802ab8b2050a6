import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Log } from '../../platform/log.ts';

/** A private folder with short socket paths, removed by `dispose`. */
export function scratch(): { readonly dir: string; dispose(): void } {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'gc-sup-')));
  return { dir, dispose: () => rmSync(dir, { recursive: true, force: true }) };
}

export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLog,
};

/** Waits until `found` answers something, at most `limitMs`. */
export async function eventually<T>(
  found: () => T | undefined | false | Promise<T | undefined | false>,
  limitMs = 10_000,
): Promise<T> {
  const started = performance.now();
  for (;;) {
    const value = await found();
    if (value !== undefined && value !== false) return value;
    if (performance.now() - started > limitMs) throw new Error(`not within ${limitMs} ms: ${found}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
