import type { WaitRequest } from '../../../internal/controller/wait-api.ts';
import { withCity } from '../city/access.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import { registeredText } from '../output/wait-text.ts';

export const runSessionWait: CommandRun = async (context, input) => {
  const own = context.env['GC_SESSION_ID'] ?? '';
  const target = input.optionalArg('session') ?? own;
  if (target === '') {
    throw new UsageError('no session was named, and GC_SESSION_ID names none: gc session wait <session> ...');
  }
  const request = requestOf(input, context.clock.now(), own);
  const reply = await withCity(context, ({ api }) => api.waits.register(target, request));
  context.out.write(
    context.json ? `${JSON.stringify(reply, null, 2)}\n` : registeredText(reply, context.out.isTTY),
  );
  return 0;
};

function requestOf(input: Input, now: number, createdBy: string): WaitRequest {
  const until = input.text('until');
  const forMs = input.duration('for');
  const expiresInMs = input.duration('expires');
  const note = input.text('note') ?? '';
  const on_beads = listOf(input, 'on-beads');
  const on_sessions = listOf(input, 'on-session');
  const hasCondition = on_beads.length + on_sessions.length > 0;
  if (!hasCondition && until === undefined && forMs === undefined) {
    throw new UsageError('nothing to wait for: --on-beads, --on-session, --until or --for says it');
  }
  if (note.trim() === '') throw new UsageError('--note is missing: what the session is told when it is over');
  return {
    on_beads,
    on_sessions,
    mode: input.flag('any') ? 'any' : 'all',
    note,
    sleep: input.flag('sleep'),
    created_by: createdBy,
    ...(until === undefined ? {} : { until: timeIn(until, now) }),
    ...(forMs === undefined ? {} : { for_ms: forMs }),
    ...(expiresInMs === undefined ? {} : { expires_in_ms: expiresInMs }),
  };
}

function listOf(input: Input, name: string): readonly string[] {
  return input
    .texts(name)
    .flatMap((text) => text.split(','))
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

/** `14:00` is the next time that the clock here shows it; everything else goes as it is. */
function timeIn(text: string, now: number): string {
  const [, hours, minutes] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text.trim()) ?? [];
  if (hours === undefined) return text;
  const at = new Date(now);
  at.setHours(Number(hours), Number(minutes), 0, 0);
  if (at.getTime() <= now) at.setDate(at.getDate() + 1);
  return at.toISOString();
}
