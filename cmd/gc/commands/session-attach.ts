import type { SessionView } from '../../../internal/controller/city-api.ts';
import { GcError, messageOf } from '../../../internal/platform/errors.ts';
import { type AttachEnd, leaveLine, runAttach } from '../attach/run-attach.ts';
import { type CityHandle, withCity } from '../city/access.ts';
import { typed } from '../city/invocation.ts';
import { untilUp } from '../city/until-up.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { isUp, shellWord, targetOf } from '../output/words.ts';

export const runSessionAttach: CommandRun = (context, input) => {
  const target = input.arg('session');
  return withCity(context, async (city) => {
    const session = await city.api.session(target);
    assertTerminal(context, session);
    return attachTo(context, city, await awake(context, city, session));
  });
};

/** A running session as it is; one that sleeps is woken and waited for. */
async function awake(context: Context, city: CityHandle, session: SessionView): Promise<SessionView> {
  if (isUp(session.condition) || session.condition === 'unknown') return session;
  if (session.condition === 'closed') {
    throw new GcError('session-not-active', `session ${session.id} is closed`, { next: 'gc session list' });
  }
  if (!city.live) {
    throw new GcError('session-not-active', `session ${session.id} is not running and no controller lives`, {
      next: 'gc start',
    });
  }
  const isStarting = session.condition === 'starting';
  const what = isStarting ? 'waiting for it' : 'waking it';
  context.err.write(`${session.display_name} is ${session.condition}; ${what}\n`);
  if (!isStarting) await city.api.wake(session.id);
  return untilUp(context, city.api, session.id);
}

/** Connects the person's terminal to the session; the exit code is 0 however they leave. */
export async function attachTo(context: Context, city: CityHandle, session: SessionView): Promise<number> {
  assertTerminal(context, session);
  const { openAttachPlan } = await import('../city/local-access.ts');
  const { plan, close } = await openAttachPlan(city.root, context, session);
  try {
    const end = await runAttach(plan, {
      input: process.stdin,
      output: process.stdout,
      env: context.env,
      signal: context.signal,
      announce: (leave) => {
        context.err.write(`Attaching to session ${session.id} (${session.template})...\n`);
        context.err.write(`${leaveLine(leave)}\n`);
      },
    });
    return report(context, session, end);
  } finally {
    await close();
  }
}

function report(context: Context, session: SessionView, end: AttachEnd): number {
  const name = session.display_name;
  switch (end.kind) {
    case 'left':
      context.err.write(`left ${name}; it keeps running\n`);
      return 0;
    case 'ended': {
      const why = end.error === undefined ? '' : `: ${messageOf(end.error)}`;
      const next = typed(`gc explain ${shellWord(targetOf(session))}`, context.gc);
      context.err.write(`${name} ended while you were attached${why}    ${next}\n`);
      return end.error === undefined ? 0 : 1;
    }
    case 'exited':
      if (end.code !== 0) {
        throw new GcError('attach-failed', `attaching to ${name} failed (exit ${end.code})`, {
          next: `gc explain ${shellWord(targetOf(session))}`,
        });
      }
      return 0;
  }
}

/** An agent without a terminal is refused for that, wherever it is asked for. */
function assertTerminal(context: Context, session: SessionView): void {
  if (session.transport === 'acp' || (context.stdinIsTTY() && context.out.isTTY)) return;
  throw new GcError('not-a-terminal', 'attach needs a terminal for its input and output', {
    next: `gc session peek ${shellWord(targetOf(session))}`,
  });
}
