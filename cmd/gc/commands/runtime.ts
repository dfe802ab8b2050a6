import { cityRoot, withCityAt } from '../city/access.ts';
import { ownSession } from '../city/own-session.ts';
import { untilKilled } from '../city/until-killed.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { onSessions } from './session-each.ts';

export const runRuntimeDrain: CommandRun = async (context, input) =>
  onSessions(context, named(input), {
    done: 'to drain',
    act: (api, target) => api.drain(target),
    line: (session) => `Draining session '${session.display_name}'`,
  });

export const runRuntimeUndrain: CommandRun = async (context, input) =>
  onSessions(context, named(input), {
    done: 'undrained',
    act: (api, target) => api.undrain(target),
    line: (session) => `Undrained session '${session.display_name}'`,
  });

/** Says nothing: agents ask in a loop. A name that cannot be resolved is an error all the same. */
export const runRuntimeDrainCheck: CommandRun = async (context, input) => {
  const given = input.optionalArg('session');
  try {
    const { root, name, life } = await meant(context, given);
    const { draining } = await withCityAt(context, root, ({ api }) => api.drainState(name, life));
    return draining ? 0 : 1;
  } catch (error) {
    if (given !== undefined) throw error;
    return 1;
  }
};

export const runRuntimeDrainAck: CommandRun = async (context, input) => {
  const { root, name, life } = await meant(context, input.optionalArg('session'));
  await withCityAt(context, root, ({ api }) => api.acknowledgeDrain(name, life));
  context.out.write('Drain acknowledged. Controller will stop this session.\n');
  return 0;
};

/** Does not return: an agent that asks for a new life is not to go on with this one. */
export const runRuntimeRequestRestart: CommandRun = async (context) => {
  const { root, name, life } = await ownSession(context);
  const live = await withCityAt(context, root, async (city) => {
    await city.api.requestRestart(name, life);
    return city.live;
  });
  context.out.write('Restart requested. Blocking until controller kills this session...\n');
  return untilKilled(context, live);
};

async function meant(context: Context, given: string | undefined) {
  if (given === undefined) return ownSession(context);
  return { root: await cityRoot(context), name: given, life: {} };
}

function named(input: Input): string {
  const name = input.optionalArg('session');
  if (name === undefined) throw new UsageError('missing session alias or ID');
  return name;
}
