import { withCity } from '../city/access.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { nudgeText } from '../output/nudge-text.ts';
import { age } from '../output/times.ts';

const DEFAULT_WAIT_MS = 30_000;
/** A person who waits longer than this is told for what. */
const SILENCE_MS = 2_000;

export const runNudge: CommandRun = (context, input) =>
  deliver(context, input, input.duration('wait') ?? DEFAULT_WAIT_MS);

export const runSessionNudge: CommandRun = (context, input) => {
  const mode = input.text('delivery') ?? 'wait-idle';
  if (mode !== 'wait-idle' && mode !== 'immediate') {
    throw new UsageError(`unknown delivery mode "${mode}" (want immediate or wait-idle)`);
  }
  const waitMs = mode === 'immediate' ? 0 : (input.duration('wait') ?? DEFAULT_WAIT_MS);
  return deliver(context, input, waitMs);
};

async function deliver(context: Context, input: Input, waitIdleMs: number): Promise<number> {
  const session = input.arg('session');
  const text = await messageOf(context, input.rest('text'));
  const request = { text, wait_idle_ms: waitIdleMs };
  const reply = await saidWhileWaiting(context, session, waitIdleMs, () =>
    withCity(context, ({ api }) => api.nudge(session, request)),
  );
  const line = nudgeText(reply, context.out.isTTY);
  context.out.write(context.json ? `${JSON.stringify(reply, null, 2)}\n` : line);
  return 0;
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
