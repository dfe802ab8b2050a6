import type { AnswerReply, AnswerRequest } from '../../../internal/controller/question-api.ts';
import { withCity } from '../city/access.ts';
import { UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import { questionsText, scopeText } from '../output/questions-text.ts';
import { refuseAgents } from '../sessions/agent-side.ts';

export const runPending: CommandRun = async (context, input) => {
  const target = input.optionalArg('session');
  const found = await withCity(context, ({ api }) => api.questions(target));
  if (context.json) context.out.write(`${JSON.stringify(found, null, 2)}\n`);
  else
    context.out.write(
      questionsText(found.items, {
        now: context.clock.now(),
        gc: context.gc,
        columns: context.out.columns,
        isWhole: target !== undefined,
      }),
    );
  for (const { session, reason } of found.unknown)
    context.err.write(`gc: ${session} could not be looked at: ${reason}\n`);
  return found.unknown.length > 0 ? 1 : 0;
};

const SCOPES = ['once', 'session', 'project', 'city', 'always'] as const;

export const runRespond: CommandRun = async (context, input) => {
  refuseAgents(context.env, process.pid, 'answering');
  const target = input.arg('question');
  const action = input.rest('choice').join(' ').trim();
  if (action === '') throw new UsageError('no answer was given; gc session pending shows the choices');
  const said = input.text('for') ?? 'once';
  const scope = SCOPES.find((each) => each === said);
  if (!scope) throw new UsageError(`--for takes ${SCOPES.join(', ')}, not "${said}"`);
  const text = input.text('text');
  const request: AnswerRequest = {
    action,
    channel: 'cli',
    ...(scope === 'once' ? {} : { scope }),
    ...(text === undefined ? {} : { text }),
  };
  const reply = await withCity(context, ({ api }) => api.answer(target, request));
  context.out.write(context.json ? `${JSON.stringify(reply, null, 2)}\n` : replyText(reply));
  if (reply.notice !== undefined) context.err.write(`gc: ${reply.notice}\n`);
  return 0;
};

function replyText({ session, choice, rule }: AnswerReply): string {
  const how = rule ? `${scopeText(rule)}, rule ${rule.id}` : 'once';
  return `${session} was answered: ${choice} (${how}, by you)\n`;
}
