import { join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { PackCommand, PackDoctor, SourcePosition } from '../city.ts';
import type { Look } from '../document/look.ts';
import type { ProblemList } from '../document/problems.ts';
import { locate } from '../document/source-document.ts';
import { readAgentFolders } from './agent-folders.ts';
import type { AgentEntry } from './draft.ts';
import type { Guard } from './guard.ts';
import { areFragmentsInside, isInside } from './outside.ts';
import {
  type FolderOwner,
  readCommandFolders,
  readDoctorFolders,
  tableCommands,
  tableDoctors,
} from './pack-folders.ts';
import { findManifest, noteIgnored, type PackManifest, readManifest } from './pack-manifest.ts';

/** Fragments of a pack that every prompt may call. Source: Gas City prompt rendering. */
const FRAGMENT_FOLDERS = ['prompts/shared', 'template-fragments'] as const;

/** A pack as its own folder describes it, before anything is included, bound or patched. */
export interface ShelfPack {
  readonly dir: string;
  readonly manifest: PackManifest;
  /** Tables first, folders after them. */
  readonly agents: readonly AgentEntry[];
  readonly brokenAgents: ReadonlySet<string>;
  readonly commands: readonly PackCommand[];
  readonly doctors: readonly PackDoctor[];
  readonly folders: PackFolders;
}

/** Folders that a pack contributes as they are; absent ones are empty. Absolute. */
export interface PackFolders {
  readonly overlay: string;
  readonly formulas: string;
  readonly scripts: readonly string[];
}

/** What a load has read so far: texts for code frames, files for the revision. */
export interface ReadLog {
  readonly look: Look;
  readonly sources: Set<string>;
  readonly texts: Map<string, string>;
}

/** Reads each pack folder once per load. */
export class PackShelf {
  readonly #packs = new Map<string, Promise<ShelfPack | undefined>>();
  readonly #guard: Guard;
  readonly #log: ReadLog;
  readonly #problems: ProblemList;

  constructor(guard: Guard, log: ReadLog, problems: ProblemList) {
    this.#guard = guard;
    this.#log = log;
    this.#problems = problems;
  }

  /**
   * The pack in a folder; `undefined` when it cannot be used, which has been reported.
   * @param askedAt where it is asked for: a folder that is no pack is told there.
   */
  take(
    dir: string,
    askedAt: SourcePosition = { file: dir, line: 1, column: 1 },
  ): Promise<ShelfPack | undefined> {
    const known = this.#packs.get(dir);
    if (known) return known;
    const read = this.#read(dir, askedAt);
    this.#packs.set(dir, read);
    return read;
  }

  async #read(dir: string, askedAt: SourcePosition): Promise<ShelfPack | undefined> {
    await setImmediate(); // A load of many packs lets others run in between.
    const { look } = this.#log;
    look.names(dir);
    const found = findManifest(dir, look);
    if (!found) {
      this.#problems.error(
        'pack-not-found',
        `${dir} is no pack: it has no pack.toml or pack.yaml`,
        askedAt,
        'a pack starts with: [pack] name, schema = 2',
      );
      return undefined;
    }
    if (!isInside(found.file, this.#guard, this.#problems)) return undefined;
    if (!areFragmentsInside(dir, FRAGMENT_FOLDERS, this.#guard, look, this.#problems)) return undefined;
    const manifest = await readManifest(found, dir, false, this.#problems);
    this.#log.sources.add(found.file);
    if (!manifest) return undefined;
    this.#log.texts.set(found.file, manifest.text);
    noteIgnored(manifest, this.#problems);
    return readFolders(manifest, dir, this.#guard, this.#log, this.#problems);
  }
}

async function readFolders(
  manifest: PackManifest,
  dir: string,
  guard: Guard,
  log: ReadLog,
  problems: ProblemList,
): Promise<ShelfPack> {
  const layer = `pack ${manifest.name}`;
  const { look } = log;
  const owner: FolderOwner = { dir, packName: manifest.name, layer, guard, look };
  const declared = new Set([...manifest.agents.map(({ value }) => value.name), ...manifest.brokenAgents]);
  const options = { layer, declared, guard, look, binding: '', packName: manifest.name, sourceDir: dir };
  const folders = await readAgentFolders(dir, options, problems);
  for (const [path, text] of folders.texts) {
    log.sources.add(path);
    log.texts.set(path, text);
  }
  const formulasAt = () => locate(manifest.document, ['formulas', 'dir'], 'value');
  const accepts = (path: string, isNamed: boolean) =>
    isInside(path, guard, problems, isNamed ? formulasAt : path);
  const tables = manifest.agents.map((entry) => ({
    ...entry,
    found: folders.lent.get(entry.value.name) ?? {},
  }));
  return {
    dir,
    manifest,
    agents: [...tables, ...folders.agents],
    brokenAgents: new Set([...manifest.brokenAgents, ...folders.broken]),
    commands: [
      ...(await readCommandFolders(owner, problems)),
      ...tableCommands(manifest.commands, owner, problems),
    ],
    doctors: [
      ...(await readDoctorFolders(owner, problems)),
      ...tableDoctors(manifest.doctors, owner, problems),
    ],
    folders: contributed(dir, manifest.formulasDir, look, accepts),
  };
}

/** The folders that count as layers. Source: Gas City pack expansion; only the singular `overlay` is read. */
export function contributed(
  dir: string,
  formulasDir: string,
  look: Look,
  accepts: (path: string, isNamed: boolean) => boolean = () => true,
): PackFolders {
  const folder = (path: string, isNamed = false) =>
    look.kind(path) === 'folder' && accepts(path, isNamed) ? path : '';
  const scripts = [folder(join(dir, 'scripts')), folder(join(dir, 'assets', 'scripts'))];
  return {
    overlay: folder(join(dir, 'overlay')),
    formulas: folder(resolve(dir, formulasDir || 'formulas'), formulasDir !== ''),
    scripts: scripts.filter((path) => path !== ''),
  };
}
