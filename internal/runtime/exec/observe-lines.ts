import { parseRfc3339 } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import { integer, listOf, mapOf, object, optional, text } from '../host/shape.ts';
import type { ExitInfo, Liveness, Observation } from '../provider.ts';

const MAX_PID = 2 ** 31;
const MAX_CODE = 2 ** 31;
const MAX_CLIENTS = 10_000;

const LINE = object({
  name: text,
  state: text,
  pid: optional(integer(1, MAX_PID)),
  exit_code: optional(integer(-MAX_CODE, MAX_CODE)),
  exit_signal: optional(text),
  exit_reason: optional(text),
  last_lines: optional(text),
  attached: optional(integer(0, MAX_CLIENTS)),
  last_activity: optional(text),
  process_names: optional(listOf(text)),
  meta: optional(mapOf(text)),
  note: optional(text),
});
type Line = ReturnType<typeof LINE>;

/**
 * Reads what `observe` printed: one JSON object per line and session. Keys that this version does not know are passed
 * over. @throws GcError `bad-observation` naming the line: half an answer is none
 */
export function parseObservations(output: string): ReadonlyMap<string, Observation> {
  const sessions = new Map<string, Observation>();
  for (const [index, line] of output.split('\n').entries()) {
    if (line.trim() === '') continue;
    const observation = observationOf(parseLine(line, index + 1));
    sessions.set(observation.name, observation);
  }
  return sessions;
}

function parseLine(line: string, number: number): Line {
  try {
    return LINE(JSON.parse(line), 'session');
  } catch (error) {
    const why = error instanceof GcError ? error.message : 'it is not JSON';
    throw new GcError('bad-observation', `line ${number} of the answer to "observe": ${why}`);
  }
}

function observationOf(line: Line): Observation {
  return {
    name: line.name,
    liveness: livenessOf(line),
    attached: line.attached,
    lastActivity: parseRfc3339(line.last_activity),
    processNames: line.process_names,
    meta: line.meta ?? {},
    ...(line.note === undefined || line.note === '' ? {} : { note: line.note }),
  };
}

function livenessOf(line: Line): Liveness {
  switch (line.state) {
    case 'running':
      return { kind: 'running', pid: line.pid };
    case 'exited':
      return { kind: 'exited', exit: exitOf(line), lastLines: line.last_lines ?? '' };
    default:
      return { kind: 'unknown', reason: `the script says "${line.state}"` };
  }
}

function exitOf(line: Line): ExitInfo {
  return {
    ...(line.exit_code === undefined || line.exit_signal ? {} : { code: line.exit_code }),
    ...(line.exit_signal ? { signal: line.exit_signal } : {}),
    ...(line.exit_reason ? { reason: line.exit_reason } : {}),
  };
}
