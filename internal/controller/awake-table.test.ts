import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rfc3339 } from '../platform/clock.ts';
import type { SleepCapability } from '../runtime/provider.ts';
import { type AwakeDecision, type AwakeFacts, decideAwake, type WakeReason } from './awake-set.ts';
import type { Desired } from './model.ts';
import { type SleepRequest, sleepPolicy } from './sleep-policy.ts';
import { aDesired, aRecord, aSleepRequest, NOW } from './testing/plan.fixtures.ts';

const HOUR_MS = 3_600_000;
const RUNS = 1_000;
/** It runs since an hour, and has been silent as long. */
const LONG_UP = { state: 'active', last_woke_at: rfc3339(NOW - HOUR_MS) };

/** What asks for a session, in the order in which it is asked. */
const CAUSES = {
  'pending-create': { meta: { pending_create_claim: 'true' } },
  'wait-ready': { facts: { waitReady: true } },
  'named-always': { desired: { mode: 'always' } },
  manual: { desired: { kind: 'manual', mode: '' } },
  'work of a session made by hand': { desired: { kind: 'manual', mode: '' }, facts: { called: true } },
  'demand of a pool': { desired: { kind: 'pool', mode: '' }, facts: { demanded: true, called: true } },
  'floor of a pool': { desired: { kind: 'pool', mode: '' }, facts: { demanded: true } },
  'work of an on-demand session': { facts: { demanded: true, called: true } },
  dependency: { desired: { kind: 'dependency', mode: '' }, facts: { needed: true } },
  attached: { facts: { attached: true, running: true } },
  pending: { facts: { pending: true, running: true } },
  'on-demand:running': { facts: { running: true } },
  pin: { meta: { pin_awake: 'true' } },
  nothing: {},
} as const satisfies Record<string, Part>;

/** What keeps a session down. */
const BLOCKERS = {
  none: {},
  suspended: { meta: { state: 'suspended' } },
  held: { meta: { held_until: rfc3339(NOW + HOUR_MS) } },
  quarantined: { meta: { quarantined_until: rfc3339(NOW + HOUR_MS) } },
  'not in the config': { gone: true },
  'agent suspended': { desired: { suspended: true } },
  'wait hold': { meta: { wait_hold: 'true' } },
  drained: { meta: { state: 'drained' } },
  'idle under its policy': { sleeps: true },
} as const satisfies Record<string, Part>;

interface Part {
  readonly meta?: Readonly<Record<string, string>>;
  readonly facts?: Partial<AwakeFacts>;
  readonly desired?: Partial<Pick<Desired, 'kind' | 'mode' | 'suspended'>>;
  readonly gone?: boolean;
  readonly sleeps?: boolean;
}

type Cause = keyof typeof CAUSES;
type Blocker = keyof typeof BLOCKERS;

function factsOf(...parts: readonly Part[]): AwakeFacts {
  const desired = aDesired('a', {
    kind: 'named',
    mode: 'on_demand',
    ...Object.assign({}, ...parts.map((part) => part.desired)),
  });
  const sleep = sleepPolicy(aSleepRequest({ always: desired.mode === 'always' }), 'full');
  const over: Partial<AwakeFacts> = Object.assign({}, ...parts.map((part) => part.facts));
  const asleep = over.running ? LONG_UP : { state: 'asleep' };
  const sleepsNow = parts.some((part) => part.sleeps) && !over.running;
  const record = aRecord('a', {
    ...asleep,
    ...(sleepsNow ? { sleep_reason: 'idle', sleep_policy_fingerprint: sleep.fingerprint } : {}),
    ...Object.assign({}, ...parts.map((part) => part.meta)),
  });
  const isLongSilent = parts.some((part) => part.sleeps);
  return {
    now: NOW,
    record,
    desired: parts.some((part) => part.gone) ? undefined : desired,
    running: false,
    attached: false,
    pending: false,
    waitReady: false,
    needed: false,
    demanded: false,
    called: false,
    sleep,
    lastActivity: isLongSilent ? NOW - HOUR_MS : NOW,
    ...over,
  };
}

const shown = ({ wake, reason }: AwakeDecision) => (wake ? `+${reason}` : `-${reason}`);

/** By blocker: what comes of each cause that has an entry; of all others, what stands under `else`. */
const TABLE: Readonly<Record<Blocker, Partial<Record<Cause, string>> & { readonly else: string }>> = {
  none: {
    'pending-create': '+pending-create',
    'wait-ready': '+wait-ready',
    'named-always': '+named-always',
    manual: '+manual',
    'work of a session made by hand': '+work',
    'demand of a pool': '+scaled:demand',
    'floor of a pool': '+scaled:demand',
    'work of an on-demand session': '+work',
    dependency: '+dependency',
    attached: '+attached',
    pending: '+pending',
    'on-demand:running': '+on-demand:running',
    pin: '+pin',
    else: '-no-wake-reason',
  },
  suspended: { else: '-user-hold' },
  held: { else: '-held' },
  quarantined: { else: '-quarantined' },
  'not in the config': { else: '-orphaned' },
  'agent suspended': { else: '-suspended' },
  'wait hold': { 'pending-create': '+pending-create', 'wait-ready': '+wait-ready', else: '-wait-hold' },
  drained: {
    'wait-ready': '+wait-ready',
    'work of an on-demand session': '+work',
    attached: '+attached',
    pending: '+pending',
    else: '-drained',
  },
  'idle under its policy': {
    'pending-create': '+pending-create',
    'wait-ready': '+wait-ready',
    'named-always': '+named-always',
    manual: '-idle-sleep',
    'work of a session made by hand': '+work',
    'demand of a pool': '+scaled:demand',
    'floor of a pool': '-idle-sleep',
    'work of an on-demand session': '+work',
    dependency: '+dependency',
    attached: '+attached',
    pending: '+pending',
    'on-demand:running': '-idle-sleep',
    pin: '+pin',
    else: '-no-wake-reason',
  },
};

const typed = <T extends string>(object: Readonly<Record<T, unknown>>) => Object.keys(object) as T[];

describe('a session that something asks for, and something keeps down', () => {
  const rows = typed(BLOCKERS).flatMap((blocker) =>
    typed(CAUSES).map((cause) => ({ blocker, cause, result: TABLE[blocker][cause] ?? TABLE[blocker].else })),
  );
  it.each(rows)('$cause against $blocker: $result', ({ blocker, cause, result }) => {
    expect(shown(decideAwake(factsOf(CAUSES[cause], BLOCKERS[blocker])))).toBe(result);
  });

  it('is asked in this order when several things ask for it', () => {
    const order: readonly (readonly [Cause, WakeReason])[] = [
      ['pending-create', 'pending-create'],
      ['wait-ready', 'wait-ready'],
      ['work of an on-demand session', 'work'],
      ['attached', 'attached'],
      ['pending', 'pending'],
      ['on-demand:running', 'on-demand:running'],
      ['pin', 'pin'],
    ];
    for (const [place, [, reason]] of order.entries()) {
      const parts = order.slice(place).map(([cause]) => CAUSES[cause]);
      expect(decideAwake(factsOf(...parts))).toEqual({ wake: true, reason });
    }
  });

  it('a pin does not start what was put down, nor a session that only others need', () => {
    for (const blocker of [
      'suspended',
      'held',
      'quarantined',
      'agent suspended',
      'wait hold',
      'drained',
    ] as const)
      expect(decideAwake(factsOf(CAUSES.pin, BLOCKERS[blocker])).wake).toBe(false);
    const dependency = { meta: { pin_awake: 'true', dependency_only: 'true' } };
    expect(decideAwake(factsOf(dependency, { desired: { kind: 'dependency' } })).wake).toBe(false);
  });

  it('a floor is up all the time where nobody sits at it', () => {
    const sleep = sleepPolicy(aSleepRequest({ class: 'noninteractive' }), 'timed_only');
    const facts = factsOf(CAUSES['floor of a pool'], { facts: { running: true } }, { sleeps: true });
    expect(decideAwake({ ...facts, sleep })).toEqual({ wake: true, reason: 'scaled:demand' });
  });

  it('sleeps on until its policy is another one', () => {
    const facts = factsOf(CAUSES.manual, { sleeps: true });
    const longer = sleepPolicy(aSleepRequest({ value: '1h' }), 'full');
    expect(decideAwake(facts).wake).toBe(false);
    expect(decideAwake({ ...facts, sleep: longer })).toEqual({ wake: true, reason: 'manual' });
    expect(decideAwake({ ...facts, sleep: undefined })).toEqual({ wake: true, reason: 'manual' });
  });

  it('one that its idle_timeout ended is no sleeper', () => {
    const record = aRecord('a', { state: 'asleep', sleep_reason: 'idle-timeout' });
    expect(decideAwake({ ...factsOf(CAUSES.manual), record })).toEqual({ wake: true, reason: 'manual' });
  });
});

const someRequest: fc.Arbitrary<SleepRequest> = fc
  .record({
    class: fc.constantFrom<SleepRequest['class']>(
      'interactive_resume',
      'interactive_fresh',
      'noninteractive',
    ),
    value: fc.constantFrom('off', '0s', '1m', '2h'),
    always: fc.boolean(),
  })
  .map(aSleepRequest);

const someFacts: fc.Arbitrary<AwakeFacts> = fc
  .record({
    causes: fc.subarray(typed(CAUSES)),
    blockers: fc.subarray(typed(BLOCKERS), { maxLength: 2 }),
    running: fc.boolean(),
    request: fc.option(someRequest, { nil: undefined }),
    capability: fc.constantFrom<SleepCapability>('full', 'timed_only', 'disabled'),
    silentMs: fc.option(fc.integer({ min: 0, max: 3 * HOUR_MS }), { nil: undefined }),
    upMs: fc.integer({ min: 0, max: 3 * HOUR_MS }),
  })
  .map(({ causes, blockers, running, request, capability, silentMs, upMs }) => {
    const facts = factsOf(...causes.map((c) => CAUSES[c]), ...blockers.map((b) => BLOCKERS[b]));
    const isUp = running || facts.running;
    const life = isUp && facts.record.state !== 'suspended' && { last_woke_at: rfc3339(NOW - upMs) };
    return {
      ...facts,
      record: aRecord('a', { ...facts.record.metadata, ...(life || {}) }),
      running: isUp,
      sleep: request && sleepPolicy(request, capability),
      lastActivity: silentMs === undefined ? undefined : NOW - silentMs,
    };
  });

/** The facts once the decision was carried out, a moment later. */
function carriedOut(facts: AwakeFacts, decision: AwakeDecision): AwakeFacts {
  const { metadata } = facts.record;
  const now = facts.now + 1_000;
  if (decision.wake) {
    const woke = facts.running ? {} : { last_woke_at: rfc3339(facts.now), sleep_reason: '' };
    const started = { ...metadata, ...woke, state: 'active', pending_create_claim: '' };
    return { ...facts, now, running: true, record: aRecord('a', started), waitReady: facts.waitReady };
  }
  if (!facts.running) return { ...facts, now };
  const isIdle = decision.reason === 'idle-sleep';
  const asleep = {
    ...metadata,
    ...(metadata['state'] === 'suspended' || metadata['state'] === 'drained' ? {} : { state: 'asleep' }),
    last_woke_at: '',
    sleep_reason: isIdle ? 'idle' : (metadata['sleep_reason'] ?? ''),
    ...(isIdle ? { sleep_policy_fingerprint: facts.sleep?.fingerprint ?? '' } : {}),
  };
  return { ...facts, now, running: false, attached: false, pending: false, record: aRecord('a', asleep) };
}

describe('the decision, whatever the facts', () => {
  const holds = (property: (facts: AwakeFacts, decision: AwakeDecision) => void) =>
    fc.assert(
      fc.property(someFacts, (facts) => property(facts, decideAwake(facts))),
      { numRuns: RUNS },
    );

  it('wakes nobody who is put down, held, quarantined, suspended or gone from the config', () => {
    holds(({ record, desired, now }, { wake }) => {
      const isDown =
        record.state === 'suspended' ||
        (record.heldUntil ?? 0) > now ||
        (record.quarantinedUntil ?? 0) > now ||
        desired === undefined ||
        desired.suspended;
      if (isDown) expect(wake).toBe(false);
    });
  });

  it('lets nobody sleep who is attached, asks something, is pinned, needed, called by work or always to be up', () => {
    holds((facts, decision) => {
      if (decision.reason !== 'idle-sleep') return;
      expect(facts).toMatchObject({ attached: false, pending: false, called: false });
      expect(facts.record.pinAwake && !facts.record.dependencyOnly).toBe(false);
      expect(facts.desired?.mode === 'always' && facts.sleep?.request.always).toBe(false);
      if (facts.desired?.kind !== 'pool') expect(facts.needed).toBe(false);
      expect(facts.sleep?.afterMs).toBeDefined();
    });
  });

  it('lets nobody sleep before his time, or where it cannot be told how long he was silent', () => {
    holds((facts, decision) => {
      const { sleep, lastActivity, record, now, running } = facts;
      if (decision.reason !== 'idle-sleep' || !running || !sleep?.afterMs) return;
      expect(lastActivity).toBeDefined();
      const since = Math.max(lastActivity ?? now, record.lastWokeAt ?? 0);
      expect(now - since).toBeGreaterThanOrEqual(sleep.afterMs);
    });
  });

  it('is the same again once it was carried out', () => {
    holds((facts, decision) => {
      const next = decideAwake(carriedOut(facts, decision));
      if (!decision.wake) {
        expect(next.wake).toBe(false);
        return;
      }
      // What asked for it once (a start, an attached person, a question) may be over; what stands asks again.
      const isOnce =
        decision.reason === 'pending-create' && (facts.desired?.mode !== 'always' || facts.record.waitHold);
      if (!isOnce) expect(next.wake || next.reason === 'idle-sleep').toBe(true);
      if (next.reason === 'idle-sleep') expect(facts.running || facts.sleep?.afterMs === 0).toBe(true);
    });
  });
});
