import { GcError } from '../../../platform/errors.ts';
import type { ExitInfo } from '../../provider.ts';
import { METHOD_NOT_FOUND, NOT_FOUND } from './rpc-codes.ts';

/** The steps from a started process to an open conversation. */
export type Phase =
  | 'initialize'
  | 'authenticate'
  | 'session/list'
  | 'session/new'
  | 'session/load'
  | 'session/resume';

/** What a JSON-RPC error says, with the `details` that several agents put beside a general message. */
export interface Answered {
  readonly code: number;
  readonly message: string;
  readonly data: unknown;
}

const NOUN = '(?:session|conversation|thread|rollout|transcript)s?';
const GONE = '(?:was |is |could )?(?:not (?:be )?found|does ?n.t exist|does not exist|unknown|missing)';
/** "Session abc not found", "No conversation found with session ID: abc", "Invalid session identifier", "unknown thread". */
const LOST = [
  new RegExp(`\\b${NOUN}(?: id| identifier)?[:\\s]*["'\`]?[\\w-]*["'\`]?\\s+${GONE}`, 'i'),
  new RegExp(`\\bno (?:such |previous |saved |matching )?${NOUN}\\b`, 'i'),
  new RegExp(`\\b(?:unknown|invalid) ${NOUN}(?: id| identifier)?\\b`, 'i'),
];
const ERROR_CHARS = 2_000;
const SECOND_MS = 1_000;

/** One line of what an error says, as a person should read it. */
export function sayError({ code, message, data }: Answered): string {
  const details = detailsOf(data);
  const said = details === '' || message.includes(details) ? message : `${message}: ${details}`;
  return `${said.slice(0, ERROR_CHARS)} (code ${code})`;
}

/**
 * Whether the agent's own words prove that it no longer has the conversation. Anything else, a failed start or a lost
 * connection, proves nothing about it.
 */
export function provesConversationLost(error: Answered): boolean {
  if (error.code === METHOD_NOT_FOUND) return false;
  const said = [error.message, detailsOf(error.data)].filter((part) => part !== '');
  if (said.some((part) => LOST.some((lost) => lost.test(part)))) return true;
  return error.code === NOT_FOUND && said.join(' ') === 'Resource not found';
}

/** @param stray what it printed instead, quoted */
export function timedOut(phase: Phase, limitMs: number, stray: string | undefined): GcError {
  const instead =
    stray === undefined ? '' : `; what it printed is no protocol message, for example: ${stray}`;
  const message = `the agent did not answer ${phase} within ${limitMs / SECOND_MS} s${instead}`;
  return new GcError('handshake-timeout', message, {
    next: 'check that the command speaks the Agent Client Protocol on its standard output (an agent may need an option or a subcommand for it); a slow one needs a longer handshake_timeout under [session.acp]',
  });
}

export const otherVersion = (theirs: unknown, ours: number): GcError =>
  new GcError(
    'protocol-version',
    `the agent speaks version ${JSON.stringify(theirs)} of the Agent Client Protocol, this program speaks version ${ours}`,
    { next: `use a release of the agent that speaks version ${ours}` },
  );

export const badAnswer = (phase: Phase, missing: string): GcError =>
  new GcError('bad-answer', `the agent answered ${phase} without ${missing}`, {
    next: 'use a release of the agent that keeps to the Agent Client Protocol',
  });

/** The agent's own refusal, which may prove something. */
export class RefusedError extends GcError {
  readonly answered: Answered;

  constructor(phase: Phase, answered: Answered) {
    super('agent-refused', `the agent refused ${phase}: ${sayError(answered)}`, {
      next: 'put right what the agent says, then start the session again',
    });
    this.answered = answered;
  }
}

export function loginNeeded(error: Answered, methods: readonly string[]): GcError {
  const offered = methods.length === 0 ? '' : ` It offers: ${methods.join('; ')}.`;
  return new GcError('login-required', `the agent wants a login first: ${sayError(error)}.${offered}`, {
    next: "log in once with the agent's own program as this user, or give its key in the agent's env, then start the session again",
  });
}

export const conversationLost = (conversation: string, error: Answered): GcError =>
  new GcError(
    'conversation-lost',
    `the agent does not have the conversation "${conversation}" any more: ${sayError(error)}`,
    { next: 'start the session with a new conversation' },
  );

export const cannotResume = (agent: string, conversation: string): GcError =>
  new GcError('cannot-resume', `${agent} cannot go on with an earlier conversation ("${conversation}")`, {
    next: 'start the session with a new conversation, or use an agent that can load one',
  });

export const wrongFolder = (conversation: string, theirs: string, ours: string): GcError =>
  new GcError(
    'wrong-folder',
    `the conversation "${conversation}" belongs to the folder ${theirs}, not to ${ours}`,
    { next: `start the session in ${theirs}, or with a new conversation` },
  );

export function agentGone(exit: ExitInfo | undefined, doing: string): GcError {
  const how = exit === undefined ? 'closed its output' : `ended (${sayExit(exit)})`;
  return new GcError('agent-gone', `the agent ${how} ${doing}`, {
    next: 'run its command by hand in the work dir to see why, then start the session again',
  });
}

export const sayExit = (exit: ExitInfo): string =>
  exit.signal === undefined ? `exit code ${exit.code ?? 0}` : exit.signal;

/** `message`, and `details` when there is one, of what agents put into an error's data. */
function detailsOf(data: unknown): string {
  if (typeof data === 'string') return data;
  if (typeof data !== 'object' || data === null) return '';
  const { details, message, error } = data as Record<string, unknown>;
  return (
    ([details, message, error].find((value) => typeof value === 'string' && value !== '') as
      | string
      | undefined) ?? ''
  );
}
