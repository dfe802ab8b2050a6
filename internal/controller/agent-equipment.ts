import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { hookSupport } from '../agent/hooks/hook-support.ts';
import { readSkills, type Skill, skillRoots } from '../agent/skills/catalog.ts';
import { materializeCommand, skillDelivery } from '../agent/skills/delivery.ts';
import type { Agent, City } from '../config/city.ts';
import type { ResolvedPreset, Transport } from '../config/preset/resolve-preset.ts';
import { quoteWord } from '../config/preset/shell-words.ts';
import type { RealPath } from '../config/work-dir.ts';
import { hashPathContent } from '../runtime/path-hash.ts';
import type { CopyEntry } from '../runtime/runtime-config.ts';
import { claudeSettingsFile } from './agent-files.ts';
import { isGenerated } from './generated-files.ts';

/** What the city gives an agent program besides its command and its prompt. */
export interface Equipment {
  /** A hook of ours tells the agent its prompt: the start only says who it is. */
  readonly primedByHook: boolean;
  /** Follows the command; `''` or begins with a blank. */
  readonly commandWords: string;
  readonly copyFiles: readonly CopyEntry[];
  readonly preStart: readonly string[];
  readonly fingerprintExtra: Readonly<Record<string, string>>;
  /** Skills that will be there, for the prompt. */
  readonly skills: readonly Skill[];
}

export interface EquipmentRequest {
  readonly city: City;
  readonly agent: Agent;
  readonly preset: ResolvedPreset;
  readonly transport: Transport;
  /** It runs on another machine, where nothing of ours is installed. */
  readonly elsewhere: boolean;
  readonly workDir: string;
  /** The overlays that will be laid over the work dir. */
  readonly overlays: readonly string[];
  /** The runtime provider's name. */
  readonly provider: string;
  readonly realPath: RealPath;
}

/** Looks at the disk: hooks count only where they are installed, skills only where they are. */
export async function equipmentOf(request: EquipmentRequest): Promise<Equipment> {
  const [hooks, skills] = await Promise.all([hooksOf(request), skillsOf(request)]);
  return { ...hooks, ...skills };
}

type Hooks = Pick<Equipment, 'primedByHook' | 'commandWords' | 'copyFiles'>;

const NO_HOOKS: Hooks = { primedByHook: false, commandWords: '', copyFiles: [] };

async function hooksOf(request: EquipmentRequest): Promise<Hooks> {
  const { city, agent, preset, overlays } = request;
  if (request.transport === 'acp' || request.elsewhere) return NO_HOOKS;
  const support = hookSupport(city, agent, preset);
  switch (support) {
    case 'none':
      return NO_HOOKS;
    case 'overlay': {
      // Who says that hooks are installed has put them there otherwise.
      const there = agent.hooksInstalled === true || (await hasSlot(overlays, preset.kind));
      return { ...NO_HOOKS, primedByHook: there };
    }
    case 'settings': {
      const src = claudeSettingsFile(city.root);
      const contentHash = await hashPathContent(src);
      if (contentHash === '') return NO_HOOKS;
      const copy = { src, relDst: join('.gc', 'settings.json'), probed: true, contentHash };
      return { primedByHook: true, commandWords: ` --settings ${doubleQuoted(src)}`, copyFiles: [copy] };
    }
  }
}

async function hasSlot(overlays: readonly string[], slot: string): Promise<boolean> {
  for (const dir of overlays) {
    const found = await stat(join(dir, 'per-provider', slot)).catch(() => undefined); // no such slot
    if (found?.isDirectory()) return true;
  }
  return false;
}

function doubleQuoted(path: string): string {
  return /["$`\\!]/.test(path) ? quoteWord(path) : `"${path}"`;
}

type Skills = Pick<Equipment, 'preStart' | 'fingerprintExtra' | 'skills'>;

async function skillsOf({
  city,
  agent,
  preset,
  workDir,
  provider,
  realPath,
}: EquipmentRequest): Promise<Skills> {
  const delivery = skillDelivery(city, agent, preset.kind, provider, realPath);
  const skills = delivery ? await readSkills(skillRoots(city, agent)) : [];
  if (!delivery || skills.length === 0) return { preStart: [], fingerprintExtra: {}, skills: [] };
  const command = materializeCommand(delivery, agent, workDir);
  const hashes = await Promise.all(
    skills.map(async ({ name, dir }) => [`skills:${name}`, await hashPathContent(dir, isGenerated)] as const),
  );
  return {
    preStart: command === '' ? [] : [command],
    fingerprintExtra: Object.fromEntries(hashes),
    skills,
  };
}
