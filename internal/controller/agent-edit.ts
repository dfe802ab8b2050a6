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
    throw definedElsewhere(city, agent, suspended);
  }
  refusePatched(city, agent);
  const target = { kind: 'agent', qualifiedName: agent.qualifiedName } as const;
  await setSuspended(city, target, suspended, fileEditIo(place));
}

/** What a patch says wins over the declaration: editing that would change nothing. */
function refusePatched(city: City, agent: Agent): void {
  const path = `agents[${city.agents.indexOf(agent)}].suspended`;
  const layer = city.provenance.layerOf(path);
  const position = city.provenance.positionOf(path);
  if (!position || !/^(patch|override) /.test(layer ?? '')) return;
  throw new GcError('set-by-patch', `"suspended" of agent "${agent.qualifiedName}" is set by a ${layer}`, {
    next: `edit it there: ${position.file}:${position.line}`,
  });
}

/** Source: Gas City's message for the agents of packs. */
function definedElsewhere(city: City, agent: Agent, suspended: boolean): GcError {
  const name = JSON.stringify(agent.qualifiedName);
  const where = agent.implicit ? 'made from a provider' : 'defined by a pack';
  const lines = isToml(city.file)
    ? ['[[patches.agent]]', `name = ${name}`, `suspended = ${suspended}`]
    : ['patches:', '  agent:', `    - { name: ${name}, suspended: ${suspended} }`];
  return new GcError('agent-in-pack', `agent ${name} is ${where} — use [[patches]] to override`, {
    next: [`add to ${city.file}:`, ...lines.map((line) => `    ${line}`)].join('\n'),
  });
}
