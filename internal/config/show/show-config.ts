import { GcError } from '../../platform/errors.ts';
import type { Agent, City, SourcePosition } from '../city.ts';
import { isMap, shownPath } from '../document/source-document.ts';
import { stringifyToml } from '../document/toml-document.ts';
import { stringifyYaml } from '../document/yaml-document.ts';
import {
  AGENT_DEFAULT_VALUES,
  agentTable,
  namedSessionTable,
  providerTable,
  rigTable,
  sectionTables,
  type Table,
} from './config-document.ts';

/** The configuration in force as TOML: what is written, what was found by convention, no defaults. */
export function showConfig(city: City): string {
  const { agents, named_sessions, ...rest } = configData(city);
  return stringifyToml(
    present({
      workspace: rest['workspace'],
      ...rest,
      agent: agents,
      named_session: named_sessions,
    }),
  );
}

/** The same as YAML. */
export function showConfigYaml(city: City): string {
  return stringifyYaml(configData(city));
}

/** The same as plain data, in the spelling of the YAML file. */
export function configData(city: City): Readonly<Record<string, unknown>> {
  const isWritten = (path: string) => city.provenance.positionOf(path) !== undefined;
  const data: Record<string, unknown> = {};
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
  data['agents'] = city.agents.map((agent, index) =>
    nonZero(agentTable(agent, city.root), AGENT_DEFAULT_VALUES, (key) =>
      isWritten(`agents[${index}].${key}`),
    ),
  );
  const list = (name: string, tables: readonly Table[]) => {
    const items = tables.map((table, index) =>
      nonZero(table, {}, (key) => isWritten(`${name}[${index}].${key}`)),
    );
    if (items.length > 0) data[name] = items;
  };
  list('named_sessions', city.namedSessions.map(namedSessionTable));
  list('rigs', city.rigs.map(rigTable));
  return data;
}

function writtenOf(table: Table, path: string, isWritten: (path: string) => boolean): Table {
  return Object.fromEntries(Object.entries(table).filter(([key]) => isWritten(`${path}.${key}`)));
}

function present(table: Table): Record<string, unknown> {
  return Object.fromEntries(Object.entries(table).filter(([, value]) => value !== undefined));
}

/** What says something: written, even if it is zero, or neither empty nor the default. */
function nonZero(
  table: Table,
  defaults: Table,
  isWritten: (key: string) => boolean,
): Record<string, unknown> {
  const kept = Object.entries(table).filter(
    ([key, value]) => value !== undefined && (isWritten(key) || (!isZero(value) && value !== defaults[key])),
  );
  return Object.fromEntries(
    kept.map(([key, value]) => [key, isMap(value) ? nonZero(value, {}, () => false) : value]),
  );
}

function isZero(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isMap(value)) return Object.values(value).every(isZero);
  return value === undefined || value === '' || value === false || value === 0;
}

export interface ExplainFilter {
  /** The agent's `dir`. */
  readonly rig?: string;
  /** Bare or qualified name. */
  readonly agent?: string;
}

export interface ExplainedField {
  readonly key: string;
  readonly value: unknown;
  /** Where it is written; absent for defaults and what was found by convention. */
  readonly position?: SourcePosition;
}

export interface ExplainedAgent {
  readonly agent: string;
  readonly source: SourcePosition;
  readonly fields: readonly ExplainedField[];
}

/** Fields that `explain` shows even when nothing is written: they decide how many sessions there are. */
const SCALING_FIELDS: ReadonlySet<string> = new Set(['min_active_sessions', 'drain_timeout']);

/** Where every value of the matching agents comes from. @throws GcError (`no-agents-match`) */
export function explainConfig(city: City, filter: ExplainFilter = {}): readonly ExplainedAgent[] {
  const chosen = city.agents
    .map((agent, index) => ({ agent, index }))
    .filter(({ agent }) => matches(agent, filter));
  if (chosen.length === 0) {
    throw new GcError('no-agents-match', 'no agents match filters', { next: 'gc agent list' });
  }
  return chosen.map(({ agent, index }) => {
    const fields: ExplainedField[] = [];
    for (const [key, value] of Object.entries(agentTable(agent, city.root))) {
      const position = city.provenance.positionOf(`agents[${index}].${key}`);
      const isShown =
        position !== undefined ||
        SCALING_FIELDS.has(key) ||
        (!isZero(value) && value !== AGENT_DEFAULT_VALUES[key]);
      if (value === undefined || !isShown || key === 'name') continue;
      fields.push({ key, value, ...(position ? { position } : {}) });
    }
    return { agent: agent.qualifiedName, source: agent.source, fields };
  });
}

function matches(agent: Agent, { rig, agent: name }: ExplainFilter): boolean {
  if (rig !== undefined && agent.dir !== rig) return false;
  return name === undefined || agent.name === name || agent.qualifiedName === name;
}

const SHOWN_VALUE_LENGTH = 60;
const ELLIPSIS = '...';

/** `Agent: <name>`, `  source: <file>`, then `  key = value  # file:line`. Source: Gas City `config explain`. */
export function explainText(explained: readonly ExplainedAgent[], root: string): string {
  const place = ({ file, line }: SourcePosition) => `${shownPath(root, file)}:${line}`;
  return explained
    .flatMap(({ agent, source, fields }) => [
      `Agent: ${agent}`,
      `  source: ${place(source)}`,
      ...fields.map(({ key, value, position }) => {
        const origin = position ? place(position) : originOf(key);
        return `  ${key} = ${valueText(value)}  # ${origin}`;
      }),
      '',
    ])
    .join('\n');
}

const BY_CONVENTION: ReadonlySet<string> = new Set(['prompt_template', 'overlay_dir', 'namepool']);

function originOf(key: string): string {
  return BY_CONVENTION.has(key) ? "found in the agent's folder" : 'default';
}

function valueText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const oneLine = text.replaceAll('\n', '\\n');
  const short =
    oneLine.length > SHOWN_VALUE_LENGTH
      ? oneLine.slice(0, SHOWN_VALUE_LENGTH - ELLIPSIS.length) + ELLIPSIS
      : oneLine;
  return typeof value === 'string' && (short === '' || /\s/.test(short)) ? `"${short}"` : short;
}
