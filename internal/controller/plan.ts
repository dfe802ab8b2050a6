import type { ExitInfo, SleepCapability } from '../runtime/provider.ts';
import type { AccountLimit } from '../session/account-limit.ts';
import type { SessionRecord } from '../session/record.ts';
import type { MetadataPatch } from '../session/transitions.ts';
import type { Room } from './admission.ts';
import type {
  CityDemand,
  Desired,
  DrainReason,
  OperationInFlight,
  OrderedSurvey,
  ResolvedDesired,
  SeenExit,
  StopReason,
} from './model.ts';
import type { StartLimits } from './start-limits.ts';

/** Everything the decision may look at. No field is read from anywhere else. */
export interface PlanInput {
  /** Wall clock, milliseconds since the epoch: compared with what records store. */
  readonly now: number;
  /** Lived milliseconds: compared with everything kept in memory. */
  readonly lived: number;
  readonly desired: ReadonlyMap<string, Desired>;
  /** Qualified names of all agents of the city. */
  readonly templates: ReadonlySet<string>;
  /** Open session records. */
  readonly records: readonly SessionRecord[];
  /** `undefined`: nothing was observed yet. */
  readonly survey: OrderedSurvey | undefined;
  /** By session name. */
  readonly operations: ReadonlyMap<string, OperationInFlight>;
  /** The place of the last effect on a session: a look that began before it says nothing about the session. */
  readonly effects: ReadonlyMap<string, number>;
  /** An operation failed: nothing is tried on this session before then, lived milliseconds. */
  readonly retryAt: ReadonlyMap<string, number>;
  /** When a drain found the session idle, lived milliseconds. */
  readonly idleSince: ReadonlyMap<string, number>;
  /** When an interactive session was last asked whether it is idle, lived milliseconds. */
  readonly probedAt: ReadonlyMap<string, number>;
  /** How well back ends tell silence, of sessions with something said about their sleep; without an entry not at all. */
  readonly sleepCapabilities: ReadonlyMap<string, SleepCapability>;
  /** The beginning of the drain that the session was told of by this controller, milliseconds since the epoch. */
  readonly drainTold: ReadonlyMap<string, number>;
  /** Since when a terminal lives without any of its expected programs, lived milliseconds. */
  readonly agentMissingSince: ReadonlyMap<string, number>;
  /** The provider can take up a start that did not come to its end. */
  readonly canContinueStart: boolean;
  /** When the last attempt to take up a start ended with a question still open, milliseconds since the epoch. */
  readonly askedAt: ReadonlyMap<string, number>;
  readonly exits: ReadonlyMap<string, SeenExit>;
  /** Sessions whose agent asks something that a person must answer. */
  readonly pending: ReadonlySet<string>;
  /** Ids of the records of which a wait is over, and not yet told. */
  readonly readyWaits: ReadonlySet<string>;
  /** The runtime said since the last pass that this part of it went. */
  readonly infrastructureLost: string | undefined;
  /**
   * Since when this controller has watched without a gap, milliseconds since the epoch: what an agent did not say before
   * may be because the machine stood still. `undefined`: it saw nothing yet.
   */
  readonly watchingSince: number | undefined;
  /**
   * When the machine last stood still or its clock was set, as far as this controller saw it, milliseconds since the
   * epoch: silence is counted from then. Absent: not since it came up.
   */
  readonly steadySince?: number | undefined;
  /** This controller has watched the city since before the deaths it finds now. */
  readonly watched: boolean;
  /** How many processes may be in creation at once. */
  readonly startSlots: number;
  readonly limits: StartLimits;
  /** By session name: starts that wait for the usage limit of their account; absent: none. */
  readonly accountWaits?: ReadonlyMap<string, AccountLimit>;
  /** What starts have to leave free of this machine; `undefined`: no limits. */
  readonly room: Room | undefined;
  /** Names of sessions that run on other machines: this one's limits say nothing about them. */
  readonly elsewhere: ReadonlySet<string>;
  readonly driftDrainTimeoutMs: number;
  readonly demand: CityDemand;
  /** The city is going down: nothing starts. */
  readonly stopping: boolean;
  /** Key of the last decision about each session: standing ones are not repeated. */
  readonly lastDecisions: ReadonlyMap<string, string>;
}

/** What is to be written and done now. All empty when nothing changed. */
export interface Plan {
  /** Written in one transaction, then the plan is made again from the new records. */
  readonly changes: readonly Change[];
  /** Only of meaning when there are no changes. */
  readonly actions: readonly Action[];
  readonly decisions: readonly Decision[];
  /** By session name: what a start waits for that could begin now but for the machine. */
  readonly roomWaits: ReadonlyMap<string, string>;
  /** The passing of time alone changes the plan then (wall clock); `undefined` when it never does. */
  readonly nextWall: number | undefined;
  /** The same for deadlines in memory, lived milliseconds. */
  readonly nextLived: number | undefined;
}

/** A change of records only. */
export type Change =
  /** A session that is wanted has no record. */
  | { readonly kind: 'materialize'; readonly desired: Desired }
  /** A session of ours lives without a record. */
  | {
      readonly kind: 'adopt';
      readonly sessionName: string;
      readonly meta: Readonly<Record<string, string>>;
      readonly desired: Desired | undefined;
    }
  /** Another life of the session than the record names is the one that lives. */
  | { readonly kind: 'take-over'; readonly record: SessionRecord; readonly token: string }
  | { readonly kind: 'ended'; readonly record: SessionRecord; readonly death: Death }
  /** Everything went together with the server or host, or while nobody watched: one cause, nobody's strike. */
  | { readonly kind: 'lost'; readonly what: string; readonly records: readonly SessionRecord[] }
  /** It runs and is to run: the record says so again. */
  | { readonly kind: 'settle-active'; readonly record: SessionRecord }
  | {
      readonly kind: 'begin-drain';
      readonly record: SessionRecord;
      readonly reason: DrainReason;
      readonly detail: string;
    }
  | { readonly kind: 'cancel-drain'; readonly record: SessionRecord; readonly why: string }
  /** Nothing asks for it any more and it does not run: the record is closed and the name is free. */
  | { readonly kind: 'retire'; readonly record: SessionRecord; readonly reason: 'orphaned' | 'scaled down' }
  /** What its record says of its sleep is another thing now. */
  | { readonly kind: 'note-sleep'; readonly record: SessionRecord; readonly notes: MetadataPatch }
  | { readonly kind: 'note-live'; readonly record: SessionRecord; readonly desired: ResolvedDesired }
  | { readonly kind: 'clear-hold'; readonly record: SessionRecord };

export type Death = {
  readonly exit: ExitInfo | undefined;
  readonly lastLines: string;
} & (
  | { readonly cause: 'by-itself' }
  /** `detail`: what was seen, for people. */
  | { readonly cause: 'intended'; readonly reason: StopReason; readonly detail?: string | undefined }
  | { readonly cause: 'drained'; readonly reason: DrainReason }
  /** A pool's session that had nothing more to do. */
  | { readonly cause: 'finished' }
  /** The controller died in the middle of the start. */
  | { readonly cause: 'interrupted' }
);

/** An effect on the runtime. */
export type Action =
  | {
      readonly kind: 'start';
      readonly sessionName: string;
      readonly record: SessionRecord;
      readonly desired: ResolvedDesired;
      readonly why: string;
    }
  /** Goes on with a start that a person's question, or the death of a controller, left in the middle. */
  | {
      readonly kind: 'continue-start';
      readonly sessionName: string;
      readonly record: SessionRecord;
      readonly desired: ResolvedDesired;
    }
  | {
      readonly kind: 'stop';
      readonly sessionName: string;
      readonly record: SessionRecord | undefined;
      readonly reason: StopReason;
      /** What was seen, for people. */
      readonly detail?: string;
      readonly instanceToken: string;
    }
  | {
      readonly kind: 'drain';
      readonly sessionName: string;
      readonly record: SessionRecord;
      readonly reason: DrainReason;
      /** When it began, milliseconds since the epoch. */
      readonly since: number;
      /** How long its idleness is waited for, milliseconds; 0: it is told and nothing more. */
      readonly idleWithinMs: number;
    }
  /** Asks whether it is idle, for a moment; the answer is remembered and nothing else is done. */
  | { readonly kind: 'probe-idle'; readonly sessionName: string; readonly record: SessionRecord }
  | {
      readonly kind: 'apply-live';
      readonly sessionName: string;
      readonly record: SessionRecord;
      readonly desired: ResolvedDesired;
    };

/** One line of `gc explain`. */
export interface Decision {
  readonly sessionName: string;
  readonly recordId: string;
  readonly what: string;
  readonly why: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly lines?: readonly string[];
}

/** Two decisions with one key are the same decision. */
export function decisionKey(decision: Pick<Decision, 'what' | 'why'>): string {
  return `${decision.what}|${decision.why}`;
}
