import type { SessionRecord } from '../session/record.ts';
import type { Admission } from './admission.ts';
import type { ResolvedDesired } from './model.ts';
import { type Action, type Change, type Decision, decisionKey, type Plan, type PlanInput } from './plan.ts';

/** A session that could start now if its dependencies and a free slot allow. */
export interface StartCandidate {
  readonly record: SessionRecord;
  readonly desired: ResolvedDesired;
  readonly why: string;
}

/** Between looks at the machine while something waits for it. */
const ROOM_RETRY_MS = 5_000;

type About = Pick<SessionRecord, 'id' | 'sessionName' | 'state'>;

/** The plan while it is being made. Local to one call of `plan`. */
export class PlanDraft {
  readonly candidates: StartCandidate[] = [];
  /** Believed running, not there, and no exit was seen: judged together. */
  readonly vanished: SessionRecord[] = [];
  /** Silent for long enough to sleep, and to be asked whether they are idle. */
  readonly probes: SessionRecord[] = [];
  /** Templates with a session that is up and ready. */
  readonly up = new Set<string>();
  readonly #changes: Change[] = [];
  readonly #roomWaits = new Map<string, string>();
  readonly #actions: Action[] = [];
  readonly #decisions = { change: [] as Decision[], action: [] as Decision[], standing: [] as Decision[] };
  #nextWall: number | undefined;
  #nextLived: number | undefined;
  readonly #input: PlanInput;

  constructor(input: PlanInput) {
    this.#input = input;
  }

  change(change: Change): void {
    this.#changes.push(change);
  }

  act(action: Action): void {
    this.#actions.push(action);
  }

  /** Why a record is changed. */
  changeBecause(record: About, what: string, why: string, inputs: Decision['inputs'] = {}): void {
    this.#decisions.change.push(decision(this.#input, record, what, why, inputs));
  }

  /** Why something is done. */
  actBecause(record: About, what: string, why: string, inputs: Decision['inputs'] = {}): void {
    this.#decisions.action.push(decision(this.#input, record, what, why, inputs));
  }

  /** A decision that stands as long as nothing changes: written once. */
  note(record: About, what: string, why: string, inputs: Decision['inputs'] = {}): void {
    if (this.#input.lastDecisions.get(record.sessionName) === decisionKey({ what, why })) return;
    this.#decisions.standing.push(decision(this.#input, record, what, why, inputs));
  }

  /** It could start but for the machine. Written once per resource: the figures change all the time. */
  waitForRoom(record: About, wait: Extract<Admission, { kind: 'waits' }>, inputs: Decision['inputs']): void {
    this.#roomWaits.set(record.sessionName, wait.why);
    this.wakeAtLived(this.#input.lived + ROOM_RETRY_MS);
    const last = this.#input.lastDecisions.get(record.sessionName);
    if (!last?.startsWith(decisionKey({ what: 'wait', why: `${wait.resource}:` })))
      this.#decisions.standing.push(decision(this.#input, record, 'wait', wait.why, inputs));
  }

  /** A moment that is over asks for nothing: this plan was made with it. */
  wakeAtWall(at: number): void {
    if (at <= this.#input.now) return;
    if (this.#nextWall === undefined || at < this.#nextWall) this.#nextWall = at;
  }

  /** As `wakeAtWall`. */
  wakeAtLived(at: number): void {
    if (at <= this.#input.lived) return;
    if (this.#nextLived === undefined || at < this.#nextLived) this.#nextLived = at;
  }

  /** Actions are decided on settled records only: when records change, the plan is made again. */
  finish(): Plan {
    const settled = this.#changes.length === 0;
    const { change, action, standing } = this.#decisions;
    return {
      changes: this.#changes,
      actions: settled ? this.#actions : [],
      decisions: settled ? [...action, ...standing] : change,
      roomWaits: this.#roomWaits,
      nextWall: this.#nextWall,
      nextLived: this.#nextLived,
    };
  }
}

function decision(
  input: PlanInput,
  record: About,
  what: string,
  why: string,
  inputs: Decision['inputs'],
): Decision {
  const { id: recordId, sessionName } = record;
  return { sessionName, recordId, what, why, inputs: { ...lookedAt(input, record), ...inputs } };
}

/** What every decision about a session looks at. */
function lookedAt(input: PlanInput, record: About): Decision['inputs'] {
  const desired = input.desired.get(record.sessionName);
  const demand = input.demand.wanted.get(record.sessionName);
  return {
    state: record.state,
    asked_for: desired ? desired.mode || desired.kind : 'nobody',
    ...(desired?.suspended ? { suspended: true } : {}),
    ...(demand === undefined ? {} : { demand }),
  };
}
