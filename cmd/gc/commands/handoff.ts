import { withCity, withCityAt } from '../city/access.ts';
import { mailSender, ownSession } from '../city/own-session.ts';
import { untilKilled } from '../city/until-killed.ts';
import type { CommandRun } from '../cli/spec.ts';

/** To oneself it does not return: what was handed over is for the next life. */
export const runHandoff: CommandRun = async (context, input) => {
  const letter = { subject: input.arg('subject'), body: input.optionalArg('message') ?? '' };
  const target = input.text('target');
  if (target !== undefined) {
    const request = { ...letter, from: mailSender(context), by: 'other' } as const;
    const { mail_id: id, to, stops } = await withCity(context, ({ api }) => api.handoff(target, request));
    const end = stops
      ? ', killed session (reconciler will restart)'
      : ' (session not running; will be delivered on next start)';
    context.out.write(`Handoff: sent mail ${id} to ${to}${end}\n`);
    return 0;
  }
  const { root, name, address, life } = await ownSession(context);
  const request = { ...letter, ...life, from: address, by: 'session' } as const;
  const { reply, live } = await withCityAt(context, root, async (city) => ({
    reply: await city.api.handoff(name, request),
    live: city.live,
  }));
  context.out.write(`Handoff: sent mail ${reply.mail_id}, requesting restart...\n`);
  return untilKilled(context, live);
};
