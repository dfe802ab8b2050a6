import { basename, join, resolve } from 'node:path';
import type { PackCommand, PackDoctor } from '../city.ts';
import type { Look } from '../document/look.ts';
import type { ProblemList } from '../document/problems.ts';
import { readDocument } from '../document/read-source.ts';
import { locate, type SourceDocument } from '../document/source-document.ts';
import { checkSchema } from '../schema/check-schema.ts';
import {
  commandManifestSchema,
  doctorManifestSchema,
  type RawCommand,
  type RawDoctor,
} from '../schema/schema-pack.ts';
import type { z } from '../schema/zod.ts';
import { type Entry, placeOf } from './entry.ts';
import type { Guard } from './guard.ts';
import { isInside, packFile } from './outside.ts';

/** Deeper command folders are a mistake or a loop of links. */
const MAX_COMMAND_DEPTH = 8;

export interface FolderOwner {
  readonly dir: string;
  readonly packName: string;
  readonly layer: string;
  readonly guard: Guard | undefined;
  readonly look: Look;
}

/** Commands of `commands/`, found recursively: a folder whose run target exists is one. Source: Gas City discovery. */
export async function readCommandFolders(
  owner: FolderOwner,
  problems: ProblemList,
): Promise<readonly PackCommand[]> {
  const found: PackCommand[] = [];
  await visit(join(owner.dir, 'commands'), []);
  return found;

  async function visit(folder: string, words: readonly string[]): Promise<void> {
    if (words.length > MAX_COMMAND_DEPTH || !isInside(folder, owner.guard, problems)) return;
    for (const name of owner.look.names(folder)) {
      const inner = join(folder, name);
      if (/^[._]/.test(name) || owner.look.kind(inner) !== 'folder') continue;
      if (!isInside(inner, owner.guard, problems)) continue;
      const path = [...words, name];
      const command = await commandIn(inner, path, owner, problems);
      if (command === 'none') await visit(inner, path);
      else if (command !== 'broken') found.push(command);
    }
  }
}

async function commandIn(
  folder: string,
  words: readonly string[],
  owner: FolderOwner,
  problems: ProblemList,
): Promise<PackCommand | 'none' | 'broken'> {
  const manifest = await readFolderManifest(folder, 'command', commandManifestSchema, owner, problems);
  if (manifest === 'broken') return 'broken';
  const run = await runTarget(folder, manifest, owner, problems);
  if (run.kind !== 'run') return run.kind;
  const value = manifest?.value;
  return {
    binding: '',
    packName: owner.packName,
    packDir: owner.dir,
    words: value?.command && value.command.length > 0 ? value.command : words,
    description: value?.description ?? '',
    helpFile: helpIn(folder, owner, problems),
    run: run.path,
    dir: folder,
  };
}

/** Checks of `doctor/<name>/`. */
export async function readDoctorFolders(
  owner: FolderOwner,
  problems: ProblemList,
): Promise<readonly PackDoctor[]> {
  const found: PackDoctor[] = [];
  const home = join(owner.dir, 'doctor');
  if (!isInside(home, owner.guard, problems)) return found;
  for (const name of owner.look.names(home)) {
    const folder = join(home, name);
    if (/^[._]/.test(name) || owner.look.kind(folder) !== 'folder') continue;
    if (!isInside(folder, owner.guard, problems)) continue;
    const manifest = await readFolderManifest(folder, 'doctor', doctorManifestSchema, owner, problems);
    if (manifest === 'broken') continue;
    const run = await runTarget(folder, manifest, owner, problems);
    if (run.kind !== 'run') continue;
    found.push({
      name,
      binding: '',
      packName: owner.packName,
      packDir: owner.dir,
      description: manifest?.value.description ?? '',
      run: run.path,
      helpFile: helpIn(folder, owner, problems),
      rig: '',
    });
  }
  return found;
}

/** Commands and checks of the older tables in the manifest itself: their scripts are relative to the pack. */
export function tableCommands(
  entries: readonly Entry<RawCommand>[],
  owner: FolderOwner,
  problems: ProblemList,
): readonly PackCommand[] {
  return entries.flatMap((entry) => {
    const { name, description = '', script, long_description: help } = entry.value;
    const run = script.includes('{{') ? script : tableFile(entry, 'script', script, owner, problems);
    const helpFile = help ? tableFile(entry, 'long_description', help, owner, problems) : '';
    if (run === undefined || helpFile === undefined) return [];
    return [
      {
        binding: '',
        packName: owner.packName,
        packDir: owner.dir,
        words: name.split(/\s+/).filter((word) => word !== ''),
        description,
        helpFile,
        run,
        dir: owner.dir,
      },
    ];
  });
}

export function tableDoctors(
  entries: readonly Entry<RawDoctor>[],
  owner: FolderOwner,
  problems: ProblemList,
): readonly PackDoctor[] {
  return entries.flatMap((entry) => {
    const { name, description = '', script } = entry.value;
    const run = tableFile(entry, 'script', script, owner, problems);
    if (run === undefined) return [];
    const { packName, dir } = owner;
    return [{ name, binding: '', packName, packDir: dir, description, run, helpFile: '', rig: '' }];
  });
}

/** The city's own tables may name any file, those of a pack only its own. */
function tableFile(
  entry: Entry<unknown>,
  key: string,
  written: string,
  { dir, guard }: FolderOwner,
  problems: ProblemList,
): string | undefined {
  if (!guard) return resolve(dir, written);
  return packFile(dir, { key, written, from: dir, at: placeOf(entry, [key], 'value') }, guard, problems);
}

interface FolderManifest<T> {
  readonly document: SourceDocument;
  readonly value: T;
}

async function readFolderManifest<Schema extends z.ZodType>(
  folder: string,
  stem: string,
  schema: Schema,
  owner: FolderOwner,
  problems: ProblemList,
): Promise<FolderManifest<z.infer<Schema>> | undefined | 'broken'> {
  for (const ending of ['toml', 'yaml', 'yml']) {
    const file = join(folder, `${stem}.${ending}`);
    if (owner.look.kind(file) !== 'file') continue;
    if (!isInside(file, owner.guard, problems)) return 'broken';
    const { parsed } = await readDocument(file);
    if (parsed.kind === 'unreadable') {
      problems.add(parsed.problems);
      return 'broken';
    }
    const { document } = parsed;
    const place = {
      document,
      path: [],
      rootLabel: `${stem} "${basename(folder)}"`,
      ...(document.format === 'toml' ? { unknownKeys: 'note' as const } : {}),
    };
    const value = checkSchema(schema, document.data ?? {}, place, problems);
    return value === undefined ? 'broken' : { document, value };
  }
  return undefined;
}

type RunTarget = { readonly kind: 'run'; readonly path: string } | { readonly kind: 'none' | 'broken' };

/** The script that a folder runs: `none` when it is not there. */
async function runTarget(
  folder: string,
  manifest: FolderManifest<{ readonly run?: string | undefined }> | undefined,
  owner: FolderOwner,
  problems: ProblemList,
): Promise<RunTarget> {
  const written = manifest?.value.run ?? 'run.sh';
  if (written.includes('{{')) return { kind: 'run', path: written };
  const run = manifest
    ? packFile(
        owner.dir,
        { key: 'run', written, from: folder, at: locate(manifest.document, ['run'], 'value') },
        // The script itself is what is told about, when it is a link.
        undefined,
        problems,
      )
    : join(folder, written);
  if (run === undefined) return { kind: 'broken' };
  if (owner.look.kind(run) !== 'file') return { kind: 'none' };
  return isInside(run, owner.guard, problems) ? { kind: 'run', path: run } : { kind: 'broken' };
}

function helpIn(folder: string, { guard, look }: FolderOwner, problems: ProblemList): string {
  const file = join(folder, 'help.md');
  return look.kind(file) === 'file' && isInside(file, guard, problems) ? file : '';
}
