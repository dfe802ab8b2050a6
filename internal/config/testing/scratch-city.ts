import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach } from 'vitest';
import type { City, ConfigProblem } from '../city.ts';
import { loadCity } from '../load-city.ts';

const made: string[] = [];

afterEach(() => {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
});

/** A private folder with these files in it; gone after the test. */
export function scratch(files: Readonly<Record<string, string | Uint8Array>>): string {
  const dir = mkdtempSync(join(tmpdir(), 'gc-config-'));
  made.push(dir);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), content);
  }
  return dir;
}

/** Loads a city that must be right. */
export async function loadOk(files: Readonly<Record<string, string | Uint8Array>>): Promise<City> {
  return loadOkAt(scratch(files));
}

export async function loadOkAt(dir: string): Promise<City> {
  const result = await loadCity(dir, { env: { HOME: '/home/me' } });
  if (result.kind === 'ok') return result.city;
  throw new Error(result.problems.map((problem) => problem.message).join('\n'));
}

/** Loads a city that must be wrong; paths in positions are relative to its folder. */
export async function loadBad(
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<readonly ConfigProblem[]> {
  const dir = scratch(files);
  const result = await loadCity(dir, { env: {} });
  if (result.kind === 'ok') throw new Error('the city loaded');
  return result.problems;
}

/** `line:column code message` of each problem: compact to compare. */
export function brief(problems: readonly ConfigProblem[]): readonly string[] {
  return problems.map(
    ({ position, code, message }) => `${position?.line}:${position?.column} ${code}: ${message}`,
  );
}
