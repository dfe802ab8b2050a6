import { isAbsolute, relative, resolve } from 'node:path';
import { findManifest } from '../../../internal/config/compose/pack-manifest.ts';
import { Look } from '../../../internal/config/document/look.ts';
import { didYouMean } from '../../../internal/config/document/nearest.ts';
import { shownPath } from '../../../internal/config/document/source-document.ts';
import { insertTable, removeAt } from '../../../internal/config/edit/document-edit.ts';
import { editFile } from '../../../internal/config/edit/file-edit.ts';
import { loadCity } from '../../../internal/config/load-city.ts';
import type { DeclaredPack } from '../../../internal/config/remote/declared-packs.ts';
import { askRemote } from '../../../internal/config/remote/fetch.ts';
import {
  type Installed,
  type InstallOptions,
  installPacks,
  lockValuesOf,
} from '../../../internal/config/remote/install.ts';
import { type LockValues, restoreLock, writeLock } from '../../../internal/config/remote/lock-file.ts';
import { type PackNode, walkPacks } from '../../../internal/config/remote/pack-tree.ts';
import { checkVersion, defaultConstraint } from '../../../internal/config/remote/pin.ts';
import {
  defaultName,
  parseSource,
  type RemoteSource,
  type Source,
} from '../../../internal/config/remote/source.ts';
import { NAME_PATTERN } from '../../../internal/config/schema/schema-common.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { problemsError } from '../city/load-city.ts';
import { UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { listedImports, listText, treeJson, treeText } from '../output/import-list.ts';
import { onePlainLine } from '../output/plain.ts';
import { fetchNamedPacks } from './pack.ts';
import { changePacks, openPacks, type PackAccess, pinText, resolverOf } from './pack-access.ts';

export const runImportAdd: CommandRun = async (context, input) => {
  const text = input.arg('source');
  const asked = input.text('version');
  return changePacks(context, async (access) => {
    const source = parseSource(text);
    const name = input.text('name') ?? defaultName(source);
    checkNew(access, name, input.text('name') !== undefined);
    const values = await importValues(context, access, source, asked);
    const added = await installWith(access, name, values);
    const remote = source.kind === 'remote' ? added.pins.get(values.source) : undefined;
    await writeImport(context, access, name, values, lockValuesOf(added.pins));
    context.out.write(`Added import "${name}" from ${text}\n`);
    if (remote)
      context.out.write(
        `  pinned at ${pinText(remote)}${values.version ? `, version ${values.version}` : ''}\n`,
      );
    return 0;
  });
};

export const runImportRemove: CommandRun = async (context, input) => {
  const name = input.arg('name');
  return changePacks(context, async (access) => {
    const { city, root } = access;
    const own = city.declared.filter((each) => each.kind === 'import' && each.owner === 'the city');
    const files = new Set(own.filter((each) => each.name === name).map(({ position }) => position.file));
    if (files.size === 0) throw notFound(name, own, city.declared);
    for (const file of files) {
      await editFile(
        place(context, root),
        file,
        (text) => removeAt(text, shownPath(root, file), ['imports', name]),
        async () => undefined,
      );
    }
    await forget(await openPacks(context, root));
    context.out.write(`Removed import "${name}"\n`);
    return 0;
  });
};

export const runImportInstall: CommandRun = async (context) =>
  changePacks(context, async (access) => {
    let fetchedNamed = 0;
    for await (const { name, commit } of fetchNamedPacks(access, false)) {
      context.out.write(`  ${name}: ${commit}\n`);
      fetchedNamed += 1;
    }
    const done = await installed(fetchedNamed > 0 ? await openPacks(context, access.root) : access);
    for (const [source, pin] of done.pins) context.out.write(`  ${source}: ${pinText(pin)}\n`);
    warnMissing(context, done.tree);
    const count = done.pins.size + fetchedNamed;
    context.out.write(
      count === 0 ? 'No remote imports.\n' : `Installed ${count} pack source(s), ${done.fetched} fetched.\n`,
    );
    return 0;
  });

export const runImportUpgrade: CommandRun = async (context, input) => {
  const name = input.optionalArg('name');
  return changePacks(context, async (access) => {
    const { city, install } = access;
    const imports = city.declared.filter((each) => each.kind === 'import');
    const named = imports.filter((each) => each.name === name);
    if (name !== undefined && named.length === 0) throw notFound(name, imports, imports);
    const sources = new Set(named.map(({ source }) => source));
    const before = install.lock.packs.entries;
    const done = await installed(access, { renew: (source) => name === undefined || sources.has(source) });
    let count = 0;
    for (const [source, pin] of done.pins) {
      const old = before.get(source);
      if (old?.commit === pin.commit) continue;
      count += 1;
      context.out.write(`  ${source}: ${old ? pinText(old) : 'new'} -> ${pinText(pin)}\n`);
    }
    context.out.write(count === 0 ? 'Everything is up to date.\n' : `Upgraded ${count} import(s).\n`);
    return 0;
  });
};

export const runImportList: CommandRun = async (context, input) => {
  const access = await openPacks(context);
  const tree = await walkPacks(access.root, access.city, resolverOf(access));
  const { lock } = access.install;
  if (input.flag('tree')) {
    const shown = treeJson(tree, lock);
    context.out.write(context.json ? `${JSON.stringify(shown, null, 2)}\n` : treeText(shown));
  } else {
    const rows = listedImports(tree, lock);
    context.out.write(context.json ? `${JSON.stringify(rows, null, 2)}\n` : listText(rows));
  }
  return 0;
};

interface ImportValues {
  readonly source: string;
  readonly version: string;
}

/** What is written for a new import. @throws GcError, UsageError */
async function importValues(
  context: Context,
  { root, install }: PackAccess,
  source: Source,
  asked: string | undefined,
): Promise<ImportValues> {
  if (source.kind === 'local') {
    if (asked !== undefined) throw new UsageError('--version is only for git sources; a folder has none');
    const { path } = source;
    if (isAbsolute(path) || path.startsWith('~')) return { source: path, version: '' };
    const fromRoot = relative(root, resolve(context.cwd, path));
    return { source: fromRoot.startsWith('..') ? fromRoot : `./${fromRoot}`, version: '' };
  }
  if (source.ref !== '') {
    throw new UsageError(
      `the ref "${source.ref}" must not be in the source`,
      `gc import add ${withoutRef(source)} --version ${source.ref}`,
    );
  }
  if (asked !== undefined) checkVersion(asked);
  const version = asked ?? defaultConstraint(await askRemote(source.url, install));
  return { source: source.original, version };
}

function withoutRef({ url, subpath }: RemoteSource): string {
  return subpath === '' ? url : `${url}//${subpath}`;
}

/** @throws GcError `import-exists`, UsageError */
function checkNew({ city, root }: PackAccess, name: string, isGiven: boolean): void {
  if (!NAME_PATTERN.test(name)) {
    throw new UsageError(
      isGiven ? `"${name}" is not a usable name` : 'the source gives the import no name',
      'gc import add <source> --name <name>',
    );
  }
  const other = city.declared.find(
    (each) => each.kind === 'import' && each.owner === 'the city' && each.name === name,
  );
  if (!other) return;
  throw new GcError(
    'import-exists',
    `import "${name}" already exists, from ${other.source} (${shownPath(root, other.position.file)})`,
    {
      next: `gc import remove ${name}, or add it with --name <other>`,
    },
  );
}

/** Fetches the city with the new import, and makes sure that it is a pack. */
async function installWith(access: PackAccess, name: string, values: ImportValues): Promise<Installed> {
  const { city, install, root } = access;
  const file = city.packFile ?? city.cityFile;
  const position = { file, line: 1, column: 1 };
  const base = { kind: 'import', name, owner: 'the city', path: ['imports', name], baseDir: root } as const;
  const declared: DeclaredPack = { ...base, ...values, position, isNew: true };
  const done = await installPacks({ ...city, declared: [...city.declared, declared] }, install);
  const node = done.tree.find((each) => each.declared === declared);
  if (!node || node.resolved.kind === 'missing') {
    const resolved = node?.resolved;
    throw new GcError(
      'pack-not-found',
      resolved?.kind === 'missing' ? resolved.message : 'there is no such pack',
      {
        ...(resolved?.kind === 'missing' ? { next: resolved.next } : {}),
      },
    );
  }
  if (findManifest(node.resolved.dir, new Look()) === undefined) {
    throw new GcError('not-a-pack', `${values.source} is no pack: it has no pack.toml or pack.yaml`, {
      next: 'name the folder of the pack: <repository>//<folder>',
    });
  }
  return done;
}

/** All is taken back when the city would not load any more. */
async function writeImport(
  context: Context,
  { city, root, install }: PackAccess,
  name: string,
  { source, version }: ImportValues,
  pins: ReadonlyMap<string, LockValues>,
): Promise<void> {
  const file = city.packFile ?? city.cityFile;
  const before = await loadCity(root, { env: context.env });
  const { packs } = install.lock;
  const values = { source, version: version === '' ? undefined : version };
  try {
    await writeLock(packs, pins);
    await editFile(
      place(context, root),
      file,
      (text) => insertTable(text, shownPath(root, file), ['imports', name], values),
      async () => {
        if (before.kind === 'invalid') return;
        const after = await loadCity(root, { env: context.env });
        if (after.kind === 'invalid') throw problemsError(context, root, after);
      },
    );
  } catch (error) {
    await restoreLock(packs);
    throw error;
  }
}

/** Installs what the city asks for and writes the pins. */
async function installed(access: PackAccess, options: InstallOptions = {}): Promise<Installed> {
  const done = await installPacks(access.city, access.install, options);
  await writeLock(access.install.lock.packs, lockValuesOf(done.pins));
  return done;
}

/** Takes out the pins that nobody reaches any more; all stay when a part of the way is not on this machine. */
async function forget(access: PackAccess): Promise<void> {
  const { packs } = access.install.lock;
  if (packs.problems.length > 0) return;
  const tree = await walkPacks(access.root, access.city, resolverOf(access));
  const reached = new Set<string>();
  let isWhole = true;
  const visit = (nodes: readonly PackNode[]): void => {
    for (const { declared, resolved, children } of nodes) {
      reached.add(declared.source);
      if (resolved.kind === 'missing' && resolved.code !== 'no-folder') isWhole = false;
      visit(children);
    }
  };
  visit(tree);
  if (!isWhole) return;
  const kept = [...packs.entries.keys()].filter((source) => reached.has(source));
  await writeLock(packs, new Map(kept.map((source) => [source, {}])));
}

function warnMissing(context: Context, nodes: readonly PackNode[]): void {
  for (const { declared, resolved, children } of nodes) {
    if (resolved.kind === 'missing') {
      const what = declared.name === '' ? `include ${declared.source}` : `import "${declared.name}"`;
      context.err.write(`gc: ${onePlainLine(`${what} of ${declared.owner}: ${resolved.message}`)}\n`);
    }
    warnMissing(context, children);
  }
}

function notFound(name: string, known: readonly DeclaredPack[], all: readonly DeclaredPack[]): GcError {
  const elsewhere = all.find((each) => each.kind === 'import' && each.name === name);
  const names = known.map((each) => each.name);
  return new GcError(
    'import-not-found',
    elsewhere
      ? `import "${name}" is one of ${elsewhere.owner}, not of the city`
      : `import "${name}" not found${didYouMean(name, names)}`,
    { next: elsewhere ? `edit ${elsewhere.position.file}` : 'gc import list' },
  );
}

function place(context: Context, root: string) {
  return { gcDir: resolve(root, '.gc'), clock: context.clock };
}
