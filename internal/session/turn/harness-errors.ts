import { GcError } from '../../platform/errors.ts';

/** Nobody answers where the harness should be, or not in time. */
export class HarnessUnavailableError extends GcError {
  constructor(where: string, what: string, cause?: unknown) {
    super('harness-unavailable', `the harness at ${where} ${what}`, {
      ...(cause === undefined ? {} : { cause }),
      next: 'start the harness and call again',
    });
  }
}

/** The harness, or the host that drives it, does not keep to the protocol. */
export class HarnessProtocolError extends GcError {
  constructor(what: string) {
    super('harness-protocol', `harness protocol: ${what}`);
  }
}

/** The harness itself says that the turn failed. */
export class HarnessFailedError extends GcError {
  constructor(what: string, cause?: unknown) {
    super('harness-failed', what, cause === undefined ? {} : { cause });
  }
}
