import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CLAUDE_SETTINGS, withoutOwnHooks } from '../agent/hooks/claude-settings.ts';
import { readSkills, type Skill, skillRoots } from '../agent/skills/catalog.ts';
import { skillDelivery } from '../agent/skills/delivery.ts';
import { type Linked, linkSkills } from '../agent/skills/link-skills.ts';
import type { Agent, City } from '../config/city.ts';
import { resolvePreset } from '../config/preset/resolve-preset.ts';
import { ensurePrivateDirFor, writeFileAtomic } from '../platform/atomic-file.ts';
import { codeOf, GcError, messageOf } from '../platform/errors.ts';
import { isFields } from '../platform/fields.ts';
import type { Environment } from '../platform/paths.ts';
import { mergeSettings } from '../runtime/overlay-merge.ts';
import { writeAgentTools } from './agent-tools.ts';
import { excludeFromGit } from './git-exclude.ts';
import { linkLayers } from './layer-links.ts';
import { lookPathIn } from './look-path.ts';
import { cityRuntimeDir } from './turn-flags.ts';

const SETTINGS_MODE = 0o600;

/** What Claude Code of a city is started with: made here, never edited by hand. */
export function claudeSettingsFile(cityRoot: string): string {
  return join(cityRoot, '.gc', 'settings.json');
}

/** What the agents of a city run in. */
export interface AgentSurroundings {
  /** The runtime provider's name. */
  readonly provider: string;
  /** What agents call as `gc`, absolute. */
  readonly program: string;
  /** The environment that the city was started with. */
  readonly env: Environment;
}

/**
 * Writes what the agents of a city are given by the city itself, when a config comes into force: the settings of Claude
 * Code, `gc` and `bd` for their PATH, and links to skills, formulas and scripts in the folders of the city and its rigs.
 * Writes nothing where nothing changed. Answers what is wrong, as lines for people: none of it keeps a city from running.
 */
export async function writeAgentFiles(
  city: City,
  surroundings: AgentSurroundings,
): Promise<readonly string[]> {
  const problems: string[] = [];
  const { provider } = surroundings;
  const steps = [
    () => writeClaudeSettings(city),
    () => writeTools(city, surroundings),
    () => linkScopeSkills(city, provider),
    () => linkLayers(city),
  ];
  for (const write of steps) {
    try {
      problems.push(...(await write()));
    } catch (error) {
      problems.push(messageOf(error));
    }
  }
  return problems;
}

/** `writeAgentFiles` with what is wrong said in the log. Comes before anything is resolved with that config. */
export async function equipAgents(
  city: City,
  surroundings: AgentSurroundings,
  log: (line: string) => void,
): Promise<void> {
  for (const problem of await writeAgentFiles(city, surroundings)) log(`agent files: ${problem}`);
}

async function writeTools(city: City, { program, env }: AgentSurroundings): Promise<readonly string[]> {
  const found = lookPathIn(city.root, env)('bd');
  // A city that was started from one of its own sessions finds what it gave that session.
  const hasRealBd = found !== undefined && dirname(found) !== join(cityRuntimeDir(city.root), 'bin');
  await writeAgentTools({ dir: city.root, program, hasRealBd });
  return [];
}

/**
 * The settings are ours with the city's own over them: `.claude/settings.json` over `hooks/claude.json`; where there is
 * neither, what stands in the file already stays in it. Overlays that will be laid over the city's folder are in it from
 * the start, or the first agent there would change what all others are started with. With wrong settings of the city's
 * own the last good ones stay.
 */
async function writeClaudeSettings(city: City): Promise<readonly string[]> {
  const file = claudeSettingsFile(city.root);
  const existing = await textOf(file);
  let settings: string;
  let problems: readonly string[] = [];
  try {
    settings = await projectedSettings(city, existing);
  } catch (error) {
    problems = [messageOf(error)];
    if (existing !== undefined) return problems;
    settings = mergeSettings('{}', CLAUDE_SETTINGS);
  }
  if (settings !== existing) {
    ensurePrivateDirFor(file);
    await writeFileAtomic(file, settings, SETTINGS_MODE);
  }
  return problems;
}

/** Agents that share a folder and a program share its skills there: what one of them brings alone is for all. */
async function linkScopeSkills(city: City, provider: string): Promise<readonly string[]> {
  const sinks = new Map<string, Map<string, Skill>>();
  // Most agents have no folder of their own: what they share is read once.
  const known = new Map<string, readonly Skill[]>();
  for (const agent of city.agents) {
    const delivery = skillDelivery(city, agent, presetKindOf(city, agent), provider, samePath);
    if (!delivery) continue;
    const sink = join(delivery.scopeRoot, delivery.sink);
    const wanted = sinks.get(sink) ?? new Map<string, Skill>();
    const skills = known.get(agent.skillsDir) ?? (await readSkills(skillRoots(city, agent)));
    known.set(agent.skillsDir, skills);
    for (const skill of skills) wanted.set(skill.name, skill);
    sinks.set(sink, wanted);
  }
  const problems: string[] = [];
  for (const [sink, skills] of sinks) {
    const { linked, blocked } = await linkSkills(sink, [...skills.values()], ownedSkillFolders(city));
    await excludeFromGit(city.root, sink, linked.toSorted());
    for (const name of blocked)
      problems.push(`skill "${name}" is not linked: ${join(sink, name)} is somebody's own`);
  }
  return problems;
}

/** The links of one session that works outside of its scope's folder. `undefined`: its program takes no skills. */
export async function linkSessionSkills(
  city: City,
  agent: Agent,
  workDir: string,
): Promise<(Linked & { readonly sink: string }) | undefined> {
  const delivery = skillDelivery(city, agent, presetKindOf(city, agent), '', samePath);
  if (!delivery) return undefined;
  const sink = join(workDir, delivery.sink);
  const skills = await readSkills(skillRoots(city, agent));
  return { sink, ...(await linkSkills(sink, skills, ownedSkillFolders(city))) };
}

/** A link into one of these is ours. The packs that the program brings lie below `.gc` and move with its version. */
function ownedSkillFolders(city: City): readonly string[] {
  const agents = city.agents.flatMap((agent) => skillRoots(city, agent).map((root) => root.dir));
  return [
    ...new Set([...agents, join(city.root, 'skills'), join(city.root, 'agents'), join(city.root, '.gc')]),
  ];
}

/** `''`: it cannot be told yet. The program need not be there: its skills may. */
export function presetKindOf(city: City, agent: Agent): string {
  try {
    return resolvePreset(city, agent, (program) => program).kind;
  } catch {
    return ''; // said where the agent is resolved
  }
}

const samePath = (path: string): string => path;

async function projectedSettings(city: City, existing: string | undefined): Promise<string> {
  const own = ['hooks/claude.json', '.claude/settings.json'].map((path) => join(city.root, path));
  const written = await layersIn(own);
  const overlays = overlaysOnRoot(city).flatMap((dir) => [
    join(dir, '.claude', 'settings.json'),
    join(dir, 'per-provider', 'claude', '.claude', 'settings.json'),
  ]);
  const kept = written.length === 0 && existing !== undefined && isJson(existing) ? [existing] : [];
  const layers = [...kept, ...written, ...(await layersIn(overlays))];
  return layers.reduce(
    (under, over) => mergeSettings(under, withoutOwnHooks(over)),
    mergeSettings('{}', CLAUDE_SETTINGS),
  );
}

/** Overlays of the sessions that work in the city's own folder. */
function overlaysOnRoot(city: Pick<City, 'agents' | 'layers'>): readonly string[] {
  const there = city.agents.filter((agent) => agent.dir === '' && agent.workDir === '');
  if (there.length === 0) return [];
  const own = there.map((agent) => agent.overlayDir).filter((dir) => dir !== '');
  return [...new Set([...city.layers.overlays.city, ...own])];
}

/** The settings files that are there. @throws GcError `settings-unreadable` for one that is no JSON object */
async function layersIn(files: readonly string[]): Promise<readonly string[]> {
  const layers: string[] = [];
  for (const file of files) {
    const text = await textOf(file);
    if (text === undefined) continue;
    if (!isJson(text)) {
      throw new GcError(
        'settings-unreadable',
        `${file}: ${text.trim() === '' ? 'is empty' : 'is not a JSON object'}`,
        {
          next: 'correct or remove it; agents keep the last good settings',
        },
      );
    }
    layers.push(text);
  }
  return layers;
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new GcError('settings-unreadable', `${file}: ${messageOf(error)}`, { cause: error });
  }
}

function isJson(text: string): boolean {
  try {
    return isFields(JSON.parse(text));
  } catch {
    return false;
  }
}
