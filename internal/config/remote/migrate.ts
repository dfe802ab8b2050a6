import { GcError } from '../../platform/errors.ts';
import { shownPosition, type ValuePath } from '../document/source-document.ts';
import { insertTable, removeAt, setValue } from '../edit/document-edit.ts';
import { NAME_PATTERN } from '../schema/schema-common.ts';
import type { RawPackSource } from '../schema/schema-import.ts';
import type { CityPacks, DeclaredPack } from './declared-packs.ts';
import type { Lock, LockValues } from './lock-file.ts';
import { namedSource } from './resolve-source.ts';

/** One change of a file, and how to speak of it. */
export interface MigrationStep {
  readonly file: string;
  readonly text: string;
  edit(text: string, shownFile: string): Promise<string>;
}

export interface Migration {
  readonly steps: readonly MigrationStep[];
  /** Names of `[packs]` that become imports. */
  readonly migrated: readonly string[];
  /** Why others stay. */
  readonly kept: readonly string[];
  /** Pins of `pack.lock` under the sources of the new imports. */
  readonly pins: ReadonlyMap<string, LockValues>;
}

/**
 * How `[packs.<name>]` and the includes that name it become `[imports.<name>]`: the city's go where imports of the city
 * belong, a rig's into the rig. A source that something else needs stays. @throws GcError `import-exists`, `bad-source`
 */
export function planMigration(
  city: CityPacks,
  lock: Lock,
  all: readonly DeclaredPack[],
  cityRoot: string,
): Migration {
  const steps: MigrationStep[] = [];
  const migrated: string[] = [];
  const kept: string[] = [];
  const pins = new Map<string, LockValues>();
  const target = city.packFile ?? city.cityFile;
  for (const [name, declared] of city.named) {
    const users = all.filter(({ source }) => source === name);
    const movable = users.filter((each) => each.kind === 'include' && each.position.file === city.cityFile);
    const stays = reasonToStay(name, users, movable, city, cityRoot);
    if (stays !== undefined) {
      kept.push(`[packs.${name}] stays: ${stays}`);
      continue;
    }
    const values = importOf(declared);
    if (movable.some(({ owner }) => owner === 'the city'))
      steps.push(...cityImport(city, name, values, target, cityRoot));
    for (const rig of rigsOf(movable)) {
      if (isThere(city, rig.owner, name, values, cityRoot)) continue;
      steps.push(rigImport(city.cityFile, rig, name, values));
    }
    steps.push(removal(city.cityFile, ['packs', name], `[packs.${name}] is removed`));
    migrated.push(name);
    const entry = lock.named.entries.get(name);
    if (entry && values['source'] !== undefined) {
      pins.set(values['source'], { commit: entry.commit, ref: declared.ref, version: `sha:${entry.commit}` });
    }
  }
  // From the end: taking one out moves those behind it.
  const includes = all
    .filter((each) => each.kind === 'include' && migrated.includes(each.source))
    .map((each) =>
      removal(city.cityFile, each.path, `"${each.source}" is taken out of the includes of ${each.owner}`),
    )
    .reverse();
  return { steps: [...includes, ...steps], migrated, kept, pins };
}

function reasonToStay(
  name: string,
  users: readonly DeclaredPack[],
  movable: readonly DeclaredPack[],
  city: CityPacks,
  cityRoot: string,
): string | undefined {
  if (!NAME_PATTERN.test(name)) return 'its name is none for an import';
  if (city.named.get(name)?.position.file !== city.cityFile) return 'it is declared in a fragment';
  if (city.forNewRigs.has(name)) return 'workspace.default_rig_includes names it';
  if (users.length === 0) return 'nothing includes it';
  const other = users.find((each) => !movable.includes(each));
  return other && `it is used by ${other.owner} (${shownPosition(cityRoot, other.position)})`;
}

function importOf(declared: RawPackSource): Readonly<Record<string, string>> {
  const source = namedSource(declared);
  const path = (declared.path ?? '').replace(/^\/+|\/+$/g, '');
  if (source.kind === 'local') return { source: path === '' ? source.path : `${source.path}/${path}` };
  const base = source.subpath === '' ? source.url : `${source.url}//${source.subpath}`;
  return { source: base, ...(source.ref === '' ? {} : { version: source.ref }) };
}

function cityImport(
  city: CityPacks,
  name: string,
  values: Readonly<Record<string, string>>,
  file: string,
  cityRoot: string,
): readonly MigrationStep[] {
  if (isThere(city, 'the city', name, values, cityRoot)) return [];
  return [
    {
      file,
      text: `[imports.${name}] is added: ${shownValues(values)}`,
      edit: (text, shownFile) => insertTable(text, shownFile, ['imports', name], values),
    },
  ];
}

/** Whether the import is there already. @throws GcError `import-exists` when one from elsewhere has its name */
function isThere(
  city: CityPacks,
  owner: string,
  name: string,
  values: Readonly<Record<string, string>>,
  cityRoot: string,
): boolean {
  const known = city.declared.find(
    (each) => each.kind === 'import' && each.owner === owner && each.name === name,
  );
  if (!known || known.source === values['source']) return known !== undefined;
  throw new GcError(
    'import-exists',
    `${shownPosition(cityRoot, known.position)}: ${owner} has an import "${name}" already, from ${known.source}`,
    { next: `rename [packs.${name}] or the import` },
  );
}

function rigsOf(users: readonly DeclaredPack[]): readonly { path: ValuePath; owner: string }[] {
  const rigs = new Map<string, { path: ValuePath; owner: string }>();
  for (const { path, owner } of users) {
    if (path[0] === 'rigs') rigs.set(owner, { path: path.slice(0, 2), owner });
  }
  return [...rigs.values()];
}

function rigImport(
  file: string,
  rig: { readonly path: ValuePath; readonly owner: string },
  name: string,
  values: Readonly<Record<string, string>>,
): MigrationStep {
  return {
    file,
    text: `imports.${name} is added to ${rig.owner}: ${shownValues(values)}`,
    edit: (text, shownFile) => setValue(text, shownFile, [...rig.path, 'imports', name], values),
  };
}

function removal(file: string, path: ValuePath, text: string): MigrationStep {
  return { file, text, edit: (before, shownFile) => removeAt(before, shownFile, path) };
}

function shownValues(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([key, value]) => `${key} = ${JSON.stringify(value)}`)
    .join(', ');
}
