import { unreachable } from '../../platform/errors.ts';
import type { Answer, Liveness, Observation, Survey } from '../provider.ts';
import type { BackendSession, Inspection, InspectionOfAll } from './backend.ts';
import { hasProcess } from './facts.ts';

/** What a back end found, in the words of the contract. */
export function surveyOf(inspection: InspectionOfAll): Survey {
  if (inspection.kind !== 'seen') return inspection;
  const sessions = new Map([...inspection.sessions].map(([name, session]) => [name, observationOf(session)]));
  return { kind: 'seen', sessions };
}

function observationOf(session: BackendSession): Observation {
  return {
    name: session.name,
    liveness: livenessOf(session),
    attached: session.attached,
    lastActivity: session.lastActivity,
    processNames: session.processNames,
    meta: session.meta,
    ...(session.note === undefined ? {} : { note: session.note }),
  };
}

function livenessOf(session: BackendSession): Liveness {
  const { state } = session;
  return state.kind === 'alive'
    ? { kind: 'running', pid: state.pid === 0 ? undefined : state.pid }
    : { kind: 'exited', exit: state.exit, lastLines: state.lastLines };
}

/** Answers a question about a session that lives; `no` for one that does not. */
export function answerOf(inspection: Inspection, ask: (session: BackendSession) => Answer): Answer {
  switch (inspection.kind) {
    case 'absent':
      return 'no';
    case 'unknown':
      return 'unknown';
    case 'present':
      return inspection.session.state.kind === 'alive' ? ask(inspection.session) : 'no';
    default:
      return unreachable(inspection);
  }
}

export function processAnswer(session: BackendSession, names: readonly string[]): Answer {
  if (!session.processNames) return 'unknown';
  return hasProcess(session.processNames, names) ? 'yes' : 'no';
}
