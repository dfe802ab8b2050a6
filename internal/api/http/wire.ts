import { GcError, messageOf } from '../../platform/errors.ts';

/** The JSON body of every failed request. `code` is Gas City's word for the kind, `reason` is ours, more exact. */
export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly reason: string;
  readonly next?: string;
}

/** A nudge may be this long, in UTF-8 bytes. */
export const NUDGE_TEXT_LIMIT_BYTES = 4 * 1024 * 1024;
/** What a request body may weigh: the longest nudge, every byte of it written as a six-byte JSON escape. */
export const BODY_LIMIT_BYTES = 6 * NUDGE_TEXT_LIMIT_BYTES + 4_096;
/** A comment line keeps an idle event stream alive this often. */
export const STREAM_KEEPALIVE_MS = 15_000;
/** Name of the stream event that carries an ErrorBody; the stream ends after it. */
export const STREAM_ERROR_EVENT = 'gc-error';

interface Kind {
  readonly status: number;
  readonly code: string;
}

const NOT_FOUND: Kind = { status: 404, code: 'not_found' };
const CONFLICT: Kind = { status: 409, code: 'conflict' };
const INVALID: Kind = { status: 400, code: 'invalid' };
const UNAVAILABLE: Kind = { status: 503, code: 'unavailable' };
const UNSUPPORTED: Kind = { status: 501, code: 'unsupported' };
const INTERNAL: Kind = { status: 500, code: 'internal' };

/** Source of statuses and words: Gas City's API error table. */
const KINDS: Readonly<Record<string, Kind>> = {
  'session-not-found': NOT_FOUND,
  'agent-not-found': { status: 404, code: 'agent_not_found' },
  'template-not-found': { status: 404, code: 'agent_not_found' },
  'ambiguous-session': { status: 409, code: 'ambiguous' },
  'ambiguous-agent': { status: 409, code: 'ambiguous' },
  'agent-in-pack': CONFLICT,
  'set-by-patch': CONFLICT,
  'no-room': CONFLICT,
  'ambiguous-edit': CONFLICT,
  'config-locked': CONFLICT,
  'not-an-agent': INVALID,
  'session-not-active': CONFLICT,
  'session-exists': CONFLICT,
  'session-initializing': CONFLICT,
  'session-busy': CONFLICT,
  'nudge-unsubmitted': CONFLICT,
  'nudge-uncertain': CONFLICT,
  'nudge-failed': CONFLICT,
  'nudge-empty': INVALID,
  'session-ending': CONFLICT,
  'session-no-pending': { status: 409, code: 'no_pending' },
  'no-pending-interaction': { status: 409, code: 'no_pending' },
  'already-answered': { status: 409, code: 'invalid_interaction' },
  'interaction-changed': { status: 409, code: 'invalid_interaction' },
  'interaction-not-cleared': CONFLICT,
  'interaction-withdrawn': { status: 409, code: 'invalid_interaction' },
  'foreign-interaction': { status: 409, code: 'invalid_interaction' },
  'interaction-expired': { status: 410, code: 'expired' },
  'answered-by-agent': { status: 403, code: 'forbidden' },
  'rules-busy': UNAVAILABLE,
  'rules-unreadable': CONFLICT,
  'unknown-action': INVALID,
  'not-a-wait': INVALID,
  'wait-needs-note': INVALID,
  'wait-needs-condition': INVALID,
  'wait-on-itself': CONFLICT,
  'wait-cycle': CONFLICT,
  'session-closed': CONFLICT,
  'session-replaced': CONFLICT,
  'session-archived': CONFLICT,
  'session-missing-config': CONFLICT,
  'session-duplicate': CONFLICT,
  'session-foreign-state': CONFLICT,
  'session-not-settled': CONFLICT,
  'agent-suspended': CONFLICT,
  'no-controller': CONFLICT,
  'pending-interaction': { status: 409, code: 'pending_interaction' },
  'interaction-unsupported': UNSUPPORTED,
  'attach-unsupported': UNSUPPORTED,
  'runtime-unavailable': UNAVAILABLE,
  'store-busy': UNAVAILABLE,
  'store-full': UNAVAILABLE,
  'shutting-down': UNAVAILABLE,
  'too-many-streams': UNAVAILABLE,
  'body-too-large': { status: 413, code: 'invalid' },
  'nudge-too-large': { status: 413, code: 'invalid' },
};

const REASON = /^[a-z][a-z0-9-]{0,79}$/;

function kindOf(reason: string): Kind {
  const listed = Object.hasOwn(KINDS, reason) ? KINDS[reason] : undefined;
  if (listed) return listed;
  if (reason.startsWith('invalid-') || reason.endsWith('-invalid')) return INVALID;
  if (reason.endsWith('-not-found')) return NOT_FOUND;
  if (reason.endsWith('-taken') || reason.endsWith('-exists')) return CONFLICT;
  return INTERNAL;
}

/** Status and body of anything thrown. */
export function encodeError(error: unknown): { readonly status: number; readonly body: ErrorBody } {
  const reason = error instanceof GcError ? error.code : 'internal';
  const { status, code } = kindOf(reason);
  const next = error instanceof GcError ? error.next : undefined;
  return {
    status,
    body: { code, message: messageOf(error), reason, ...(next === undefined ? {} : { next }) },
  };
}

/** The error that a reply stands for, with its code, message and next step. */
export function decodeError(status: number, text: string): GcError {
  const body = parseBody(text);
  if (!body) {
    return new GcError('controller-too-old', `the controller does not know this request (HTTP ${status})`, {
      next: 'gc restart, so that it runs the installed version',
    });
  }
  return new GcError(body.reason, body.message, body.next === undefined ? {} : { next: body.next });
}

function parseBody(text: string): Pick<ErrorBody, 'reason' | 'message' | 'next'> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return undefined;
    const { code, reason, message, next } = value as Record<string, unknown>;
    if (typeof message !== 'string') return undefined;
    const known = typeof reason === 'string' && REASON.test(reason) ? reason : String(code ?? 'internal');
    return { reason: known, message, ...(typeof next === 'string' ? { next } : {}) };
  } catch {
    return undefined; // plain text, such as the 404 of an unknown path
  }
}

/** Refuses a nudge that no server would take. @throws GcError `nudge-too-large` */
export function assertNudgeFits(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= NUDGE_TEXT_LIMIT_BYTES) return;
  throw new GcError(
    'nudge-too-large',
    `the text has ${bytes} bytes; a nudge takes at most ${NUDGE_TEXT_LIMIT_BYTES}`,
    {
      next: 'put it in a file and nudge with the path of the file',
    },
  );
}

function session(target: string): string {
  return `/v0/session/${named(target)}`;
}

function named(target: string): string {
  if (target.trim() === '') {
    throw new GcError('session-not-found', 'no session was named', { next: 'gc session list' });
  }
  return encodeURIComponent(wellFormed(target));
}

/** Half a surrogate pair has no URI form; it names nothing anyway. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}

/** Where each request goes. */
export const paths = {
  status: '/v0/status',
  resources: '/v0/resources',
  sessions: '/v0/sessions',
  session,
  sessionAction: (target: string, action: string): string => `${session(target)}/${action}`,
  agentAction: (agent: string, action: 'suspend' | 'resume' | 'scale'): string =>
    `/v0/agent/${wellFormed(agent).split('/').map(encodeURIComponent).join('/')}/${action}`,
  nudges: '/v0/nudges',
  questions: '/v0/pending',
  answer: (target: string): string => `/v0/pending/${named(target)}/respond`,
  rules: '/v0/rules',
  rule: (id: string): string => `/v0/rules/${encodeURIComponent(wellFormed(id))}`,
  events: '/v0/events',
  eventStream: '/v0/events/stream',
  reload: '/v0/reload',
  stop: '/v0/stop',
} as const;

/** Who a request is made for, percent-encoded. */
export const ACTOR_HEADER = 'x-gc-actor';
/** Where it is made: the working directory, and the rig of the session it comes from; percent-encoded. */
export const PLACE_HEADERS = { dir: 'x-gc-dir', rig: 'x-gc-rig' } as const;

/** `undefined` for what is no name. */
export function decodeActor(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // nobody of ours wrote it
  }
}
