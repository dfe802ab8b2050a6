import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Agent, City } from '../../config/city.ts';
import { codeOf } from '../../platform/errors.ts';

/** A folder with a `SKILL.md` that agent programs can load. */
export interface Skill {
  readonly name: string;
  /** Absolute. */
  readonly dir: string;
  readonly source: SkillSource;
  /** From the head of its `SKILL.md`; `''` when it says nothing. */
  readonly description: string;
}

export type SkillSource = 'city' | 'core' | 'agent';

/** Folders whose subfolders are skills. */
export interface SkillRoot {
  readonly dir: string;
  readonly source: SkillSource;
}

/** The pack whose skills every city has. */
const CORE_PACK = 'core';

export type SkillCity = Pick<City, 'skillsDir' | 'packs'>;

/** Where an agent's skills come from, weakest first: the core pack, the city, the agent itself. Without an agent: the shared ones. */
export function skillRoots(city: SkillCity, agent?: Pick<Agent, 'skillsDir'>): readonly SkillRoot[] {
  const core = city.packs.filter((pack) => pack.name === CORE_PACK && pack.rig === '');
  const roots: SkillRoot[] = core.map((pack) => ({ dir: join(pack.dir, 'skills'), source: 'core' }));
  if (city.skillsDir !== '') roots.push({ dir: city.skillsDir, source: 'city' });
  if (agent && agent.skillsDir !== '') roots.push({ dir: agent.skillsDir, source: 'agent' });
  return roots;
}

/** The skills in these folders, by name; of two with one name the later folder's counts. */
export async function readSkills(roots: readonly SkillRoot[]): Promise<readonly Skill[]> {
  const skills = new Map<string, Skill>();
  for (const root of roots) for (const skill of await skillsIn(root)) skills.set(skill.name, skill);
  return [...skills.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function skillsIn({ dir, source }: SkillRoot): Promise<readonly Skill[]> {
  const skills: Skill[] = [];
  for (const name of (await namesIn(dir)).sort()) {
    if (name.startsWith('.')) continue;
    const text = await readFile(join(dir, name, 'SKILL.md'), 'utf8').catch(missing);
    if (text !== undefined)
      skills.push({ name, dir: join(dir, name), source, description: descriptionOf(text) });
  }
  return skills;
}

async function namesIn(dir: string): Promise<string[]> {
  return (await readdir(dir).catch(missing)) ?? [];
}

function missing(error: unknown): undefined {
  const code = codeOf(error);
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return undefined;
  throw error;
}

/** `description:` of the block between the first two lines of dashes, on one line. */
export function descriptionOf(text: string): string {
  const head = /^---\r?\n([\s\S]*?)\r?\n---/.exec(text)?.[1] ?? '';
  const value =
    /^description:[ \t]*(?:[>|][+-]?[ \t]*\r?\n)?((?:.*)(?:\r?\n[ \t]+.*)*)/m.exec(head)?.[1] ?? '';
  return value
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/^(["'])(.*)\1$/, '$2');
}

/** What a prompt says about the skills of its session; `''` without any. Source: Gas City's skills appendix. */
export function skillsAppendix(skills: readonly Skill[]): string {
  if (skills.length === 0) return '';
  const lines = skills.map(
    ({ name, description }) => `- ${name}${description === '' ? '' : `: ${description}`}`,
  );
  return `## Skills available to this session\n\n${lines.join('\n')}\n`;
}

/** A prompt with what is said about skills after a blank line. */
export function withAppendix(prompt: string, appendix: string): string {
  if (prompt === '' || appendix === '') return prompt + appendix;
  return `${prompt.trimEnd()}\n\n${appendix}`;
}
