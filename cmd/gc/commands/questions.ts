import type { CityApi, OpenQuestion, OpenQuestions } from '../../../internal/controller/city-api.ts';
import { codeOf, GcError } from '../../../internal/platform/errors.ts';
import { type CityHandle, withCity } from '../city/access.ts';
import { UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import { questionsText } from '../output/questions-text.ts';
import { refuseAgents } from '../sessions/agent-side.ts';

export const runPending: CommandRun = async (context, input) => {
  const target = input.optionalArg('session');
  const found = await withCity(context, ({ api }) => api.questions(target));
  if (context.json) context.out.write(`${JSON.stringify(found, null, 2)}\n`);
  else
    context.out.write(
      questionsText(found.items, { now: context.clock.now(), gc: context.gc, columns: context.out.columns }),
    );
  for (const { session, reason } of found.unknown)
    context.err.write(`gc: ${session} could not be looked at: ${reason}\n`);
  return found.unknown.length > 0 ? 1 : 0;
};

export const runRespond: CommandRun = async (context, input) => {
  refuseAgents(context.env, process.pid, 'answering');
  const target = input.arg('session');
  const action = input.rest('choice').join(' ').trim();
  if (action === '') throw new UsageError('no answer was given; gc session pending shows the choices');
  const reply = await withCity(context, async (city) => {
    const question = await questionOf(city, target);
    return city.api.answer(question.session_id, { request_id: question.request_id, action });
  });
  context.out.write(
    context.json
      ? `${JSON.stringify(reply, null, 2)}\n`
      : `${reply.session} was answered: ${reply.choice} (once, by you)\n`,
  );
  return 0;
};

/** The open question of a session, or the one with this id. */
async function questionOf({ api }: CityHandle, target: string): Promise<OpenQuestion> {
  const { items, unknown } = await questionsOf(api, target);
  const [question] = items;
  if (question) return question;
  const [failed] = unknown;
  if (failed)
    throw new GcError('runtime-unavailable', `${failed.session} could not be looked at: ${failed.reason}`);
  throw new GcError('session-no-pending', `session ${target} has no pending interaction`, {
    next: 'gc session pending',
  });
}

async function questionsOf(api: CityApi, target: string): Promise<OpenQuestions> {
  try {
    return await api.questions(target);
  } catch (error) {
    if (codeOf(error) !== 'session-not-found') throw error;
    const all = await api.questions();
    const items = all.items.filter(({ request_id }) => request_id === target);
    if (items.length === 0) throw error;
    return { items, unknown: [] };
  }
}
