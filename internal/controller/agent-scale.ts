import { resolvedMax } from '../config/capacity.ts';
import type { Agent } from '../config/city.ts';
import { setAgentValues } from '../config/edit/agent-values.ts';
import { GcError } from '../platform/errors.ts';
import { definedElsewhere, refusePatched } from './agent-edit.ts';
import type { CityEngine } from './city-engine.ts';
import { problemText } from './config-reload.ts';
import { requireAgent } from './new-session.ts';
import type { ScaleReply, ScaleRequest } from './upkeep-api.ts';

interface ScaleParts {
  readonly engine: CityEngine;
  /** Reads the city file again. */
  readonly reload: () => Promise<unknown>;
}

const MIN = 'min_active_sessions';
const MAX = 'max_active_sessions';

/**
 * Writes how many sessions an agent may have where the agent is declared, and has it take effect. A pack is not edited.
 * @throws GcError `agent-not-found`, `agent-in-pack`, `set-by-patch`, `invalid-scale`; EditError
 */
export async function scaleAgent(
  { engine, reload }: ScaleParts,
  name: string,
  request: ScaleRequest,
): Promise<ScaleReply> {
  const { city, parts } = engine;
  const agent = requireAgent(city, name);
  const values = valuesOf(agent, request);
  if (agent.packName !== '' || agent.implicit) throw definedElsewhere(city, agent, values);
  for (const key of Object.keys(values)) refusePatched(city, agent, key);
  const { file, changed } = await setAgentValues(city, agent.qualifiedName, values, {
    place: parts,
    check: async () => {
      const loaded = await parts.load();
      if (loaded.kind !== 'invalid') return;
      throw new GcError(
        'invalid-scale',
        `nothing was changed, the config would be wrong: ${problemText(loaded.problems)}`,
      );
    },
  });
  await reload();
  const now = engine.city.agents.find(({ qualifiedName }) => qualifiedName === agent.qualifiedName) ?? agent;
  return {
    agent: agent.qualifiedName,
    file,
    changed,
    min: Math.max(0, now.minActiveSessions ?? 0),
    max: resolvedMax(engine.city, now) ?? -1,
  };
}

function valuesOf(agent: Agent, { min, max }: ScaleRequest): Readonly<Record<string, number>> {
  if (min === undefined && max === undefined) throw invalid(agent, 'give --min, --max or both');
  if (min !== undefined && !(Number.isSafeInteger(min) && min >= 0))
    throw invalid(agent, `min must be a whole number of at least 0, not ${min}`);
  if (max !== undefined && !(Number.isSafeInteger(max) && max >= -1))
    throw invalid(agent, `max must be -1 (no limit) or a whole number of at least 0, not ${max}`);
  const least = min ?? agent.minActiveSessions ?? 0;
  const most = max ?? agent.maxActiveSessions ?? -1;
  if (most >= 0 && least > most) throw invalid(agent, `min ${least} is above max ${most}`, least);
  return { ...(min === undefined ? {} : { [MIN]: min }), ...(max === undefined ? {} : { [MAX]: max }) };
}

function invalid(agent: Agent, what: string, most = 5): GcError {
  const next = `gc agent scale ${agent.qualifiedName} --min ${Math.min(1, most)} --max ${most}`;
  return new GcError('invalid-scale', what, { next });
}
