import type { SourcePosition } from '../city.ts';
import { type BuiltAgent, type CheckedCity, place } from '../compose/built-agent.ts';
import type { Draft } from '../compose/draft.ts';
import { didYouMean } from '../document/nearest.ts';
import type { ProblemList } from '../document/problems.ts';
import { shownPosition } from '../document/source-document.ts';
import { BUILTIN_PRESET_NAMES, builtinPreset } from '../preset/presets.ts';
import { reportDependencies } from './dependencies.ts';
import { validateProviderOf } from './validate-providers.ts';
import { validateWorktree } from './validate-worktrees.ts';

/** Names that no session may have, because commands use them as words. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(['status', 'drain', 'poll', 'human']);

/** Everything that can be wrong with agents taken together. Source: Gas City agent validation. */
export function validateAgents(
  agents: readonly BuiltAgent[],
  draft: Draft,
  city: CheckedCity,
  problems: ProblemList,
): void {
  reportDuplicates(agents, city.root, problems);
  for (const built of agents) {
    const { agent } = built;
    const label = `agent "${agent.qualifiedName}"`;
    if (RESERVED_NAMES.has(agent.name)) {
      problems.error(
        'reserved-name',
        `${label}: "${agent.name}" is a word of the command line, not a name`,
        agent.source,
      );
    }
    const max = agent.maxActiveSessions;
    if (max !== undefined && max >= 0 && agent.minActiveSessions > max) {
      problems.error(
        'min-above-max',
        `${label}: min_active_sessions ${agent.minActiveSessions} is above max_active_sessions ${max}`,
        place(built, 'min_active_sessions'),
      );
    }
    warnAboutAgent(built, label, city, problems);
    // What is wrong with a preset is told where the preset is written.
    if (!agent.implicit) validateProviderOf(built, label, draft, city, problems);
    validateWorktree(built, label, city, problems);
  }
  reportDependencies(agents, draft.broken.agents, problems);
}

function reportDuplicates(agents: readonly BuiltAgent[], root: string, problems: ProblemList): void {
  const first = new Map<string, BuiltAgent>();
  for (const built of agents) {
    const { qualifiedName, source } = built.agent;
    const other = first.get(qualifiedName);
    if (!other) {
      first.set(qualifiedName, built);
      continue;
    }
    const places = `(from "${shownPosition(root, other.agent.source)}" and "${shownPosition(root, source)}")`;
    const message = `agent "${qualifiedName}": duplicate name ${places}`;
    problems.error(
      'duplicate-agent',
      message,
      source,
      'rename one of them, or give them different rigs (dir)',
    );
  }
}

function warnAboutAgent(built: BuiltAgent, label: string, city: CheckedCity, problems: ProblemList): void {
  const { agent, entry } = built;
  for (const key of ['skills', 'mcp'] as const) {
    if (entry.value[key] === undefined) continue;
    problems.warning(
      'deprecated-key',
      `${label}: ${key} is read by nothing any more`,
      place(built, key),
      'remove it',
    );
  }
  if (agent.namepool !== '' && (agent.maxActiveSessions ?? 0) < 0) {
    problems.warning(
      'namepool-unlimited',
      `${label}: a name pool with unlimited sessions runs out of names`,
      place(built, 'namepool'),
    );
  }
  if (agent.idleTimeoutMs !== undefined && agent.sleepAfterIdle !== '' && agent.sleepAfterIdle !== 'off') {
    problems.warning(
      'two-idle-rules',
      `${label}: idle_timeout (restart) and sleep_after_idle (sleep) are both set`,
      place(built, 'idle_timeout'),
      'keep the one that is meant',
    );
  }
  const rigs = city.rigs.map((rig) => rig.name);
  const suggestion = agent.dir === '' || rigs.includes(agent.dir) ? '' : didYouMean(agent.dir, rigs);
  if (suggestion !== '') {
    problems.warning(
      'unknown-rig',
      `${label}: there is no rig "${agent.dir}"${suggestion}`,
      place(built, 'dir'),
    );
  }
}

/** Hook installation names only programs that have hooks. */
export function warnHooks(names: readonly string[], position: SourcePosition, problems: ProblemList): void {
  for (const name of names) {
    if (builtinPreset(name)?.supportsHooks) continue;
    const known = BUILTIN_PRESET_NAMES.filter((preset) => builtinPreset(preset)?.supportsHooks);
    problems.warning(
      'no-hooks',
      `install_agent_hooks: "${name}" has no hook mechanism${didYouMean(name, known)}`,
      position,
    );
  }
}
