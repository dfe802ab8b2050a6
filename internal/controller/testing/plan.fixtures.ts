import { rfc3339 } from '../../platform/clock.ts';
import type { Observation, Survey } from '../../runtime/provider.ts';
import { EMPTY_RUNTIME_CONFIG } from '../../runtime/runtime-config.ts';
import type { SessionRecord } from '../../session/record.ts';
import { toSessionRecord } from '../../session/record-codec.ts';
import { type Desired, NO_DEMAND, type OrderedSurvey, type ResolvedDesired } from '../model.ts';
import type { PlanInput } from '../plan.ts';
import type { SleepRequest } from '../sleep-policy.ts';
import { NO_LIMITS } from '../start-limits.ts';

/** Wall clock of every fixture. */
export const NOW = Date.UTC(2026, 0, 2, 10);
/** Lived milliseconds of every fixture. */
export const LIVED = 1_000_000;
/** Place of every fixture's survey. */
export const ORDER = 100;

export function aRecord(name: string, metadata: Readonly<Record<string, string>> = {}): SessionRecord {
  return toSessionRecord({
    id: `gc-${name}`,
    title: name,
    status: 'open',
    issue_type: 'session',
    priority: undefined,
    created_at: rfc3339(NOW - 60_000),
    assignee: '',
    from: '',
    parent: '',
    ref: '',
    description: '',
    labels: [],
    dependencies: [],
    revision: 1,
    metadata: { session_name: name, template: name, generation: '1', ...metadata },
  });
}

/** Started and confirmed a minute ago with the fixture's configuration. */
export function aRunningRecord(name: string, metadata: Readonly<Record<string, string>> = {}): SessionRecord {
  return aRecord(name, {
    state: 'active',
    last_woke_at: rfc3339(NOW - 60_000),
    instance_token: `token-${name}`,
    started_config_hash: 'core',
    started_live_hash: 'live',
    ...metadata,
  });
}

export function aDesired(name: string, over: Partial<ResolvedDesired> = {}): ResolvedDesired {
  return {
    resolution: 'resolved',
    sessionName: name,
    identity: name,
    template: name,
    kind: 'named',
    mode: 'always',
    dependsOn: [],
    suspended: false,
    drainTimeoutMs: 300_000,
    source: { file: '/city/city.yaml', line: 1, column: 1 },
    config: EMPTY_RUNTIME_CONFIG,
    coreHash: 'core',
    liveHash: 'live',
    breakdown: {
      Command: '',
      Env: '',
      FPExtra: '',
      PreStart: '',
      SessionSetup: '',
      SessionSetupScript: '',
      OverlayDir: '',
      CopyFiles: '',
    },
    resume: { sessionIdFlag: '', resumeFlag: '', resumeStyle: 'flag', resumeCommand: '' },
    wakeMode: 'resume',
    startupTimeoutMs: 60_000,
    transport: '',
    provider: 'demo',
    providerKind: 'demo',
    ...over,
  };
}

export function aSleepRequest(over: Partial<SleepRequest> = {}): SleepRequest {
  return {
    class: 'interactive_resume',
    value: '5m',
    source: 'agent',
    template: 'a',
    dependsOn: [],
    always: false,
    ...over,
  };
}

export function aRunningObservation(name: string, over: Partial<Observation> = {}): Observation {
  return {
    name,
    liveness: { kind: 'running', pid: 1 },
    attached: 0,
    lastActivity: NOW - 30_000,
    processNames: undefined,
    meta: { GC_INSTANCE_TOKEN: `token-${name}`, GC_SESSION_ID: `gc-${name}` },
    ...over,
  };
}

export function seen(...observations: readonly Observation[]): Survey {
  return { kind: 'seen', sessions: new Map(observations.map((o) => [o.name, o])) };
}

/** A look that found exactly these sessions, all running as their fixtures say. */
export function aSurveyOf(names: readonly string[]): OrderedSurvey {
  return { order: ORDER, survey: seen(...names.map((name) => aRunningObservation(name))) };
}

/** An empty city with these facts instead. */
export function anInput(over: Partial<PlanInput>): PlanInput {
  return aPlanInput({ over });
}

export interface PlanScene {
  readonly desired?: readonly Desired[];
  readonly records?: readonly SessionRecord[];
  readonly survey?: Survey;
  readonly surveyOrder?: number;
  readonly over?: Partial<PlanInput>;
}

export function aPlanInput(scene: PlanScene = {}): PlanInput {
  const desired = scene.desired ?? [];
  return {
    now: NOW,
    lived: LIVED,
    desired: new Map(desired.map((d) => [d.sessionName, d])),
    templates: new Set(desired.map((d) => d.template)),
    records: scene.records ?? [],
    survey: { order: scene.surveyOrder ?? ORDER, survey: scene.survey ?? seen() },
    operations: new Map(),
    effects: new Map(),
    retryAt: new Map(),
    idleSince: new Map(),
    probedAt: new Map(),
    sleepCapabilities: new Map(),
    drainTold: new Map(),
    agentMissingSince: new Map(),
    canContinueStart: false,
    askedAt: new Map(),
    exits: new Map(),
    pending: new Set(),
    readyWaits: new Set(),
    infrastructureLost: undefined,
    watchingSince: NOW - 3_600_000,
    watched: true,
    startSlots: 5,
    limits: NO_LIMITS,
    room: undefined,
    elsewhere: new Set(),
    driftDrainTimeoutMs: 120_000,
    demand: NO_DEMAND,
    stopping: false,
    lastDecisions: new Map(),
    ...scene.over,
  };
}
