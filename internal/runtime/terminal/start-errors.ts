import { DiedDuringStartupError, StartFailedError } from '../errors.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import { type Look, lookAtText, tailOf } from '../screen.ts';
import type { BackendSession } from './backend.ts';

const TAIL_LINES = 12;

/** The error for an agent that ended, with the lines that the terminal kept, else the last that were seen. */
export function diedError(
  name: string,
  config: RuntimeConfig,
  state: Extract<BackendSession['state'], { kind: 'dead' }> | undefined,
  lastSeen: Look | undefined,
): DiedDuringStartupError {
  const kept = tailOf(lookAtText(state?.lastLines ?? ''), TAIL_LINES);
  const lines = kept !== '' ? kept : lastSeen ? tailOf(lastSeen, TAIL_LINES) : '';
  return new DiedDuringStartupError(
    name,
    config.command,
    state?.exit ?? {},
    lines || shellsVerdict(config, state),
  );
}

/** A terminal may lose what was printed in the last instant; two exit codes of the shell say enough by themselves. */
function shellsVerdict(
  config: RuntimeConfig,
  state: Extract<BackendSession['state'], { kind: 'dead' }> | undefined,
): string {
  const program = config.command.trim().split(/\s+/)[0] ?? '';
  if (state?.exit.code === 127) return `${program}: not found`;
  if (state?.exit.code === 126) return `${program}: cannot be executed`;
  return '';
}

/** The error for an agent that lives and is not ready: what was waited for, and its last lines. */
export function notReadyError(
  name: string,
  waitedMs: number,
  missing: string,
  lastSeen: Look | undefined,
): StartFailedError {
  const seconds = (waitedMs / 1_000).toFixed(1);
  const lastLines = lastSeen ? tailOf(lastSeen, TAIL_LINES) : '';
  return new StartFailedError(
    'not-ready',
    `session "${name}" was not ready after ${seconds} s: waited for ${missing}${lastLines === '' ? '' : `\n${lastLines}`}`,
    { lastLines },
  );
}

/** A caller's deadline ran out: not a person's wish, so it is told as a failure with what was going on. */
export function isDeadline(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}
