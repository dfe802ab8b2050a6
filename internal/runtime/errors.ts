import { GcError } from '../platform/errors.ts';
import type { ExitInfo } from './provider.ts';

/** Source of the messages: Gas City's runtime errors; scripts match them. */
export class SessionExistsError extends GcError {
  constructor(name: string, detail = '') {
    super('session-exists', `session already exists: session "${name}"${detail}`, {
      next: `gc session peek ${name}`,
    });
  }
}

export class SessionInitializingError extends GcError {
  constructor(name: string) {
    super('session-initializing', `session is initializing: session "${name}"`);
  }
}

export class SessionNotFoundError extends GcError {
  constructor(name: string) {
    super('session-not-found', `session not found: "${name}"`, { next: 'gc session list' });
  }
}

export class InvalidSessionNameError extends GcError {
  constructor(name: string) {
    super(
      'invalid-session-name',
      `invalid session name ${JSON.stringify(name.slice(0, 80))}: use letters, digits, "_" and "-", at most 200`,
    );
  }
}

export class DiedDuringStartupError extends GcError {
  readonly exit: ExitInfo;
  readonly lastLines: string;
  readonly command: string;

  constructor(name: string, command: string, exit: ExitInfo, lastLines: string) {
    super('died-during-startup', `session died during startup: session "${name}" (${describeExit(exit)})`);
    this.exit = exit;
    this.lastLines = lastLines;
    this.command = command;
  }
}

/** A step of a start failed; nothing of the session is left. */
export class StartFailedError extends GcError {
  /** What its screen showed last, `''` when it had none. */
  readonly lastLines: string;

  constructor(
    code: string,
    message: string,
    options: { cause?: unknown; next?: string; lastLines?: string } = {},
  ) {
    super(code, message, options);
    this.lastLines = options.lastLines ?? '';
  }
}

export class InteractionUnsupportedError extends GcError {
  constructor() {
    super('interaction-unsupported', 'session interaction is unsupported');
  }
}

export class AttachUnsupportedError extends GcError {
  constructor(provider: string, next?: string) {
    const message = `${provider} provider does not support attach`;
    super('attach-unsupported', message, next === undefined ? {} : { next });
  }
}

/** The runtime could not be asked. It says nothing about any session. */
export class RuntimeUnavailableError extends GcError {
  constructor(what: string, cause?: unknown) {
    super('runtime-unavailable', what, cause === undefined ? {} : { cause });
  }
}

/** `exit 1`, `signal SIGKILL`, `OOMKilled (exit 137)`, or `unknown exit`. */
export function describeExit(exit: ExitInfo): string {
  const how = howItEnded(exit);
  if (!exit.reason) return how ?? 'unknown exit';
  return how === undefined ? exit.reason : `${exit.reason} (${how})`;
}

function howItEnded(exit: ExitInfo): string | undefined {
  if (exit.signal) return `signal ${exit.signal}`;
  return exit.code === undefined ? undefined : `exit ${exit.code}`;
}
