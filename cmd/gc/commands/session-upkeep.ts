import type { SessionView } from '../../../internal/controller/city-api.ts';
import type { WokenSession } from '../../../internal/controller/upkeep-api.ts';
import { GcError, messageOf } from '../../../internal/platform/errors.ts';
import { isNamePattern } from '../../../internal/session/name-pattern.ts';
import { withCity } from '../city/access.ts';
import { typed } from '../city/invocation.ts';
import { UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { shellWord, targetOf } from '../output/words.ts';
import { onSessions, type SessionAct } from './session-each.ts';

export const runSessionPin: CommandRun = (context, input) =>
  onSessions(context, input.arg('session'), {
    done: 'pinned',
    makes: true,
    act: (api, target) => api.upkeep.pin(target),
    line: (session) => `Session ${session.id} pinned awake.${heldDown(context, session)}`,
  });

/** A pin takes no hold away: a person is told what does. */
function heldDown(context: Context, session: SessionView): string {
  if (!context.out.isTTY || session.condition !== 'suspended') return '';
  const next = typed(`gc session wake ${shellWord(targetOf(session))}`, context.gc);
  return `\n  it stays down while it is suspended    ${next}`;
}

export const runSessionUnpin: CommandRun = (context, input) =>
  onSessions(context, input.arg('session'), {
    done: 'unpinned',
    act: (api, target) => api.upkeep.unpin(target),
    line: (session) => `Session ${session.id} unpinned.`,
  });

export const runSessionReset: CommandRun = (context, input) =>
  onSessions(context, input.arg('session'), {
    done: 'to be restarted fresh',
    act: (api, target) => api.upkeep.reset(target),
    line: (session) => `Session ${session.id} reset requested. Controller will restart it fresh.`,
  });

const DEFAULT_AGE_MS = 7 * 86_400_000;

export const runSessionPrune: CommandRun = async (context, input) => {
  const age = input.duration('before') ?? DEFAULT_AGE_MS;
  if (age <= 0) throw new UsageError('--before must be longer than 0', 'gc session prune --before 7d');
  const reply = await withCity(context, ({ api }) => api.upkeep.prune({ before_ms: age }));
  const { pruned } = reply;
  if (context.json) context.out.write(`${JSON.stringify(reply, null, 2)}\n`);
  else if (pruned.length === 0) context.out.write('No sessions to prune.\n');
  else {
    const names = context.out.isTTY ? pruned.map(({ name }) => `  ${name}\n`).join('') : '';
    context.out.write(`Pruned ${pruned.length} session(s).\n${names}`);
  }
  return 0;
};

export const runSessionWake: CommandRun = async (context, input) => {
  const token = input.arg('session');
  const force = input.flag('force');
  const verb: SessionAct<WokenSession> = {
    done: 'asked to wake',
    makes: true,
    act: (api, target) => api.wake(target, force ? { force: true } : {}),
    line: (session) =>
      context.out.isTTY && session.woke === 'already-awake'
        ? `Session ${session.id} is already awake.`
        : `Session ${session.id}: wake requested.`,
    data: ({ id, display_name: name, woke }) => ({
      id,
      session: name,
      result: woke === 'already-awake' ? 'already awake' : 'requested',
    }),
  };
  try {
    return await onSessions(context, token, verb);
  } catch (error) {
    if (context.json && error instanceof GcError && !isNamePattern(token)) {
      const refused = { session: token, result: 'refused', reason: messageOf(error), code: error.code };
      context.out.write(`${JSON.stringify(refused, null, 2)}\n`);
    }
    throw error;
  }
};
