import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { systemIds } from '../../../platform/ids.ts';
import type { Log } from '../../../platform/log.ts';
import { type CityServer, serveCity } from '../city-server.ts';
import type { CityDouble } from './city-double.ts';

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A log that keeps its lines. */
export function memoryLog(lines: LogLine[] = []): Log & { readonly lines: LogLine[] } {
  const at =
    (level: string) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}) =>
      lines.push({ level, message, fields });
  return {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => memoryLog(lines),
  };
}

/** A private folder, removed by `dispose`. */
export function scratch(): { readonly dir: string; dispose(): void } {
  const dir = mkdtempSync(join(tmpdir(), 'gc-api-'));
  return { dir, dispose: () => rmSync(dir, { recursive: true, force: true }) };
}

export function serve(
  api: CityDouble,
  socketPath: string,
  log: Log = memoryLog(),
  clock: Clock = systemClock,
): Promise<CityServer> {
  return serveCity({ api, socketPath, clock, ids: systemIds, log });
}

/** Waits until `found` answers something, at most `limitMs`. */
export async function eventually<T>(found: () => T | undefined | false, limitMs = 5_000): Promise<T> {
  const started = performance.now();
  for (;;) {
    const value = found();
    if (value !== undefined && value !== false) return value;
    if (performance.now() - started > limitMs) throw new Error(`not within ${limitMs} ms: ${found}`);
    await systemClock.sleep(5);
  }
}
