import type { SourcePosition } from '../config/city.ts';
import type { Transport } from '../config/preset/resolve-preset.ts';
import type { ExitInfo, Survey } from '../runtime/provider.ts';
import type { ResumeAbility } from '../session/command.ts';
import type { TwoForms } from './config-form.ts';
import type { SessionWorktree } from './session-worktree.ts';
import type { SleepRequest } from './sleep-policy.ts';

/** What the city file (and the records of manual sessions) ask for under one runtime session name. */
export type Desired = ResolvedDesired | UnresolvableDesired;

interface DesiredIdentity {
  readonly sessionName: string;
  /** What people call it: the named identity, the alias of a manual session, else the template. */
  readonly identity: string;
  /** Qualified name of the agent. */
  readonly template: string;
  readonly kind: DesiredKind;
  /** `''` for sessions that are not named. */
  readonly mode: '' | 'always' | 'on_demand';
  /** Templates that must be up first, qualified. */
  readonly dependsOn: readonly string[];
  /** The agent, its rig or the whole city is suspended in the file or by a person. */
  readonly suspended: boolean;
  readonly drainTimeoutMs: number;
  /** What the city file says about its sleep; `undefined`: nothing. */
  readonly sleep?: SleepRequest | undefined;
  /** After so much silence it is ended, and started again where it is wanted; `undefined`: never. */
  readonly idleTimeoutMs?: number | undefined;
  /** The slot of a pool's session, the first being 1. */
  readonly slot?: number | undefined;
  readonly source: SourcePosition;
}

/** `dependency`: nobody named it, a session that is wanted needs it. `pool`: one of the slots of its agent. */
export type DesiredKind = 'named' | 'manual' | 'dependency' | 'pool';

/** What waiting work asks for now. Keys are session names where nothing else is said. */
export interface CityDemand {
  /** To be awake because of it, with what asks for it, for people: pool slots and on-demand sessions. */
  readonly wanted: ReadonlyMap<string, string>;
  /** Those that work itself asks for, and no floor: they do not sleep for being idle, and are woken. */
  readonly called: ReadonlySet<string>;
  /** Sessions with open work in their hands, of whatever kind: never given up. */
  readonly busy: ReadonlySet<string>;
  /** When work of a template was last seen to become less, milliseconds since the epoch. By template. */
  readonly progressAt: ReadonlyMap<string, number>;
  /** Templates whose demand a command tells: that their work gets done is seen late, if at all. */
  readonly opaque: ReadonlySet<string>;
  /** Templates of which the demand is not known yet: nobody is given up. Absent: none. */
  readonly unanswered?: ReadonlySet<string>;
}

export const NO_DEMAND: CityDemand = {
  wanted: new Map(),
  called: new Set(),
  busy: new Set(),
  progressAt: new Map(),
  opaque: new Set(),
};

/** Its configuration is without what one life of a session adds (identity, conversation key): see start-config.ts. */
export interface ResolvedDesired extends DesiredIdentity, TwoForms {
  readonly resolution: 'resolved';
  readonly liveHash: string;
  /** Made, or taken again, before each start. */
  readonly worktree?: SessionWorktree;
  readonly resume: ResumeAbility;
  readonly wakeMode: 'resume' | 'fresh';
  readonly startupTimeoutMs: number;
  /** The preset's name in the file, and the built-in it is a kind of. */
  readonly provider: string;
  readonly providerKind: string;
  /** How its agent is spoken to: at its terminal, or in the Agent Client Protocol. */
  readonly transport: Transport;
}

/** The agent cannot be started as it is written. Everything else goes on. */
export interface UnresolvableDesired extends DesiredIdentity {
  readonly resolution: 'unresolvable';
  readonly problem: AgentProblem;
}

export interface AgentProblem {
  /** Stable, kebab-case. */
  readonly code: string;
  readonly message: string;
  readonly next: string | undefined;
}

/** One look at the runtime. */
export interface OrderedSurvey {
  /** Its place among looks and effects, by when it began: an effect that ended later is not in it. */
  readonly order: number;
  readonly survey: Survey;
}

export type OperationKind = 'start' | 'continue-start' | 'stop' | 'drain' | 'probe-idle' | 'apply-live';

/** A worker that is busy with a session. One per session name. */
export interface OperationInFlight {
  readonly id: string;
  readonly kind: OperationKind;
  /** The process of a start is not there yet: it takes one of the start slots. */
  readonly creating: boolean;
}

/** A death that the runtime reported by itself; it adds what a later survey can no longer see. */
export interface SeenExit {
  readonly exit: ExitInfo;
  readonly lastLines: string;
}

/** Why a session is stopped. Recorded before the first signal. */
export const STOP_REASONS = [
  'killed by a person',
  'suspended by a person',
  'closed by a person',
  'restart requested',
  'drain acknowledged by agent',
  'drained by a person',
  'config-drift',
  'orphaned',
  'suspended',
  'held',
  'wait-hold',
  'idle',
  'no-wake-reason',
  'start interrupted',
  'start timed out',
  'no agent in it',
  'idle-timeout',
  'leftover',
  'city stopped',
] as const;

export type StopReason = (typeof STOP_REASONS)[number];

export function isStopReason(text: string | undefined): text is StopReason {
  return STOP_REASONS.some((reason) => reason === text);
}

/**
 * Why a session is being let go: it is idle first, or its time runs out. One that a person drains says itself that it
 * is done.
 */
export const DRAIN_REASONS = [
  'drained by a person',
  'config-drift',
  'orphaned',
  'suspended',
  'held',
  'wait-hold',
  'idle',
  'no-wake-reason',
] as const;

export type DrainReason = (typeof DRAIN_REASONS)[number];

/** Why it is let go, for people. */
export function drainWords(reason: DrainReason): string {
  switch (reason) {
    case 'drained by a person':
      return reason;
    case 'config-drift':
      return 'its config changed';
    case 'orphaned':
      return 'the config does not ask for it any more';
    case 'suspended':
      return 'its agent is suspended';
    case 'held':
      return 'it is held down';
    case 'wait-hold':
      return 'it sleeps until its wait is over';
    case 'idle':
      return 'it was silent for long enough to sleep';
    case 'no-wake-reason':
      return 'nothing needs it now';
  }
}

export function isDrainReason(text: string): text is DrainReason {
  return DRAIN_REASONS.some((reason) => reason === text);
}
