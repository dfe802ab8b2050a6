import type { NudgeReply, NudgeRequest } from '../../../internal/controller/city-api.ts';
import { commandActor } from '../../../internal/events/event-types.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { NUDGE_TTL_MS } from '../../../internal/session/inbox.ts';
import { isNamePattern } from '../../../internal/session/name-pattern.ts';
import { withCity } from '../city/access.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { nudgeText } from '../output/nudge-text.ts';
import { age } from '../output/times.ts';
import { onSessions } from './session-each.ts';

const DEFAULT_WAIT_MS = 30_000;
/** A person who waits longer than this is told for what. */
const SILENCE_MS = 2_000;
const DELIVERIES = ['immediate', 'wait-idle', 'queue'] as const;
/** A request whose controller went away is made again with the same id: it is the same message. */
const REPEATS = 5;
const REPEAT_PAUSE_MS = 300;

export const runNudge: CommandRun = async (context, input) => {
  const delivery = deliveryIn(input);
  const waitMs = delivery === 'wait-idle' ? standByMs(input) : 0;
  const session = input.arg('session');
  const request: NudgeRequest = {
    text: await messageOf(context, input.rest('text')),
    wait_idle_ms: waitMs,
    delivery,
    id: newId(),
    sender: commandActor(context.env),
  };
  if (isNamePattern(session)) {
    return onSessions(context, session, {
      done: 'told',
      act: (api, target) => api.nudge(target, { ...request, id: newId() }),
      line: (each) => nudgeText(each, context.out.isTTY, context.clock.now()).trimEnd(),
      data: (each) => each,
    });
  }
  const reply = await saidWhileWaiting(context, session, waitMs, () => send(context, session, request));
  const line = nudgeText(reply, context.out.isTTY, context.clock.now());
  context.out.write(context.json ? `${JSON.stringify(reply, null, 2)}\n` : line);
  return 0;
};

function standByMs(input: Input): number {
  const waitMs = input.duration('wait') ?? DEFAULT_WAIT_MS;
  if (waitMs <= NUDGE_TTL_MS) return waitMs;
  throw new UsageError('--wait is at most 24h: a message that nobody took is given up then');
}

const newId = (): string => `nudge-${systemIds.hex(6)}`;

function deliveryIn(input: Input): (typeof DELIVERIES)[number] {
  const word = input.text('delivery') ?? 'wait-idle';
  const found = DELIVERIES.find((each) => each === word);
  if (found) return found;
  throw new UsageError(`unknown delivery mode "${word}" (want immediate, wait-idle, or queue)`);
}

async function send(context: Context, session: string, request: NudgeRequest): Promise<NudgeReply> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await withCity(context, ({ api }) => api.nudge(session, request));
    } catch (error) {
      const isLost = error instanceof GcError && error.code === 'controller-lost';
      if (!isLost || attempt === REPEATS) throw error;
    }
    await context.clock.sleep(REPEAT_PAUSE_MS, context.signal);
  }
}

/** The words as one message; a single `-` is all of stdin, without its last line end. */
async function messageOf(context: Context, words: readonly string[]): Promise<string> {
  const text = words.length === 1 && words[0] === '-' ? await context.readStdin() : words.join(' ');
  const message = text.replace(/\r?\n$/, '');
  if (message.trim() === '') throw new UsageError('the message is empty; nothing was sent');
  return message;
}

async function saidWhileWaiting<T>(
  context: Context,
  session: string,
  waitIdleMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  if (context.err.isTTY && waitIdleMs > SILENCE_MS) {
    context.clock.sleep(SILENCE_MS, over.signal).then(
      () => context.err.write(`${session} is busy; waiting until it is idle, at most ${age(waitIdleMs)}\n`),
      () => undefined, // delivered before that
    );
  }
  try {
    return await work();
  } finally {
    over.abort();
  }
}
