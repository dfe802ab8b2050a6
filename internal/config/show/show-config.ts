import type { City } from '../city.ts';
import { isMap } from '../document/source-document.ts';
import { stringifyToml } from '../document/toml-document.ts';
import {
  AGENT_DEFAULT_VALUES,
  agentTable,
  namedSessionTable,
  providerTable,
  rigTable,
  sectionTables,
  serviceTable,
  type Table,
} from './config-document.ts';
import { nonZero, writtenAt } from './value-origins.ts';

/**
 * The configuration in force as TOML: what is written, what packs bring and what was found by convention, no defaults.
 * Each `[[agent]]` starts with its name, which scripts look for.
 */
export function showConfig(city: City): string {
  const { agents, named_sessions, services, ...rest } = configData(city);
  return stringifyToml(
    present({
      workspace: rest['workspace'],
      ...rest,
      agent: agents,
      named_session: named_sessions,
      service: services,
    }),
  );
}

/** The same as plain data, in the spelling of the YAML file. */
export function configData(city: City): Readonly<Record<string, unknown>> {
  const isWritten = (path: string) => writtenAt(city, path) !== undefined;
  const data: Record<string, unknown> = {};
  const implicit = new Set(city.agents.filter((agent) => agent.implicit).map((agent) => agent.qualifiedName));
  for (const [section, table] of Object.entries(sectionTables(city))) {
    const isAlwaysThere = (key: string) => section === 'workspace' && key === 'name';
    const shown = Object.entries(table).filter(
      ([key]) => isAlwaysThere(key) || isWritten(`${section}.${key}`),
    );
    const kept = shown.map(([key, value]) => [
      key,
      isMap(value) ? writtenOf(value, `${section}.${key}`, isWritten) : value,
    ]);
    if (kept.length > 0) data[section] = present(Object.fromEntries(kept));
  }
  const providers = Object.entries(city.providers).map(([name, spec]) => [
    name,
    present(providerTable(spec)),
  ]);
  if (providers.length > 0) data['providers'] = Object.fromEntries(providers);
  data['agents'] = city.agents.flatMap((agent, index) => {
    // Nobody wrote it: it would be there again by itself.
    if (agent.implicit) return [];
    const table = agentTable(agent, city.root);
    return [nonZero(table, AGENT_DEFAULT_VALUES, (key) => isWritten(`agents[${index}].${key}`))];
  });
  const isOfCity = city.namedSessions.map(
    ({ templateQualifiedName }) => !implicit.has(templateQualifiedName),
  );
  const list = (name: string, tables: readonly Table[], isShown: readonly boolean[] = []) => {
    const items = tables.flatMap((table, index) =>
      isShown[index] === false ? [] : [nonZero(table, {}, (key) => isWritten(`${name}[${index}].${key}`))],
    );
    if (items.length > 0) data[name] = items;
  };
  list('named_sessions', city.namedSessions.map(namedSessionTable), isOfCity);
  list('rigs', city.rigs.map(rigTable));
  list('services', city.services.map(serviceTable));
  return data;
}

function writtenOf(table: Table, path: string, isWritten: (path: string) => boolean): Table {
  return Object.fromEntries(Object.entries(table).filter(([key]) => isWritten(`${path}.${key}`)));
}

function present(table: Table): Record<string, unknown> {
  return Object.fromEntries(Object.entries(table).filter(([, value]) => value !== undefined));
}
