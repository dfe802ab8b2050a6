import { join, resolve } from 'node:path';
import type { Agent, City } from '../../config/city.ts';
import { quoteWord } from '../../config/preset/shell-words.ts';
import { type RealPath, rigOf } from '../../config/work-dir.ts';

/** Where an agent program looks for skills, below the folder it works in. Source: Gas City. */
const SINKS: ReadonlyMap<string, string> = new Map([
  ['claude', join('.claude', 'skills')],
  ['codex', join('.codex', 'skills')],
  ['gemini', join('.gemini', 'skills')],
  ['opencode', join('.opencode', 'skills')],
]);

/** Runtime providers whose sessions see this machine's files. */
const LOCAL_PROVIDERS: ReadonlySet<string> = new Set(['', 'tmux', 'subprocess', 'fake']);

export interface SkillDelivery {
  /** Relative to the folder the agent works in. */
  readonly sink: string;
  /** The folder of the city or of the agent's rig: linked when a config comes into force. */
  readonly scopeRoot: string;
}

/** How an agent's skills reach its program; `undefined`: they do not. */
export function skillDelivery(
  city: Pick<City, 'root' | 'rigs'>,
  agent: Pick<Agent, 'dir' | 'session'>,
  presetKind: string,
  provider: string,
  realPath: RealPath,
): SkillDelivery | undefined {
  const sink = SINKS.get(presetKind);
  if (sink === undefined || agent.session === 'acp' || !LOCAL_PROVIDERS.has(provider)) return undefined;
  return { sink, scopeRoot: rigOf(city, agent, realPath)?.path ?? city.root };
}

/** The command before the start that links the skills of a session which works elsewhere; `''`: it needs none. */
export function materializeCommand(
  delivery: SkillDelivery,
  agent: Pick<Agent, 'qualifiedName'>,
  workDir: string,
): string {
  if (resolve(workDir) === resolve(delivery.scopeRoot)) return '';
  const words = ['--agent', quoteWord(agent.qualifiedName), '--workdir', quoteWord(workDir)];
  return `"\${GC_BIN:-gc}" internal materialize-skills ${words.join(' ')}`;
}
