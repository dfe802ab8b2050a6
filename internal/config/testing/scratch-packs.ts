import { basename } from 'node:path';
import type { City, ConfigProblem } from '../city.ts';
import { shownPosition } from '../document/source-document.ts';
import { type LoadResult, loadCity } from '../load-city.ts';
import { scratch } from './scratch-city.ts';

export type Files = Readonly<Record<string, string>>;

/** The files of a pack called after its folder, with the agents of these names; each has a command of its own. */
export function pack(dir: string, manifest = '', agents: readonly string[] = []): Files {
  const files: Record<string, string> = {
    [`${dir}/pack.toml`]: `[pack]\nname = "${basename(dir)}"\nschema = 2\n${manifest}`,
  };
  for (const agent of agents) files[`${dir}/agents/${agent}/agent.toml`] = 'start_command = "s"\n';
  return files;
}

export const imports = (binding: string, source: string, more = ''): string =>
  `[imports.${binding}]\nsource = "${source}"\n${more}`;

/** Loads a city file in TOML with more files beside it. */
export async function loadToml(
  city: string,
  files: Files = {},
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly dir: string; readonly result: LoadResult }> {
  const dir = scratch({ 'city.toml': city, ...files });
  return { dir, result: await loadCity(dir, { env: { HOME: '/nonexistent', ...env } }) };
}

export async function cityOf(
  city: string,
  files: Files = {},
  env: Readonly<Record<string, string>> = {},
): Promise<City> {
  const { result } = await loadToml(city, files, env);
  if (result.kind === 'ok') return result.city;
  throw new Error(result.problems.map(({ message }) => message).join('\n'));
}

/** `file:line:column code: message` of each problem; the folder of the city is left out. */
export async function problemsOf(city: string, files: Files = {}): Promise<readonly string[]> {
  const { dir, result } = await loadToml(city, files);
  return shown(result.kind === 'ok' ? result.city.warnings : result.problems, dir);
}

export function shown(problems: readonly ConfigProblem[], dir: string): readonly string[] {
  return problems.map(({ code, message, position }) => {
    const place = position ? shownPosition(dir, position) : '';
    return `${place} ${code}: ${message}`.replaceAll(`${dir}/`, '').replaceAll(dir, '.');
  });
}

/** Qualified names of the agents that somebody wrote. */
export const agentNames = (city: City): readonly string[] =>
  city.agents.filter(({ implicit }) => !implicit).map(({ qualifiedName }) => qualifiedName);

export const sessionNames = (city: City): readonly string[] =>
  city.namedSessions.map(({ identity, mode }) => `${identity} ${mode}`);

/** Paths without the city's folder. */
export const inCity = (city: City, paths: readonly string[]): readonly string[] =>
  paths.map((path) => path.replace(`${city.root}/`, ''));
