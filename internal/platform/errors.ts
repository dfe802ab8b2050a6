/**
 * What every error of ours carries: a stable machine-readable code, a message that says what and where, and the
 * next thing to do.
 */
export class GcError extends Error {
  /** Stable, kebab-case, never reworded: scripts and tests match it. */
  readonly code: string;
  /** What the person should do next, ready to be printed after the message. */
  readonly next: string | undefined;

  constructor(code: string, message: string, options: { cause?: unknown; next?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.next = options.next;
  }
}

/** The message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The `code` of a Node system error or of ours, `undefined` for anything else. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** The compiler's proof that a switch over a union is exhaustive. */
export function unreachable(value: never): never {
  throw new GcError('internal', `unexpected value: ${JSON.stringify(value)}`);
}
