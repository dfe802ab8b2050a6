import { lstat, mkdir, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { codeOf } from '../../platform/errors.ts';
import { systemIds } from '../../platform/ids.ts';
import type { Skill } from './catalog.ts';

/** What stands under one name in a folder of skills. */
export type SinkEntry =
  | { readonly kind: 'link'; readonly name: string; readonly target: string }
  /** A file or folder that somebody put there. */
  | { readonly kind: 'other'; readonly name: string };

export interface LinkPlan {
  readonly make: readonly Pick<Skill, 'name' | 'dir'>[];
  readonly remove: readonly string[];
  /** Skills whose name is taken by something that is not ours. */
  readonly blocked: readonly string[];
}

/**
 * Which links a folder of skills needs. Ours are the links that point into one of the owned folders; everything else is
 * left alone, also where it stands in the way. Pure. Source: Gas City's skill materialisation.
 */
export function planLinks(
  wanted: readonly Pick<Skill, 'name' | 'dir'>[],
  there: readonly SinkEntry[],
  owned: readonly string[],
): LinkPlan {
  const isOurs = (entry: SinkEntry) =>
    entry.kind === 'link' &&
    owned.some((root) => entry.target === root || entry.target.startsWith(root + sep));
  const byName = new Map(there.map((entry) => [entry.name, entry]));
  const names = new Set(wanted.map(({ name }) => name));
  const make: Pick<Skill, 'name' | 'dir'>[] = [];
  const blocked: string[] = [];
  for (const skill of wanted) {
    const entry = byName.get(skill.name);
    if (entry && !isOurs(entry)) blocked.push(skill.name);
    else if (entry?.kind !== 'link' || entry.target !== skill.dir) make.push(skill);
  }
  const remove = there.filter((entry) => isOurs(entry) && !names.has(entry.name)).map(({ name }) => name);
  return { make, remove, blocked };
}

export interface Linked {
  readonly linked: readonly string[];
  readonly removed: readonly string[];
  readonly blocked: readonly string[];
}

/** Brings a folder of skills into line; writes nothing when it is, and makes no folder for no skills. */
export async function linkSkills(
  sink: string,
  skills: readonly Pick<Skill, 'name' | 'dir'>[],
  owned: readonly string[],
): Promise<Linked> {
  const plan = planLinks(skills, await entriesOf(sink), owned);
  for (const name of plan.remove) await rm(join(sink, name), { force: true });
  if (plan.make.length > 0) await mkdir(sink, { recursive: true });
  for (const { name, dir } of plan.make) await linkAtomically(join(sink, name), dir, sink, name);
  const blocked = new Set(plan.blocked);
  const linked = skills.map(({ name }) => name).filter((name) => !blocked.has(name));
  return { linked, removed: plan.remove, blocked: plan.blocked };
}

/** An agent that reads the folder meanwhile sees the old link or the new one. */
async function linkAtomically(path: string, target: string, sink: string, name: string): Promise<void> {
  const temporary = join(sink, `.${name}.tmp.${systemIds.hex(6)}`);
  await symlink(target, temporary);
  try {
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function entriesOf(sink: string): Promise<readonly SinkEntry[]> {
  const names = await readdir(sink).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
  return Promise.all(names.map((name) => entryOf(sink, name)));
}

async function entryOf(sink: string, name: string): Promise<SinkEntry> {
  const path = join(sink, name);
  const found = await lstat(path).catch(() => undefined); // removed meanwhile
  if (!found?.isSymbolicLink()) return { kind: 'other', name };
  return { kind: 'link', name, target: resolve(sink, await readlink(path)) };
}
