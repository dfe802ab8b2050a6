import type { StopReply } from '../../../internal/controller/city-api.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { cityRoot, withCityAt } from '../city/access.ts';
import { reachableKeeper } from '../city/keeper.ts';
import { takeFromList } from '../city/registration.ts';
import { untilReleased } from '../city/shutdown.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';

export const runStop: CommandRun = async (context, input) => {
  const root = await cityRoot(context, input.optionalArg('path'));
  const reply = await stopCity(context, root);
  if (context.json) context.out.write(`${JSON.stringify(reply, null, 2)}\n`);
  else context.out.write(stopText(reply));
  if (reply.left.length > 0 || reply.reason !== undefined) throw leftBehind(reply);
  return 0;
};

/**
 * Ends the sessions through whoever runs the city, or directly, and takes the city from the supervisor's list. The list
 * comes first: a supervisor must not start the city again while it stops.
 */
export async function stopCity(context: Context, root: string): Promise<StopReply> {
  const keeper = await reachableKeeper(context, root);
  await takeFromList(context, root);
  if (keeper && !context.json) context.err.write('Controller stopping...\n');
  const stop = () => withCityAt(context, root, ({ api }) => api.stop());
  const reply = await stop().catch((error: unknown) => {
    if (error instanceof GcError && error.code === 'controller-lost') return undefined;
    throw error;
  });
  await untilReleased(context, root);
  // The supervisor ended the city first: what is left, if anything, is ended from here.
  return reply ?? stop();
}

function stopText(reply: StopReply): string {
  if (reply.left.length > 0 || reply.reason !== undefined) return '';
  const n = reply.stopped.length;
  return n === 0 ? 'City stopped.\n' : `City stopped. ${n} session${n === 1 ? '' : 's'} ended.\n`;
}

function leftBehind(reply: StopReply): GcError {
  if (reply.reason !== undefined) {
    const believed = reply.left.length === 0 ? 'its sessions, if any' : reply.left.join(', ');
    return new GcError('stop-incomplete', `no session was ended (${believed}): ${reply.reason}`, {
      next: 'the controller has ended; mend that, then gc start, or gc stop to end what is left',
    });
  }
  return new GcError('stop-incomplete', `could not end: ${reply.left.join(', ')}`, {
    next: 'gc doctor, then gc stop once more',
  });
}
