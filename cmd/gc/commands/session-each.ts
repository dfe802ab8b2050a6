import type { CityApi } from '../../../internal/controller/city-api.ts';
import { GcError, messageOf } from '../../../internal/platform/errors.ts';
import { limited } from '../../../internal/platform/limited.ts';
import { isNamePattern, type PatternMatch } from '../../../internal/session/name-pattern.ts';
import { withCity } from '../city/access.ts';
import { typed } from '../city/invocation.ts';
import type { Context } from '../context.ts';
import { plainText } from '../output/plain.ts';

/** A controller takes so many requests of one command at a time; each may wait for an agent to end or start. */
const AT_ONCE = 8;

/** What one command does to one session. */
export interface SessionAct<T> {
  /** For the summary: `2 of 3 sessions killed`. */
  readonly done: string;
  /** A pattern means what the config names and never had a session, too: the act makes one. */
  readonly makes?: true;
  act(api: CityApi, target: string): Promise<T>;
  /** The line about what was done. */
  line(result: T): string;
  /** With `--json`, instead of the line. */
  data?(result: T): unknown;
}

type Outcome<T> =
  | { readonly kind: 'done'; readonly match: PatternMatch; readonly result: T }
  | { readonly kind: 'failed'; readonly match: PatternMatch; readonly error: unknown };

/**
 * Does it to the session of that name, or to each that fits when the name is a pattern: one failure keeps none of the
 * others from being done. The exit code is 1 when any failed. @throws GcError of a single session; `session-not-found`
 */
export function onSessions<T>(context: Context, token: string, verb: SessionAct<T>): Promise<number> {
  return withCity(context, async ({ api }) => {
    if (!isNamePattern(token)) {
      show(context, verb, await verb.act(api, token));
      return 0;
    }
    const fitting = await api.upkeep.matching(token);
    const matches = verb.makes ? fitting : fitting.filter(({ reserved }) => !reserved);
    if (matches.length === 0) throw noneFits(token);
    const outcomes = await limited(AT_ONCE, matches, (match) => tried(context, api, verb, match));
    const failed = outcomes.filter(({ kind }) => kind === 'failed').length;
    if (context.json)
      context.out.write(
        `${JSON.stringify(
          outcomes.map((one) => asData(verb, one)),
          null,
          2,
        )}\n`,
      );
    else {
      for (const outcome of outcomes) tell(context, verb, outcome);
      const rest = failed === 0 ? '' : `, ${failed} failed`;
      const all = `${outcomes.length} ${outcomes.length === 1 ? 'session' : 'sessions'}`;
      context.out.write(`${outcomes.length - failed} of ${all} ${verb.done}${rest}.\n`);
    }
    return failed === 0 ? 0 : 1;
  });
}

async function tried<T>(
  context: Context,
  api: CityApi,
  verb: SessionAct<T>,
  match: PatternMatch,
): Promise<Outcome<T>> {
  try {
    context.signal.throwIfAborted();
    return { kind: 'done', match, result: await verb.act(api, match.target) };
  } catch (error) {
    return { kind: 'failed', match, error };
  }
}

function show<T>(context: Context, verb: SessionAct<T>, result: T): void {
  const data = context.json ? verb.data?.(result) : undefined;
  context.out.write(data === undefined ? `${verb.line(result)}\n` : `${JSON.stringify(data, null, 2)}\n`);
}

function tell<T>(context: Context, verb: SessionAct<T>, outcome: Outcome<T>): void {
  if (outcome.kind === 'done') {
    context.out.write(`${verb.line(outcome.result)}\n`);
    return;
  }
  const { match, error } = outcome;
  const next = error instanceof GcError && error.next ? `  next: ${typed(error.next, context.gc)}\n` : '';
  context.err.write(`${match.name}: ${plainText(typed(messageOf(error), context.gc))}\n${next}`);
}

function asData<T>(verb: SessionAct<T>, outcome: Outcome<T>): unknown {
  const { target, name } = outcome.match;
  if (outcome.kind === 'done') return { target, name, ok: true, result: verb.data?.(outcome.result) };
  const { error } = outcome;
  const code = error instanceof GcError ? error.code : 'internal';
  const next = error instanceof GcError ? error.next : undefined;
  return { target, name, ok: false, error: { code, message: messageOf(error), ...(next ? { next } : {}) } };
}

function noneFits(pattern: string): GcError {
  return new GcError('session-not-found', `no session fits ${JSON.stringify(pattern.slice(0, 80))}`, {
    next: 'gc session list',
  });
}
