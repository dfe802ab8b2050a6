import type { City, PackUse, SourcePosition } from '../city.ts';
import { type ProblemJson, problemJson, problemLine } from '../document/format-problems.ts';
import { shownPath } from '../document/source-document.ts';
import { sectionTables, tablesOf } from './config-document.ts';
import { type ExplainedItem, explainAgent, placeText } from './explain-config.ts';
import { isChange, leavesOf, type Written, writtenAt } from './value-origins.ts';

/** A place with the path of what stands there: `agents[3]`. */
interface Placed extends SourcePosition {
  readonly path: string;
}

interface PlacedValue extends SourcePosition {
  readonly layer: string;
}

/** The JSON of `config show --provenance`. Files are absolute. */
export interface ProvenanceReport {
  /** The city file first. */
  readonly sources: readonly string[];
  readonly packs: readonly (PackUse & Partial<SourcePosition>)[];
  readonly agents: Readonly<Record<string, Placed>>;
  readonly named_sessions: Readonly<Record<string, Placed>>;
  readonly rigs: Readonly<Record<string, Placed>>;
  readonly workspace: Readonly<Record<string, PlacedValue>>;
  /** Every value that somebody wrote, by its path. */
  readonly values: Readonly<Record<string, PlacedValue>>;
  readonly warnings: readonly ProblemJson[];
}

/** Which file, line and layer gave each value of a city. */
export function provenanceReport(city: City): ProvenanceReport {
  const placed = <T extends { readonly source: SourcePosition }>(
    section: string,
    items: readonly T[],
    nameOf: (item: T) => string,
  ): Readonly<Record<string, Placed>> =>
    Object.fromEntries(
      items.map((item, index) => [nameOf(item), { path: `${section}[${index}]`, ...item.source }]),
    );
  return {
    sources: city.sources,
    packs: city.packs.map((use) => ({ ...use, ...askedAt(city, use) })),
    agents: placed('agents', city.agents, ({ qualifiedName }) => qualifiedName),
    named_sessions: placed('named_sessions', city.namedSessions, ({ identity }) => identity),
    rigs: placed('rigs', city.rigs, ({ name }) => name),
    workspace: Object.fromEntries(
      workspaceValues(city).map(([key, written]) => [key, placedValue(written)] as const),
    ),
    values: Object.fromEntries([...tableValues(city), ...agentValues(city)]),
    warnings: city.warnings.map(problemJson),
  };
}

type Values = readonly (readonly [string, PlacedValue])[];

function tableValues(city: City): Values {
  return tablesOf(city).flatMap(([path, table]) =>
    leavesOf(city, path, table).flatMap((leaf) =>
      leaf.written ? [[leaf.path, placedValue(leaf.written)] as const] : [],
    ),
  );
}

/** As `config explain` tells them: without what a file in the agent's folder outdoes, with what the city gives to all. */
function agentValues(city: City): Values {
  return city.agents.flatMap((agent, index) => {
    if (agent.implicit) return [];
    const name = writtenAt(city, `agents[${index}].name`);
    const fields = explainAgent(city, agent, index).flatMap(
      ({ key, value, origin, position, layer = '' }) => {
        if (origin !== 'written' && origin !== 'mixed') return [];
        return leavesOf(city, `agents[${index}].${key}`, value).flatMap((leaf) => {
          const written = leaf.written ?? (position && { position, layer });
          return written ? [[leaf.path, placedValue(written)] as const] : [];
        });
      },
    );
    return [...(name ? [[`agents[${index}].name`, placedValue(name)] as const] : []), ...fields];
  });
}

const placedValue = ({ position, layer }: Written): PlacedValue => ({ ...position, layer });

function workspaceValues(city: City): readonly (readonly [string, Written])[] {
  return Object.keys(sectionTables(city)['workspace'] ?? {}).flatMap((key) => {
    const written = writtenAt(city, `workspace.${key}`);
    return written ? [[key, written] as const] : [];
  });
}

/** Where the city names a pack that it uses; packs that packs bring are named in the pack. */
function askedAt(city: City, { via, binding, rig, source, parent }: PackUse): SourcePosition | undefined {
  if (parent !== city.root) return undefined;
  const index = city.rigs.findIndex(({ name }) => name === rig);
  const scope = rig === '' ? '' : `rigs[${index}].`;
  if (via === 'import' || via === 'implicit') {
    return city.provenance.positionOf(`${scope}imports.${binding}`);
  }
  const includes = rig === '' ? city.workspace.includes : (city.rigs[index]?.includes ?? []);
  const path = `${rig === '' ? 'workspace.' : scope}includes[${includes.indexOf(source)}]`;
  return via === 'include' ? city.provenance.positionOf(path) : undefined;
}

/** `Sources (n files):` and what came from which of them. Source: Gas City `config show --provenance`. */
export function provenanceText(city: City): string {
  const { root, sources } = city;
  const files = sources.map((file, index) => `  ${index === 0 ? '*' : ' '} ${shownPath(root, file)}`);
  const placed = (name: string, position: SourcePosition) => `  ${name} ← ${placeText(position, root)}`;
  return `${[
    `Sources (${sources.length} file${sources.length === 1 ? '' : 's'}):`,
    ...files,
    ...section(
      'Packs',
      city.packs.map((use) => packLine(city, use)),
    ),
    ...section(
      'Agents',
      city.agents.flatMap((agent, index) => [
        `${placed(agent.qualifiedName, agent.source)}${agent.implicit ? ' (implicit)' : ''}`,
        ...(agent.implicit ? [] : explainAgent(city, agent, index))
          .flatMap((field) => field.items ?? [field])
          .filter(({ layer = '' }) => isChange(layer) || layer === 'agent_defaults')
          .map((item) => `    ${changeText(item, root)}`),
      ]),
    ),
    ...section(
      'Named sessions',
      city.namedSessions.map(({ identity, source }) => placed(identity, source)),
    ),
    ...section(
      'Rigs',
      city.rigs.map(({ name, source }) => placed(name, source)),
    ),
    ...section(
      'Workspace',
      workspaceValues(city).map(([key, { position }]) => placed(key, position)),
    ),
    ...section(
      'Warnings',
      city.warnings.map((warning) => `  ${problemLine(warning, root)}`),
    ),
  ].join('\n')}\n`;
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length > 0 ? [`${title}:`, ...lines] : [];
}

function changeText({ key, position, layer = '' }: ExplainedItem, root: string): string {
  return `${key} ← ${position ? placeText(position, root) : ''} (${layer})`;
}

/** `  gastown 1.2 ← packs/gastown (import gt at city.toml:6)` */
function packLine(city: City, use: PackUse): string {
  const { name, version, dir, via, binding, rig, parent } = use;
  const how = {
    city: 'city',
    include: 'include',
    import: `import ${binding}`,
    system: 'system pack',
    implicit: `implicit import ${binding}`,
  }[via];
  const position = askedAt(city, use);
  const owner = city.packs.find((other) => other.dir === parent)?.name ?? shownPath(city.root, parent);
  const place = position ? ` at ${placeText(position, city.root)}` : '';
  const from = parent === city.root ? place : ` in pack ${owner}`;
  const forRig = rig === '' ? '' : `, for rig ${rig}`;
  return `  ${name}${version === '' ? '' : ` ${version}`} ← ${shownPath(city.root, dir)} (${how}${from}${forRig})`;
}
