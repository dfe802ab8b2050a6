import { linkSessionSkills } from '../../../internal/controller/agent-files.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { agentNamed } from '../city/agent-words.ts';
import { cityInForce } from '../city/city-in-force.ts';
import { UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';

/** Links the skills of one agent into the folder that its session works in. */
export const runMaterializeSkills: CommandRun = async (context, input) => {
  const word = input.text('agent');
  const workDir = input.text('workdir');
  if (!word || !workDir) throw new UsageError('--agent and --workdir are needed');
  const city = await cityInForce(context);
  if (!city)
    throw new GcError('no-city', 'there is no city here with a config to go by', { next: 'gc config show' });
  const linked = await linkSessionSkills(city, agentNamed(context, city, word).agent, workDir);
  if (!linked) {
    context.out.write(`materialized 0 skills: the agent program of ${word} takes none\n`);
    return 0;
  }
  const count = linked.linked.length;
  context.out.write(`materialized ${count} skill${count === 1 ? '' : 's'} into ${linked.sink}\n`);
  for (const name of linked.blocked)
    context.err.write(`gc: ${linked.sink}/${name} is somebody's own; left alone\n`);
  return 0;
};
