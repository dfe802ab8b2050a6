import type { LifeRequest } from '../../../internal/controller/city-api.ts';
import { codeOf, GcError } from '../../../internal/platform/errors.ts';
import type { Context } from '../context.ts';
import { cityRoot } from './access.ts';

/** The session that a command runs in. */
export interface OwnSession {
  readonly root: string;
  /** Its runtime name. */
  readonly name: string;
  /** Its mail address. */
  readonly address: string;
  /** What says which life of it speaks. */
  readonly life: LifeRequest;
}

/** Who writes mail. Source: Gas City. */
export function mailSender({ env }: Pick<Context, 'env'>): string {
  return env['GC_ALIAS'] || env['GC_SESSION_ID'] || 'human';
}

/** @throws GcError `not-in-session`; the texts are Gas City's */
export async function ownSession(context: Context): Promise<OwnSession> {
  const { env } = context;
  const address = mailSender(context);
  if (address === 'human') throw notInSession('GC_ALIAS/GC_SESSION_ID not set');
  const name = env['GC_TMUX_SESSION'] || env['GC_SESSION_NAME'] || '';
  if (name === '') throw notInSession('GC_SESSION_NAME not set');
  const token = env['GC_INSTANCE_TOKEN'];
  return {
    root: await ownCity(context),
    name,
    address,
    life: token ? { instance_token: token } : {},
  };
}

async function ownCity(context: Context): Promise<string> {
  try {
    return await cityRoot(context);
  } catch (error) {
    throw codeOf(error) === 'no-city' ? notInSession('city context not set', error) : error;
  }
}

function notInSession(what: string, cause?: unknown): GcError {
  return new GcError('not-in-session', `not in session context (${what})`, {
    ...(cause === undefined ? {} : { cause }),
    next: 'name the session where the command takes one, or run it inside a session',
  });
}
