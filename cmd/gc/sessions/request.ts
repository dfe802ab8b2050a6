import { messageOf } from '../../../internal/platform/errors.ts';
import type { Session } from '../../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import { ServiceError } from '../../../internal/session/service/sessions-host.ts';
import { type Input, UsageError } from '../cli/input.ts';

/** The session that the command is about, as its first word or as `--session`. @throws UsageError */
export function sessionArg(input: Input): string {
  const uid = optionalSession(input);
  if (uid === undefined) throw new UsageError('missing session', 'gc sessions list');
  return uid;
}

/** @throws UsageError when both name one, and not the same */
export function optionalSession(input: Input): string | undefined {
  const [word, option] = [input.optionalArg('session'), input.text('session')];
  if (word !== undefined && option !== undefined && word !== option) {
    throw new UsageError(`two sessions are named: ${word} and ${option}`);
  }
  return word ?? (option === '' ? undefined : option);
}

export const uidOf = (session: Session | undefined): string => session?.metadata?.uid ?? '';

/** The same failure, with what a person does about it here. */
export function withNext(error: unknown, next: string): unknown {
  if (!(error instanceof ServiceError)) return error;
  return new ServiceError(error.status, messageOf(error), { cause: error, next });
}
