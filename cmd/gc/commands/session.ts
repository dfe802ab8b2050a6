import { withCity } from '../city/access.ts';
import { typed } from '../city/invocation.ts';
import type { CommandRun } from '../cli/spec.ts';
import { plainText } from '../output/plain.ts';
import { renderSessionTable, sessionJson } from '../output/session-list.ts';
import { shellWord, targetOf } from '../output/words.ts';
import { onSessions } from './session-each.ts';

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
  onSessions(context, input.arg('session'), {
    done: 'interrupted',
    act: (api, target) => api.interrupt(target),
    line: (session) => `Session ${session.id} interrupted.`,
  });

export const runSessionKill: CommandRun = (context, input) =>
  onSessions(context, input.arg('session'), {
    done: 'killed',
    act: (api, target) => api.kill(target),
    line: (session) => `Session ${session.id} killed.`,
  });

export const runSessionSuspend: CommandRun = (context, input) =>
  onSessions(context, input.arg('session'), {
    done: 'suspended',
    makes: true,
    act: (api, target) => api.suspend(target),
    line: (session) =>
      `Session ${session.id} suspended. Resume with: ${typed(`gc session wake ${shellWord(targetOf(session))}`, context.gc)}`,
  });

export const runSessionClose: CommandRun = (context, input) =>
  onSessions(context, input.arg('session'), {
    done: 'closed',
    act: (api, target) => api.close(target),
    line: (session) => `Session ${session.id} closed.`,
  });

export const runSessionRename: CommandRun = async (context, input) => {
  const target = input.arg('session');
  const title = input.rest('title').join(' ');
  const session = await withCity(context, ({ api }) => api.rename(target, title));
  context.out.write(`Session ${session.id} renamed to "${session.title}".\n`);
  return 0;
};
