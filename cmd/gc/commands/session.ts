import type { CityApi, SessionView } from '../../../internal/controller/city-api.ts';
import { withCity } from '../city/access.ts';
import { typed } from '../city/invocation.ts';
import type { Input } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { plainText } from '../output/plain.ts';
import { renderSessionTable, sessionJson } from '../output/session-list.ts';
import { shellWord, targetOf } from '../output/words.ts';

export const runSessionList: CommandRun = async (context, input) => {
  const state = input.text('state');
  const template = input.text('template');
  const filter = { ...(state ? { state } : {}), ...(template ? { template } : {}) };
  const sessions = await withCity(context, ({ api }) => api.sessions(filter));
  if (context.json) context.out.write(`${JSON.stringify(sessions.map(sessionJson), null, 2)}\n`);
  else {
    const columns = context.out.isTTY ? context.out.columns : undefined;
    context.out.write(renderSessionTable(sessions, context.clock.now(), columns));
  }
  return 0;
};

const DEFAULT_PEEK_LINES = 50;
/** Written in slices, so that a terminal or pipe is never handed tens of megabytes at once. */
const PEEK_SLICE_CHARS = 262_144;

export const runSessionPeek: CommandRun = async (context, input) => {
  const session = input.arg('session');
  const lines = input.count('lines') ?? DEFAULT_PEEK_LINES;
  const text = await withCity(context, ({ api }) => api.peek(session, lines));
  if (context.json) {
    context.out.write(`${JSON.stringify({ session, lines, text })}\n`);
    return 0;
  }
  const whole = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  const shown = context.out.isTTY ? plainText(whole) : whole;
  for (let at = 0; at < shown.length && !context.out.gone; at += PEEK_SLICE_CHARS) {
    context.out.write(shown.slice(at, at + PEEK_SLICE_CHARS));
    await context.out.flush();
  }
  return 0;
};

export const runSessionInterrupt: CommandRun = (context, input) =>
  act(
    context,
    input,
    (api, target) => api.interrupt(target),
    (session) => `Session ${session.id} interrupted.`,
  );

export const runSessionKill: CommandRun = (context, input) =>
  act(
    context,
    input,
    (api, target) => api.kill(target),
    (session) => `Session ${session.id} killed.`,
  );

export const runSessionSuspend: CommandRun = (context, input) =>
  act(
    context,
    input,
    (api, target) => api.suspend(target),
    (session) =>
      `Session ${session.id} suspended. Resume with: ${typed(`gc session wake ${shellWord(targetOf(session))}`, context.gc)}`,
  );

export const runSessionWake: CommandRun = (context, input) =>
  act(
    context,
    input,
    (api, target) => api.wake(target, input.flag('force') ? { force: true } : {}),
    (session) => `Session ${session.id}: wake requested.`,
  );

export const runSessionClose: CommandRun = (context, input) =>
  act(
    context,
    input,
    (api, target) => api.close(target),
    (session) => `Session ${session.id} closed.`,
  );

export const runSessionRename: CommandRun = (context, input) => {
  const title = input.rest('title').join(' ');
  return act(
    context,
    input,
    (api, target) => api.rename(target, title),
    (session) => `Session ${session.id} renamed to "${session.title}".`,
  );
};

async function act(
  context: Context,
  input: Input,
  call: (api: CityApi, target: string) => Promise<SessionView>,
  line: (session: SessionView) => string,
): Promise<number> {
  const target = input.arg('session');
  const session = await withCity(context, ({ api }) => call(api, target));
  context.out.write(`${line(session)}\n`);
  return 0;
}
