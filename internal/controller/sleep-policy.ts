import type { Agent, City, SessionSleep } from '../config/city.ts';
import { parseRfc3339, rfc3339 } from '../platform/clock.ts';
import { parseDuration } from '../platform/duration.ts';
import type { SleepCapability } from '../runtime/provider.ts';
import type { SessionRecord } from '../session/record.ts';
import type { MetadataPatch } from '../session/transitions.ts';
import type { DesiredKind } from './model.ts';

/** Who sits at it, and with which conversation it wakes. Source: Gas City's session sleep classes. */
export type SleepClass = 'interactive_resume' | 'interactive_fresh' | 'noninteractive';

/** Where the value stands. The first six are Gas City's words. */
export type SleepSource =
  | 'agent'
  | 'rig_override'
  | 'agent_patch'
  | 'rig_default'
  | 'workspace_default'
  | 'legacy_off'
  /** `chat_sessions.idle_timeout`: sessions that people made. */
  | 'chat_sessions'
  /** Nothing is written: on-demand sessions sleep after five minutes. */
  | 'on_demand_default';

/** What the city file says about one session's sleep. */
export interface SleepRequest {
  readonly class: SleepClass;
  /** A duration in the notation of the city file, or `off`. */
  readonly value: string;
  readonly source: SleepSource;
  readonly template: string;
  readonly dependsOn: readonly string[];
  /** It is always to be up: it never sleeps for being idle. */
  readonly always: boolean;
}

/** Why less is done than was asked for. */
export type SleepAdjustment =
  | ''
  | 'capability_disabled'
  | 'interactive_capability_insufficient'
  | 'always_awake';

/** What is asked for, as far as the session's back end can tell silence from work. */
export interface SleepPolicy {
  readonly request: SleepRequest;
  readonly capability: SleepCapability;
  readonly adjustment: SleepAdjustment;
  /** Silence after which it may sleep, milliseconds; 0: at once; `undefined`: it does not sleep. */
  readonly afterMs: number | undefined;
  /** Two equal ones are the same policy. */
  readonly fingerprint: string;
}

/** Source: Gas City: five minutes for on-demand sessions of which nothing is said. */
const ON_DEMAND_IDLE = '5m';

export interface SleepSubject {
  readonly agent: Pick<
    Agent,
    'attach' | 'wakeMode' | 'sleepAfterIdle' | 'sleepSource' | 'dir' | 'dependsOn' | 'qualifiedName'
  >;
  readonly kind: DesiredKind;
  readonly mode: '' | 'always' | 'on_demand';
}

/** Source: Gas City: agent, then rig, then workspace; `chat_sessions` comes first for sessions that people made. */
export function sleepRequest(
  city: Pick<City, 'chatSessions' | 'sessionSleep' | 'rigs'>,
  { agent, kind, mode }: SleepSubject,
): SleepRequest {
  const sleepClass = classOf(agent);
  const common = {
    class: sleepClass,
    template: agent.qualifiedName,
    dependsOn: agent.dependsOn,
    always: mode === 'always',
  };
  const chatMs = kind === 'manual' ? city.chatSessions.idleTimeoutMs : 0;
  if (chatMs > 0) return { ...common, value: `${chatMs / 1_000}s`, source: 'chat_sessions' };
  if (agent.sleepAfterIdle !== '')
    return { ...common, value: agent.sleepAfterIdle, source: agent.sleepSource || 'agent' };
  const rig = agent.dir === '' ? undefined : city.rigs.find(({ name }) => name === agent.dir);
  const ofRig = rig ? valueFor(rig.sessionSleep, sleepClass) : '';
  if (ofRig !== '') return { ...common, value: ofRig, source: 'rig_default' };
  const ofCity = valueFor(city.sessionSleep, sleepClass);
  if (ofCity !== '') return { ...common, value: ofCity, source: 'workspace_default' };
  if (mode === 'on_demand') return { ...common, value: ON_DEMAND_IDLE, source: 'on_demand_default' };
  return { ...common, value: 'off', source: 'legacy_off' };
}

function classOf(agent: SleepSubject['agent']): SleepClass {
  if (!agent.attach) return 'noninteractive';
  return agent.wakeMode === 'fresh' ? 'interactive_fresh' : 'interactive_resume';
}

function valueFor(sleep: SessionSleep, sleepClass: SleepClass): string {
  switch (sleepClass) {
    case 'interactive_resume':
      return sleep.interactiveResume;
    case 'interactive_fresh':
      return sleep.interactiveFresh;
    case 'noninteractive':
      return sleep.noninteractive;
  }
}

/** Source: Gas City's sleep capabilities and policy fingerprint. */
export function sleepPolicy(request: SleepRequest, capability: SleepCapability): SleepPolicy {
  const adjustment = adjustmentOf(request, capability);
  const written = request.value === 'off' ? undefined : parseDuration(request.value);
  const afterMs = adjustment === '' && written !== undefined && written >= 0 ? written : undefined;
  const fingerprint = [
    `value=${request.value}`,
    `class=${request.class}`,
    `source=${request.source}`,
    `wake=${request.class === 'interactive_fresh' ? 'fresh' : 'resume'}`,
    `cap=${capability}`,
    `deps=${request.dependsOn.join(',')}`,
    `template=${request.template}`,
  ].join('|');
  return { request, capability, adjustment, afterMs, fingerprint };
}

function adjustmentOf(request: SleepRequest, capability: SleepCapability): SleepAdjustment {
  if (request.value === 'off') return '';
  if (request.always) return 'always_awake';
  if (capability === 'disabled') return 'capability_disabled';
  // Nobody wrote it: it holds wherever silence can be told at all.
  if (request.source === 'on_demand_default' || isUnattended(request)) return '';
  return capability === 'full' ? '' : 'interactive_capability_insufficient';
}

/** Nobody sits at it: its silence alone counts. */
export function isUnattended({ class: sleepClass }: Pick<SleepRequest, 'class'>): boolean {
  return sleepClass === 'noninteractive';
}

/** Keys of the record. Source: Gas City session bead metadata. */
const FINGERPRINT_KEY = 'sleep_policy_fingerprint';
const CAPABILITY_KEY = 'sleep_capability';
const SUPPRESSED_KEY = 'config_wake_suppressed';
const DETACHED_KEY = 'detached_at';

/** The mark of a stop for idleness that is under way. Source: Gas City. */
const IDLE_STOP_INTENT = 'idle-stop-pending';

/** The end of a life that its silence ended, as `sleep_reason`. */
const IDLE_SLEEP = 'idle';

/** It went to sleep for its silence, under the policy that still holds. */
export function sleepsUnder(record: SessionRecord, policy: SleepPolicy): boolean {
  return isIdleAsleep(record) && record.metadata[FINGERPRINT_KEY] === policy.fingerprint;
}

/** Its silence ended its last life. */
export function isIdleAsleep(record: SessionRecord): boolean {
  return record.state === 'asleep' && record.sleepReason === IDLE_SLEEP;
}

/** What its back end could tell when it was asked last, while it ran. */
export function notedCapability(record: SessionRecord): SleepCapability | undefined {
  const noted = record.metadata[CAPABILITY_KEY];
  return noted === 'full' || noted === 'timed_only' || noted === 'disabled' ? noted : undefined;
}

/** Since when nobody is connected to it, milliseconds since the epoch; `undefined`: not noted. */
export function detachedAt(record: SessionRecord): number | undefined {
  return parseRfc3339(record.metadata[DETACHED_KEY]);
}

/**
 * What the record of a running session is to say of its sleep: empty when it says so already, and for sessions that
 * never had a policy. It is not touched while the session goes to sleep, and while it sleeps.
 */
export function sleepNotes(
  record: SessionRecord,
  policy: SleepPolicy,
  facts: { readonly attached: boolean; readonly now: number },
): MetadataPatch {
  const { request, capability, adjustment, afterMs, fingerprint } = policy;
  const hasNotes = (record.metadata[FINGERPRINT_KEY] ?? '') !== '';
  if (request.value === 'off' && !hasNotes) return {};
  const isWatched = afterMs !== undefined && !isUnattended(request) && capability === 'full';
  const detached = isWatched && !facts.attached ? (detachedAt(record) ?? facts.now) : undefined;
  return changedOnly(record, {
    requested_sleep_after_idle: request.value,
    effective_sleep_after_idle: afterMs === undefined ? 'off' : request.value,
    sleep_policy_source: request.source,
    [CAPABILITY_KEY]: capability,
    sleep_policy_adjustment_reason: adjustment,
    [FINGERPRINT_KEY]: fingerprint,
    [DETACHED_KEY]: detached === undefined ? '' : rfc3339(detached),
    [SUPPRESSED_KEY]: '',
    ...(record.sleepIntent === IDLE_STOP_INTENT ? { sleep_intent: '' } : {}),
  });
}

/** Written with the beginning of the drain that ends in sleep. */
export function fallingAsleep(): MetadataPatch {
  return { sleep_intent: IDLE_STOP_INTENT, [SUPPRESSED_KEY]: 'true' };
}

function changedOnly(record: SessionRecord, wanted: MetadataPatch): MetadataPatch {
  const changed = Object.entries(wanted).filter(([key, value]) => (record.metadata[key] ?? '') !== value);
  return Object.fromEntries(changed);
}
