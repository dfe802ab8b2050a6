import { BUILTIN_PRESET_NAMES, builtinPreset } from '../preset/presets.ts';
import type { AgentEntry, Draft, SessionEntry } from './draft.ts';
import type { Entry } from './entry.ts';

/** The formula that pool agents are given work with when nothing else is said. Source: Gas City core pack. */
const DEFAULT_FORMULA = 'mol-do-work';
export const CONTROL_DISPATCHER = 'control-dispatcher';

export interface Implicit {
  readonly agents: readonly AgentEntry[];
  readonly namedSessions: readonly SessionEntry[];
}

/**
 * One agent for each configured preset, at the city and in each rig, unless somebody declared one of that name; with
 * formulas of version 2 also the dispatcher of control beads. Source: Gas City implicit agents.
 */
export function implicitAgents(
  draft: Pick<Draft, 'sections' | 'providers' | 'rigs'>,
  agents: readonly AgentEntry[],
  root: string,
  workerPrompt: string,
): Implicit {
  const taken = new Set(agents.map(({ value }) => `${value.dir ?? ''}/${value.name}`));
  const { workspace, daemon, agent_defaults: defaults } = draft.sections;
  const scopes = ['', ...draft.rigs.map(({ value }) => value.name)];
  const own = {
    binding: '',
    packName: '',
    sourceDir: root,
    folder: undefined,
    found: {},
    implicit: true as const,
  };
  const made: AgentEntry[] = [];
  const add = (dir: string, at: Entry<unknown>, value: AgentEntry['value']) => {
    if (taken.has(`${dir}/${value.name}`)) return false;
    made.push({
      ...at,
      ...own,
      rootLabel: `agent "${value.name}"`,
      value: dir === '' ? value : { ...value, dir },
    });
    return true;
  };
  for (const [name, source] of configuredPresets(draft)) {
    for (const dir of scopes) {
      add(dir, source, {
        name,
        provider: name,
        default_sling_formula: defaults.value.default_sling_formula || DEFAULT_FORMULA,
        ...(workerPrompt === '' ? {} : { prompt_template: workerPrompt }),
      });
    }
  }
  const namedSessions: SessionEntry[] = [];
  if (!daemon.value.formula_v2 && !daemon.value.graph_workflows) return { agents: made, namedSessions };
  for (const dir of scopes) {
    const at: Entry<unknown> = { ...daemon, path: [...daemon.path, 'formula_v2'] };
    const qualified = dir === '' ? CONTROL_DISPATCHER : `${dir}/${CONTROL_DISPATCHER}`;
    const isNew = add(dir, at, {
      name: CONTROL_DISPATCHER,
      description: 'Drives control beads of formulas; kept down: this version cannot run formulas yet.',
      suspended: true,
      max_active_sessions: 1,
      start_command: `"\${GC_BIN:-gc}" convoy control --serve --follow ${qualified}`,
    });
    if (!isNew) continue;
    const value = { template: CONTROL_DISPATCHER, mode: 'always' as const, ...(dir === '' ? {} : { dir }) };
    namedSessions.push({
      ...at,
      binding: '',
      packName: '',
      sourceDir: root,
      rootLabel: workspace.rootLabel,
      value,
    });
  }
  return { agents: made, namedSessions };
}

/** Presets of the file and the workspace's own: built-in ones in their order, then others by name. */
function configuredPresets({
  sections: { workspace },
  providers,
}: Pick<Draft, 'sections' | 'providers'>): ReadonlyMap<string, Entry<unknown>> {
  const found = new Map<string, Entry<unknown>>(providers);
  const chosen = workspace.value.provider ?? '';
  if (chosen !== '' && !found.has(chosen) && builtinPreset(chosen)) {
    found.set(chosen, { ...workspace, path: [...workspace.path, 'provider'] });
  }
  const builtin = BUILTIN_PRESET_NAMES.filter((name) => found.has(name));
  const others = [...found.keys()].filter((name) => !builtin.includes(name)).sort();
  return new Map(
    [...builtin, ...others].flatMap((name) => {
      const entry = found.get(name);
      return entry ? [[name, entry] as const] : [];
    }),
  );
}
