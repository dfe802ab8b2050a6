import { parseHookInput } from '../../../internal/agent/hooks/work-answer.ts';
import type { CityApi, NudgeQueue, TakenNudges } from '../../../internal/controller/city-api.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { reminderBlock, reminderList } from '../../../internal/session/inbox-reminder.ts';
import { withCity } from '../city/access.ts';
import { quickStdin } from '../city/agent-words.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { nudgeQueuesText } from '../output/nudge-text.ts';

/** Source: Gas City. */
const POLL_INTERVAL_MS = 2_000;
/** A session that is gone for so long, with an empty queue or not, is not followed any more. Source: Gas City. */
const GONE_LIMIT_MS = 15_000;

/** What waits for a session, or with `--all` for every one. */
export const runNudgeStatus: CommandRun = async (context, input) => {
  const session = input.optionalArg('session') ?? sessionHere(context);
  if (session === undefined && !input.flag('all')) {
    throw new UsageError('no session is named', 'gc nudge status <session>, or gc nudge status --all');
  }
  const queues = await withCity(context, ({ api }) =>
    input.flag('all') ? api.nudgeQueues() : api.nudgeQueues(session),
  );
  context.out.write(context.json ? `${JSON.stringify(queues, null, 2)}\n` : nudgeQueuesText(queues));
  return 0;
};

/** 0 with something to tell, 1 without. With `--inject` always 0, and nothing is printed but messages. */
export const runNudgeDrain: CommandRun = async (context, input) => {
  const isHook = input.flag('inject');
  try {
    const told = await drain(context, input, isHook);
    return told || isHook ? 0 : 1;
  } catch (error) {
    // A broken hook must not stop an agent; the command without --inject says what is wrong.
    if (!isHook || !(error instanceof GcError)) throw error;
    return 0;
  }
};

async function drain(context: Context, input: Input, isHook: boolean): Promise<boolean> {
  const session = requireSession(context, input);
  const stdin = isHook ? await quickStdin(context) : '';
  return withCity(context, async ({ api }) => {
    const { items } = await api.takeNudges(session);
    if (items.length === 0) return false;
    context.out.write(isHook ? hookAnswer(stdin, items) : reminderList(items));
    await context.out.flush();
    await api.acknowledgeNudges(
      session,
      items.map(({ id, fence }) => ({ id, fence })),
    );
    return true;
  });
}

/** At the end of a turn only an answer in JSON reaches an agent, and keeps it at work. */
function hookAnswer(stdin: string, items: TakenNudges['items']): string {
  const block = reminderBlock(items);
  const isStop = parseHookInput(stdin)?.event === 'Stop';
  return isStop ? `${JSON.stringify({ decision: 'block', reason: block })}\n` : block;
}

/** One round of delivery; with `--follow` until the session is gone. The controller does the same by itself. */
export const runNudgePoll: CommandRun = async (context, input) => {
  const session = requireSession(context, input);
  const intervalMs = input.duration('interval') ?? POLL_INTERVAL_MS;
  const { clock, signal } = context;
  let goneSince: number | undefined;
  for (;;) {
    const { queue, isUp } = await withCity(context, ({ api }) => round(api, session));
    if (!input.flag('follow') || signal.aborted) return 0;
    if (isUp) goneSince = undefined;
    else {
      goneSince ??= clock.monotonic();
      if (queue.waiting === 0 || clock.monotonic() - goneSince >= GONE_LIMIT_MS) return 0;
    }
    await clock.sleep(intervalMs, signal);
  }
};

async function round(
  api: CityApi,
  session: string,
): Promise<{ readonly queue: NudgeQueue; readonly isUp: boolean }> {
  const queue = await api.deliverNudges(session);
  const view = queue.session_id === '' ? undefined : await api.session(queue.session);
  return { queue, isUp: view?.state === 'active' || view?.state === 'awake' || view?.state === 'creating' };
}

function requireSession(context: Context, input: Input): string {
  const session = input.text('session') ?? input.optionalArg('session') ?? sessionHere(context);
  if (session !== undefined) return session;
  throw new UsageError('no session is named (set $GC_SESSION_NAME or pass it)');
}

/** The session that this runs in. */
function sessionHere({ env }: Context): string | undefined {
  return env['GC_SESSION_NAME'] || env['GC_SESSION_ID'] || undefined;
}
