import type { Agent, City } from '../../config/city.ts';
import type { ResolvedPreset } from '../../config/preset/resolve-preset.ts';

/**
 * How an agent's hooks get to its program: by settings that the city writes and the command names, or by files of an
 * overlay. `none`: it has no hooks of ours, and gets its prompt the plain way.
 */
export type HookSupport = 'settings' | 'overlay' | 'none';

/**
 * What is asked for; whether the files are there is for the caller to see. Claude Code under its own name always
 * has hooks, others where `install_agent_hooks` lists them (an agent's list replaces the workspace's); `hooks_installed` decides over both. A
 * workspace's own start command is an unknown program, whatever provider stands beside it.
 * Source: Gas City's hook rules.
 */
export function hookSupport(
  city: Pick<City, 'workspace'>,
  agent: Pick<Agent, 'startCommand' | 'installAgentHooks' | 'hooksInstalled'>,
  preset: Pick<ResolvedPreset, 'name' | 'kind' | 'supportsHooks'>,
): HookSupport {
  if (preset.name === '' || !preset.supportsHooks) return 'none';
  const how = preset.kind === 'claude' ? 'settings' : 'overlay';
  if (agent.hooksInstalled !== undefined) return agent.hooksInstalled ? how : 'none';
  if (city.workspace.startCommand !== '') return 'none';
  const listed = agent.installAgentHooks ?? city.workspace.installAgentHooks;
  return preset.name === 'claude' || listed.includes(preset.name) ? how : 'none';
}
