import { commandActor } from '../../../internal/events/event-types.ts';
import { messageOf } from '../../../internal/platform/errors.ts';
import { withCityStore } from '../city/city-store.ts';
import type { CommandRun } from '../cli/spec.ts';

/** For scripts: an event that is lost must not end them. Source: Gas City. */
export const runEventEmit: CommandRun = async (context, input) => {
  const note = (what: string) => context.err.write(`gc event emit: ${what}\n`);
  const subject = input.text('subject');
  const message = input.text('message');
  try {
    const payload = payloadOf(input.text('payload'), note);
    const event = {
      type: input.arg('type'),
      actor: input.text('actor') || commandActor(context.env),
      ...(subject === undefined ? {} : { subject }),
      ...(message === undefined ? {} : { message }),
      ...(payload === undefined ? {} : { payload }),
    };
    await withCityStore(context, ({ db }) => db.commit({ events: [event] }));
  } catch (error) {
    note(`not recorded: ${messageOf(error)}`);
  }
  return 0;
};

function payloadOf(text: string | undefined, note: (what: string) => void): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    note(`the payload is left out, it is not JSON: ${messageOf(error)}`);
    return undefined;
  }
}
