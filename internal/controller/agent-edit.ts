import type { Agent, City } from '../config/city.ts';
import { isToml } from '../config/document/read-source.ts';
import { setSuspended } from '../config/edit/edit-city.ts';
import { type EditPlace, fileEditIo } from '../config/edit/file-edit.ts';
import { GcError } from '../platform/errors.ts';

/**
 * Writes `suspended` where the agent is declared, and nothing else of the file. A pack is not edited: it belongs to others.
 * @throws EditError, GcError `config-locked`, `agent-in-pack`, `set-by-patch`
 */
export async function suspendAgentInFile(
  place: EditPlace,
  city: City,
  agent: Agent,
  suspended: boolean,
): Promise<void> {
  if (agent.packName !== '' || agent.implicit) {
    if (agent.suspended === suspended) return;
    throw definedElsewhere(city, agent, { suspended });
  }
  refusePatched(city, agent, 'suspended');
  const target = { kind: 'agent', qualifiedName: agent.qualifiedName } as const;
  await setSuspended(city, target, suspended, fileEditIo(place));
}

/** What a patch says wins over the declaration: editing that would change nothing. @throws GcError `set-by-patch` */
export function refusePatched(city: City, agent: Agent, key: string): void {
  const path = `agents[${city.agents.indexOf(agent)}].${key}`;
  const layer = city.provenance.layerOf(path);
  const position = city.provenance.positionOf(path);
  if (!position || !/^(patch|override) /.test(layer ?? '')) return;
  throw new GcError('set-by-patch', `"${key}" of agent "${agent.qualifiedName}" is set by a ${layer}`, {
    next: `edit it there: ${position.file}:${position.line}`,
  });
}

/** With the patch that says it instead. Source: Gas City's message for the agents of packs. */
export function definedElsewhere(
  city: City,
  agent: Agent,
  values: Readonly<Record<string, number | boolean>>,
): GcError {
  const name = JSON.stringify(agent.qualifiedName);
  const where = agent.implicit ? 'made from a provider' : 'defined by a pack';
  const entries = Object.entries(values);
  const flow = entries.map(([key, value]) => `, ${key}: ${value}`).join('');
  const lines = isToml(city.file)
    ? ['[[patches.agent]]', `name = ${name}`, ...entries.map(([key, value]) => `${key} = ${value}`)]
    : ['patches:', '  agent:', `    - { name: ${name}${flow} }`];
  return new GcError('agent-in-pack', `agent ${name} is ${where} — use [[patches]] to override`, {
    next: [`add to ${city.file}:`, ...lines.map((line) => `    ${line}`)].join('\n'),
  });
}
