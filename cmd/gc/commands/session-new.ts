import type { SessionView } from '../../../internal/controller/city-api.ts';
import { type CityHandle, withCity } from '../city/access.ts';
import { typed } from '../city/invocation.ts';
import { untilUp } from '../city/until-up.ts';
import { UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { shellWord, targetOf } from '../output/words.ts';
import { attachTo } from './session-attach.ts';

export const runSessionNew: CommandRun = async (context, input) => {
  const template = input.arg('template').replace(/^template:/, '');
  const alias = input.text('alias');
  if (alias === '') throw new UsageError('the alias is empty', 'leave --alias away for a name of its own');
  const title = input.text('title') || shortTitle(input.text('title-hint'));
  const force = input.flag('force') ? { force: true } : {};
  const request = { template, ...(alias ? { alias } : {}), ...(title ? { title } : {}), ...force };
  return withCity(context, async (city) => {
    const session = await city.api.newSession(request);
    if (context.json) {
      context.out.write(`${JSON.stringify(session, null, 2)}\n`);
      return 0;
    }
    const how = city.live ? ' (reconciler will start it)' : '';
    context.out.write(`Session ${session.id} created from template "${session.template}"${how}.\n`);
    const atTerminal = context.stdinIsTTY() && context.out.isTTY;
    if (input.flag('no-attach') || !atTerminal) return 0;
    return waitAndAttach(context, city, session);
  });
};

const TITLE_CHARS = 80;

/** The beginning of a text as a title. Source: Gas City, without its model's second thought. */
function shortTitle(hint: string | undefined): string {
  const line = (hint ?? '').trim().split('\n')[0]?.trim() ?? '';
  const chars = [...line];
  return chars.length <= TITLE_CHARS
    ? line
    : `${chars
        .slice(0, TITLE_CHARS - 3)
        .join('')
        .trimEnd()}...`;
}

async function waitAndAttach(context: Context, city: CityHandle, session: SessionView): Promise<number> {
  context.out.write('Waiting for session to start...\n');
  const started = await untilUp(context, city.api, session.id);
  if (started.transport === 'acp') {
    const name = shellWord(targetOf(started));
    const next = [`gc nudge ${name} "hello"`, `gc session peek ${name}`].map((line) =>
      typed(line, context.gc),
    );
    context.out.write(`Session uses ACP transport; not attaching.\n  ${next.join('\n  ')}\n`);
    return 0;
  }
  context.out.write('Attaching...\n');
  return attachTo(context, city, started);
}
