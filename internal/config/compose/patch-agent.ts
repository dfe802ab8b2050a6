import { isAbsolute, join, resolve } from 'node:path';
import type { RawAgent } from '../schema/schema-agent.ts';
import type { RawAgentChanges } from '../schema/schema-patch.ts';
import type { AgentEntry, PatchEntry } from './draft.ts';
import { changed, type Origin } from './entry.ts';

/** Lists that a patch can add to, beside replacing them. */
const APPENDED = [
  'pre_start',
  'session_setup',
  'session_live',
  'install_agent_hooks',
  'inject_fragments',
] as const;
/** Values that are paths: relative ones start at the folder of the patch. */
const PATHS: ReadonlySet<string> = new Set([
  'prompt_template',
  'session_setup_script',
  'overlay_dir',
  'namepool',
]);
const MERGED: ReadonlySet<string> = new Set(['env', 'option_defaults']);
const POOL_KEYS = {
  min: 'min_active_sessions',
  max: 'max_active_sessions',
  check: 'scale_check',
  drain_timeout: 'drain_timeout',
  on_death: 'on_death',
  on_boot: 'on_boot',
} as const;
/** Old keys of which only that they do nothing is told, under the agent's own old key. */
const TOMBSTONES: Readonly<Record<string, string>> = { skills_append: 'skills', mcp_append: 'mcp' };
const NOT_VALUES: ReadonlySet<string> = new Set([
  'agent',
  'name',
  'dir',
  'pool',
  'env_remove',
  ...APPENDED.map((key) => `${key}_append`),
]);

/**
 * The agent as a patch or an override changes it. Scalars replace; lists replace when they are not empty, `*_append`
 * adds; `env` and `option_defaults` are merged, then `env_remove` takes away. Source: Gas City agent patches.
 */
export function patchAgent(
  entry: AgentEntry,
  patch: PatchEntry<RawAgentChanges & { readonly dir?: string | undefined }>,
  cityRoot: string,
  what: {
    readonly label: string;
    readonly kind: 'agent_patch' | 'rig_override';
    /** A pack patches, not the city. */
    readonly ofPack?: true;
  },
): AgentEntry {
  const next: Record<string, unknown> = { ...entry.value };
  const origins: Record<string, Origin> = {};
  const at = (...keys: (string | number)[]): Origin => ({
    document: patch.document,
    path: [...patch.path, ...keys],
    layer: what.label,
    ...(what.ofPack ? { ofPack: true } : {}),
  });
  for (const [written, value] of Object.entries(patch.value)) {
    if (value === undefined || NOT_VALUES.has(written)) continue;
    const key = TOMBSTONES[written] ?? written;
    if (Array.isArray(value) && value.length === 0) continue;
    if (MERGED.has(key) && isTexts(value)) {
      next[key] = { ...recordOf(next[key]), ...value };
      for (const name of Object.keys(value)) origins[`${key}.${name}`] = at(key, name);
      continue;
    }
    next[key] =
      PATHS.has(key) && typeof value === 'string' ? fromFolder(value, patch.sourceDir, cityRoot) : value;
    origins[key] = at(written);
  }
  for (const [key, target] of Object.entries(POOL_KEYS)) {
    const value = patch.value.pool?.[key as keyof typeof POOL_KEYS];
    if (value === undefined) continue;
    next[target] = value;
    origins[target] = at('pool', key);
  }
  for (const key of APPENDED) {
    const added = patch.value[`${key}_append`] ?? [];
    const before = entryList(next[key]);
    added.forEach((_, index) => {
      origins[`${key}[${before.length + index}]`] = at(`${key}_append`, index);
    });
    if (added.length > 0) next[key] = [...before, ...added];
  }
  if (patch.value.env_remove) {
    const gone = new Set(patch.value.env_remove);
    next['env'] = Object.fromEntries(
      Object.entries(recordOf(next['env'])).filter(([name]) => !gone.has(name)),
    );
  }
  if (what.kind === 'rig_override' && patch.value.dir !== undefined) {
    next['dir'] = patch.value.dir;
    origins['dir'] = at('dir');
  }
  // Every value above was checked by the patch's schema, whose keys are the agent's.
  const result = changed(entry, next as RawAgent, origins);
  return patch.value.sleep_after_idle === undefined ? result : { ...result, sleepSource: what.kind };
}

/** `//x` starts at the city, a relative path at the folder of whoever wrote it. */
export function fromFolder(path: string, folder: string, cityRoot: string): string {
  if (path === '') return path;
  if (path.startsWith('//')) return join(cityRoot, path.slice(2));
  return isAbsolute(path) ? path : resolve(folder, path);
}

function isTexts(value: unknown): value is Record<string, string> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function entryList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
