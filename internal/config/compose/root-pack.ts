import { basename, join } from 'node:path';
import type { PackCommand, PackDoctor } from '../city.ts';
import type { ProblemList } from '../document/problems.ts';
import { locate } from '../document/source-document.ts';
import { readAgentFolders } from './agent-folders.ts';
import type { Requirement } from './bundle.ts';
import type { AgentEntry, Draft } from './draft.ts';
import { requirementsOf } from './expand-pack.ts';
import { mergeDefaults, underCity } from './merge-fragment.ts';
import {
  type FolderOwner,
  readCommandFolders,
  readDoctorFolders,
  tableCommands,
  tableDoctors,
} from './pack-folders.ts';
import { findManifest, type PackManifest, readManifest } from './pack-manifest.ts';
import type { ReadLog } from './pack-shelf.ts';

/** The city file together with what stands beside it: a pack manifest of the city, agents, commands, checks. */
export interface OwnCity {
  readonly draft: Draft;
  readonly commands: readonly PackCommand[];
  readonly doctors: readonly PackDoctor[];
  readonly requires: readonly Requirement[];
  readonly skillsDir: string;
  readonly mcpDir: string;
}

/** Source: Gas City root pack merge: the manifest is the base, the city file wins. */
export async function readOwnCity(
  root: string,
  city: Draft,
  log: ReadLog,
  problems: ProblemList,
): Promise<OwnCity> {
  const { look } = log;
  look.names(root);
  const manifest = await readOwnManifest(root, log, problems);
  let draft = city;
  if (manifest) {
    warnMisplaced(manifest, city, problems);
    draft = {
      ...underCity(city, manifest),
      sections: {
        ...city.sections,
        agent_defaults: manifest.hasAgentDefaults
          ? mergeDefaults(manifest.agentDefaults, city.sections.agent_defaults)
          : city.sections.agent_defaults,
      },
      written: manifest.hasAgentDefaults ? new Set([...city.written, 'agent_defaults']) : city.written,
    };
  }
  const inCity = new Set(city.agents.map(({ value }) => value.name));
  const tables = (manifest?.agents ?? []).filter(({ value }) => !inCity.has(value.name));
  const declared = new Set([
    ...inCity,
    ...tables.map(({ value }) => value.name),
    ...city.broken.agents,
    ...(manifest?.brokenAgents ?? []),
  ]);
  const layer = city.layer;
  const own = { binding: '', packName: '', sourceDir: root };
  const folders = await readAgentFolders(root, { ...own, layer: 'agents', declared, look }, problems);
  for (const [path, text] of folders.texts) {
    log.sources.add(path);
    log.texts.set(path, text);
  }
  const completed = (entry: AgentEntry) => ({ ...entry, found: folders.lent.get(entry.value.name) ?? {} });
  const packName = manifest?.name ?? (city.sections.workspace.value.name || basename(root));
  const owner: FolderOwner = { dir: root, packName, layer, guard: undefined, look };
  const folder = (name: string) => (look.kind(join(root, name)) === 'folder' ? join(root, name) : '');
  return {
    draft: {
      ...draft,
      agents: [...tables.map(completed), ...folders.agents, ...draft.agents.map(completed)],
      broken: {
        ...draft.broken,
        agents: new Set([...draft.broken.agents, ...(manifest?.brokenAgents ?? []), ...folders.broken]),
      },
    },
    commands: [
      ...(await readCommandFolders(owner, problems)),
      ...tableCommands(manifest?.commands ?? [], owner, problems),
    ].map((command) => ({ ...command, binding: packName })),
    doctors: [
      ...(await readDoctorFolders(owner, problems)),
      ...tableDoctors(manifest?.doctors ?? [], owner, problems),
    ],
    requires: manifest ? requirementsOf(manifest) : [],
    skillsDir: folder('skills'),
    mcpDir: folder('mcp'),
  };
}

async function readOwnManifest(
  root: string,
  log: ReadLog,
  problems: ProblemList,
): Promise<PackManifest | undefined> {
  const found = findManifest(root, log.look);
  if (!found) return undefined;
  log.sources.add(found.file);
  const manifest = await readManifest(found, root, true, problems);
  if (manifest) log.texts.set(manifest.file, manifest.text);
  return manifest;
}

/** What has its place in the other file, or none. */
function warnMisplaced(manifest: PackManifest, city: Draft, problems: ProblemList): void {
  const { document, meta } = manifest;
  const file = basename(manifest.file);
  const [first] = city.imports.values();
  if (first) {
    problems.warning(
      'imports-in-city-file',
      `${basename(city.document.file)} declares ${city.imports.size} [imports] — consider moving them to ${file}`,
      locate(first.document, first.path),
      `${file} says what the city is made of, the city file where it runs`,
    );
  }
  const without = [
    { path: ['pack', 'includes'], isThere: (meta.value.includes ?? []).length > 0, instead: '[imports]' },
    { path: ['global'], isThere: manifest.sessionLive.length > 0, instead: 'session_live of the agents' },
    {
      path: manifest.services[0]?.path.slice(0, 1) ?? [],
      isThere: manifest.services.length > 0,
      instead: '[[service]] in the city file',
    },
    { path: ['formulas'], isThere: manifest.formulasDir !== '', instead: '[formulas] in the city file' },
  ];
  for (const { path, isThere, instead } of without) {
    if (!isThere) continue;
    const message = `${path.join('.')} has no effect in the city's own ${file}`;
    problems.warning('ignored-key', message, locate(document, path), `write ${instead}`);
  }
}
