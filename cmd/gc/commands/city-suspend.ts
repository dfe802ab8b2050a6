import { join } from 'node:path';
import { openCityDatabase } from '../../../internal/beads/sqlite/city-database.ts';
import { setSuspended } from '../../../internal/config/edit/edit-city.ts';
import { fileEditIo } from '../../../internal/config/edit/file-edit.ts';
import { commandActor } from '../../../internal/events/event-types.ts';
import { cityRoot } from '../city/access.ts';
import { loadChecked } from '../city/load-city.ts';
import type { Input } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { tellController } from '../rig/rig-city.ts';

export const runCitySuspend: CommandRun = (context, input) => setCity(context, input, true);
export const runCityResume: CommandRun = (context, input) => setCity(context, input, false);

async function setCity(context: Context, input: Input, suspended: boolean): Promise<number> {
  const root = await cityRoot(context, input.optionalArg('path'));
  const city = await loadChecked(context, root);
  const { clock, env } = context;
  const gcDir = join(root, '.gc');
  await setSuspended(city, { kind: 'workspace' }, suspended, fileEditIo({ gcDir, clock }));
  const db = openCityDatabase(join(gcDir, 'city.db'), clock);
  try {
    const type = suspended ? 'city.suspended' : 'city.resumed';
    await db.commit({ events: [{ type, actor: commandActor(env), subject: city.workspace.name }] });
  } finally {
    db.close();
  }
  await tellController(context, root);
  context.out.write(`City ${suspended ? 'suspended' : 'resumed'} (${root})\n`);
  return 0;
}
