import { readSkills, skillRoots } from '../../../internal/agent/skills/catalog.ts';
import { cityRoot, withCity } from '../city/access.ts';
import { agentNamed } from '../city/agent-words.ts';
import { loadChecked } from '../city/load-city.ts';
import { UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { renderTable } from '../output/table.ts';
import { shortPath } from '../output/times.ts';

export const runSkillList: CommandRun = async (context, input) => {
  const word = input.text('agent');
  const session = input.text('session');
  if (word !== undefined && session !== undefined)
    throw new UsageError('--agent and --session say the same thing twice');
  const city = await loadChecked(context, await cityRoot(context));
  const template = session === undefined ? word : await templateOf(context, session);
  const agent = template === undefined ? undefined : agentNamed(context, city, template).agent;
  const skills = await readSkills(skillRoots(city, agent));
  if (context.json) {
    context.out.write(
      `${JSON.stringify(
        skills.map(({ dir, ...rest }) => ({ ...rest, path: dir })),
        null,
        2,
      )}\n`,
    );
  } else if (skills.length === 0) {
    context.out.write(
      'No skills. A skill is a folder with a SKILL.md under skills/ of the city or agents/<agent>/skills/.\n',
    );
  } else {
    const home = context.out.isTTY ? context.env['HOME'] : undefined;
    const rows = skills.map(({ name, source, dir }) => [name, source, shortPath(dir, home)]);
    context.out.write(renderTable(['NAME', 'SOURCE', 'PATH'], rows));
  }
  return 0;
};

function templateOf(context: Context, session: string): Promise<string> {
  return withCity(context, async ({ api }) => (await api.session(session)).template);
}
