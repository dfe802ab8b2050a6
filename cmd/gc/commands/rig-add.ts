import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { City } from '../../../internal/config/city.ts';
import { parseText } from '../../../internal/config/document/read-source.ts';
import { isMap, valueAt } from '../../../internal/config/document/source-document.ts';
import { appendItem } from '../../../internal/config/edit/document-edit.ts';
import { resolveCityPath } from '../../../internal/controller/registry.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { typed } from '../city/invocation.ts';
import { loadChecked } from '../city/load-city.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { withIgnored } from '../rig/beads-ignore.ts';
import { planRig, type RigPlan } from '../rig/plan-rig.ts';
import { editCityFile, rigCityRoot, tellController } from '../rig/rig-city.ts';
import { rememberRig } from '../rig/rig-registry.ts';

export const runRigAdd: CommandRun = async (context, input) => {
  const root = await rigCityRoot(context);
  const city = await loadChecked(context, root);
  const path = resolveCityPath(resolve(context.cwd, input.arg('path')));
  const adopted = input.flag('adopt') ? await adoptedPrefix(path) : undefined;
  requireFolder(path, input.flag('adopt'));
  const name = input.text('name') ?? basename(path);
  const includes = input.texts('include');
  const isSuspended = input.flag('start-suspended');
  const known = { ...city, rigs: city.rigs.map((rig) => ({ ...rig, path: resolveCityPath(rig.path) })) };
  const plan = planRig(known, {
    path,
    name,
    prefix: input.text('prefix') ?? adopted,
    includes: includes.length > 0 ? includes : undefined,
    suspended: isSuspended,
  });
  context.out.write(
    plan.kind === 'same' ? `Re-initializing rig '${name}'...\n` : `Adding rig '${name}'...\n`,
  );
  const isGit = existsSync(join(path, '.git'));
  if (isGit) context.out.write(`  Detected git repo at ${path}\n`);
  context.out.write(`  Prefix: ${plan.prefix}\n`);
  if (plan.includes.length > 0) context.out.write(`  Include: ${plan.includes.join(', ')}\n`);
  if (adopted !== undefined) context.out.write('  Adopted existing beads database\n');
  if (plan.kind === 'add') await write(context, city, path, plan);
  else if (!existsSync(path)) mkdirSync(path, { recursive: true });
  if (isGit) ignoreBeads(path);
  await rememberRig(context, { path, name, defaultCity: root }, false);
  context.out.write('  Registered in global rig index\n');
  await tellController(context, root);
  context.out.write(lastLine(plan.kind === 'same', isSuspended, name, context.gc));
  if (context.out.isTTY) context.out.write(`\n  ${typed(`gc rig status ${name}`, context.gc)}\n`);
  return 0;
};

function lastLine(isSame: boolean, isSuspended: boolean, name: string, gc: string): string {
  if (isSame) return 'Rig re-initialized.\n';
  return isSuspended
    ? `Rig added (suspended; bring it up with: ${gc} rig resume ${name}).\n`
    : 'Rig added.\n';
}

/** The folder and the entry in the city file: both or neither. */
async function write(
  context: Context,
  city: City,
  path: string,
  { values, includes }: Extract<RigPlan, { kind: 'add' }>,
): Promise<void> {
  const made = mkdirSync(path, { recursive: true });
  try {
    await editCityFile(
      context,
      city.root,
      city.file,
      async (text) => appendItem(text, city.file, [await sectionOf(city.file, text)], values),
      (loaded) => requirePacks(loaded, includes),
    );
  } catch (error) {
    if (made !== undefined) rmSync(made, { recursive: true });
    throw error;
  }
}

/** A pack that others have to fetch first may come later. */
const REMOTE_PACK = /^(?:[a-z][a-z+]*:\/\/|git@|github\.com\/)/;

/** A city loads without a pack that is not there; a rig is not added so. @throws GcError `pack-not-found` */
function requirePacks(city: City, includes: readonly string[]): void {
  const local = includes.filter((include) => !REMOTE_PACK.test(include));
  const skipped = city.warnings.find(
    ({ code, message }) =>
      code === 'pack-skipped' && local.some((include) => message.includes(JSON.stringify(include))),
  );
  if (!skipped) return;
  throw new GcError('pack-not-found', `${skipped.message}; nothing was changed`, {
    next: skipped.hint ?? 'gc rig add <path> --include <folder of a pack>',
  });
}

/** The name that the file uses for its list of rigs. */
async function sectionOf(file: string, text: string): Promise<string> {
  const parsed = await parseText(file, text);
  return parsed.kind === 'parsed' && valueAt(parsed.document.data, ['rig']) !== undefined ? 'rig' : 'rigs';
}

function requireFolder(path: string, mustExist: boolean): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found && !found.isDirectory()) {
    throw new GcError('not-a-folder', `${path} is not a folder`, { next: 'gc rig add <folder>' });
  }
  if (!found && mustExist) {
    throw new GcError('rig-folder-missing', `there is no folder ${path} to adopt`, {
      next: 'leave out --adopt and it is created',
    });
  }
}

/** The prefix of the beads database that a rig brings. @throws GcError `not-adoptable` */
async function adoptedPrefix(path: string): Promise<string> {
  const missing = ['metadata.json', 'config.yaml'].filter((name) => !existsSync(join(path, '.beads', name)));
  const refused = (why: string) =>
    new GcError('not-adoptable', `${path} has no beads database to adopt: ${why}`, {
      next: 'leave out --adopt and the rig gets what it needs',
    });
  if (missing.length > 0) throw refused(`${missing.map((name) => `.beads/${name}`).join(' and ')} missing`);
  const file = join(path, '.beads', 'config.yaml');
  const parsed = await parseText(file, readFileSync(file, 'utf8'));
  const data = parsed.kind === 'parsed' && isMap(parsed.document.data) ? parsed.document.data : {};
  const prefix = data['issue_prefix'] ?? data['issue-prefix'];
  if (typeof prefix !== 'string' || prefix === '') throw refused('.beads/config.yaml has no issue_prefix');
  return prefix;
}

function ignoreBeads(path: string): void {
  const file = join(path, '.gitignore');
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const after = withIgnored(before);
  if (after !== before) writeFileSync(file, after);
}
