import { isRecord } from './shapes.ts';

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

/** A refusal, as the body that Kubernetes sends with it. */
export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  get headers(): Record<string, string> {
    const seconds = this.details?.retryAfterSeconds;
    return seconds === undefined ? {} : { 'Retry-After': String(seconds) };
  }

  body(): Record<string, unknown> {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      ...(this.details ? { details: this.details } : {}),
      code: this.code,
    };
  }
}

/** `pods`, or `leases.coordination.k8s.io`. */
export const qualified = (resource: string, group: string): string =>
  group === '' ? resource : `${resource}.${group}`;

export const notFound = (resource: string, group: string, name: string): StatusError =>
  new StatusError(404, 'NotFound', `${qualified(resource, group)} "${name}" not found`, {
    name,
    ...(group === '' ? {} : { group }),
    kind: resource,
  });

export const noSuchPath = (): StatusError =>
  new StatusError(404, 'NotFound', 'the server could not find the requested resource', {});

export const alreadyExists = (resource: string, group: string, name: string): StatusError =>
  new StatusError(409, 'AlreadyExists', `${qualified(resource, group)} "${name}" already exists`, {
    name,
    kind: resource,
  });

export const conflict = (resource: string, group: string, name: string, why: string): StatusError =>
  new StatusError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(resource, group)} "${name}": ${why}`,
    { name, kind: resource },
  );

export const STALE =
  'the object has been modified; please apply your changes to the latest version and try again';

export const badRequest = (message: string): StatusError => new StatusError(400, 'BadRequest', message);

export const expired = (asked: number, oldest: number): StatusError =>
  new StatusError(410, 'Expired', `too old resource version: ${asked} (${oldest})`);

export interface FieldError {
  readonly field: string;
  readonly reason: 'FieldValueInvalid' | 'FieldValueRequired' | 'FieldValueDuplicate' | 'FieldValueForbidden';
  readonly message: string;
}

export function invalid(kind: string, name: string, errors: readonly FieldError[]): StatusError {
  const lines = errors.map((error) => `${error.field}: ${error.message}`);
  const text = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`;
  return new StatusError(422, 'Invalid', `${kind} "${name}" is invalid: ${text}`, {
    name,
    kind,
    causes: errors.map(({ field, reason, message }) => ({ reason, message, field })),
  });
}

/** What a thrown thing is, told as Kubernetes would. */
export function asStatusError(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new StatusError(500, 'InternalError', `Internal error occurred: ${message}`, {
    causes: [{ message }],
  });
}

/** The object in a request's body. */
export function bodyObject(body: unknown): Record<string, unknown> {
  if (!isRecord(body)) throw badRequest('the object provided is unrecognized (must be of type Pod)');
  return body;
}
