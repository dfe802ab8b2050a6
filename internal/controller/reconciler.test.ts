import { describe, expect, it } from 'vitest';
import { rfc3339 } from '../platform/clock.ts';
import { afterDeath, CLEAR, crashPatch } from '../session/crash-policy.ts';
import type { OperationInFlight } from './model.ts';
import type { Plan } from './plan.ts';
import { plan } from './reconciler.ts';
import {
  aDesired,
  aPlanInput,
  aRecord,
  aRunningObservation,
  aRunningRecord,
  LIVED,
  NOW,
  ORDER,
  type PlanScene,
  seen,
} from './testing/plan.fixtures.ts';

function planOf(scene: PlanScene): Plan {
  return plan(aPlanInput(scene));
}

const kinds = (p: Plan) => [...p.changes.map((c) => c.kind), ...p.actions.map((a) => `${a.kind}!`)];

describe('plan: coming up', () => {
  it('makes a record for a named session that is always wanted, then starts it', () => {
    expect(kinds(planOf({ desired: [aDesired('mayor')] }))).toEqual(['materialize']);
    const next = planOf({ desired: [aDesired('mayor')], records: [aRecord('mayor', { state: 'asleep' })] });
    expect(kinds(next)).toEqual(['start!']);
    expect(next.decisions).toMatchObject([{ what: 'start', why: 'named-always' }]);
  });

  it('leaves an on-demand session down until somebody asks', () => {
    const desired = [aDesired('mayor', { mode: 'on_demand' })];
    expect(kinds(planOf({ desired }))).toEqual([]);
    const asked = aRecord('mayor', { state: 'creating', pending_create_claim: 'true' });
    expect(kinds(planOf({ desired, records: [asked] }))).toEqual(['start!']);
  });

  it('starts dependents only once what they need is up', () => {
    const desired = [aDesired('worker', { dependsOn: ['mayor'] }), aDesired('mayor')];
    const down = [aRecord('worker', { state: 'asleep' }), aRecord('mayor', { state: 'asleep' })];
    const first = planOf({ desired, records: down });
    expect(first.actions.map((a) => a.sessionName)).toEqual(['mayor']);
    expect(first.decisions).toContainEqual(expect.objectContaining({ what: 'wait', why: 'after mayor' }));

    const up = [aRecord('worker', { state: 'asleep' }), aRunningRecord('mayor')];
    const second = planOf({ desired, records: up, survey: seen(aRunningObservation('mayor')) });
    expect(second.actions.map((a) => a.sessionName)).toEqual(['worker']);
  });

  it('does not take a session whose start is under way for ready', () => {
    const desired = [aDesired('worker', { dependsOn: ['mayor'] }), aDesired('mayor')];
    const records = [aRecord('worker', { state: 'asleep' }), aRunningRecord('mayor', { state: 'creating' })];
    const over = { operations: new Map([['mayor', { id: '1', kind: 'start' as const, creating: false }]]) };
    expect(kinds(planOf({ desired, records, survey: seen(aRunningObservation('mayor')), over }))).toEqual([]);
  });

  it('starts the members of a dependency ring one at a time', () => {
    const desired = [aDesired('a', { dependsOn: ['b'] }), aDesired('b', { dependsOn: ['a'] })];
    const records = [aRecord('a', { state: 'asleep' }), aRecord('b', { state: 'asleep' })];
    expect(planOf({ desired, records }).actions.map((a) => a.sessionName)).toEqual(['a']);
    const over = { operations: new Map([['a', { id: '1', kind: 'start' as const, creating: false }]]) };
    expect(kinds(planOf({ desired, records, over }))).toEqual([]);
  });

  it('bounds the processes in creation, not those that wait for readiness', () => {
    const names = Array.from({ length: 40 }, (_, i) => `w${i}`);
    const desired = names.map((name) => aDesired(name));
    const records = names.map((name) => aRecord(name, { state: 'asleep' }));
    const waiting = names
      .slice(0, 20)
      .map((n) => [n, { id: n, kind: 'start' as const, creating: false }] as const);
    const creating = names
      .slice(20, 23)
      .map((n) => [n, { id: n, kind: 'start' as const, creating: true }] as const);
    const operations = new Map<string, OperationInFlight>([...waiting, ...creating]);
    expect(planOf({ desired, records, over: { operations, startSlots: 5 } }).actions).toHaveLength(2);
  });

  it('refuses only the agent that cannot be resolved, and says so once', () => {
    const broken = {
      ...aDesired('broken'),
      resolution: 'unresolvable' as const,
      problem: {
        code: 'provider-not-found',
        message: 'provider not found in PATH: claudee',
        next: undefined,
      },
    };
    const records = [aRecord('broken', { state: 'asleep' }), aRecord('fine', { state: 'asleep' })];
    const scene = { desired: [broken, aDesired('fine')], records };
    const first = planOf(scene);
    expect(first.actions.map((a) => a.sessionName)).toEqual(['fine']);
    const refused = first.decisions.find((d) => d.sessionName === 'broken');
    expect(refused).toMatchObject({ what: 'refused', why: 'provider not found in PATH: claudee' });
    const lastDecisions = new Map([['broken', `refused|${refused?.why}`]]);
    expect(planOf({ ...scene, over: { lastDecisions } }).decisions.map((d) => d.sessionName)).toEqual([
      'fine',
    ]);
  });

  it('waits as long as the crash policy says and knows when to look again', () => {
    const backingOff = afterDeath(
      { ...CLEAR, level: 3 },
      { kind: 'own', uptimeMs: 0, how: 'exit 1' },
      { maxRestarts: 0, restartWindowMs: 3_600_000 },
      NOW,
      () => 0.5,
    );
    const record = aRecord('a', { state: 'asleep', ...crashPatch(backingOff) });
    const scene = { desired: [aDesired('a')], records: [record] };
    const waiting = planOf(scene);
    expect(kinds(waiting)).toEqual([]);
    expect(waiting.nextWall).toBe(backingOff.nextTryAt);
    expect(waiting.decisions).toMatchObject([{ what: 'wait', why: 'backing-off: exit 1' }]);
    const later = { now: backingOff.nextTryAt ?? 0 };
    expect(kinds(planOf({ ...scene, over: later }))).toEqual(['start!']);
  });

  it('starts nothing while the city goes down', () => {
    const scene = { desired: [aDesired('a'), aDesired('b')], records: [aRecord('a', { state: 'asleep' })] };
    expect(kinds(planOf({ ...scene, over: { stopping: true } }))).toEqual([]);
  });
});

describe('plan: an unknown observation', () => {
  const desired = [aDesired('a')];
  it.each([
    ['a survey that could not tell', { survey: { kind: 'unknown', reason: 'tmux did not answer' } }],
    ['no survey yet', { over: { survey: undefined } }],
    ['a look older than the last effect', { over: { effects: new Map([['a', ORDER + 1]]) }, survey: seen() }],
    [
      'a session that could not be read',
      { survey: seen(aRunningObservation('a', { liveness: { kind: 'unknown', reason: 'timeout' } })) },
    ],
  ] as const)('TMX-19 changes nothing on %s', (_, scene) => {
    for (const record of [
      aRunningRecord('a'),
      aRecord('a', { state: 'asleep' }),
      aRunningRecord('a', { state: 'draining', state_reason: 'orphaned', drain_at: rfc3339(0) }),
    ]) {
      const result = planOf({ desired, records: [record], ...scene });
      expect(kinds(result)).toEqual([]);
      expect(result.decisions).toMatchObject([{ what: 'nothing' }]);
    }
  });
});

describe('plan: deaths', () => {
  const desired = [aDesired('a'), aDesired('b')];
  it('records how it ended before it starts again', () => {
    const observation = aRunningObservation('a', {
      liveness: { kind: 'exited', exit: { code: 1 }, lastLines: 'usage limit' },
    });
    const result = planOf({
      desired: [aDesired('a')],
      records: [aRunningRecord('a')],
      survey: seen(observation),
    });
    expect(result.changes).toMatchObject([
      { kind: 'ended', death: { cause: 'by-itself', exit: { code: 1 }, lastLines: 'usage limit' } },
    ]);
    expect(result.actions).toEqual([]);
  });

  it('uses what the runtime reported when the screen is gone', () => {
    const exits = new Map([['a', { exit: { signal: 'SIGKILL' }, lastLines: 'x' }]]);
    const result = planOf({ desired: [aDesired('a')], records: [aRunningRecord('a')], over: { exits } });
    expect(result.changes).toMatchObject([{ kind: 'ended', death: { exit: { signal: 'SIGKILL' } } }]);
  });

  it('REC-09 takes an end that was decided for what it is', () => {
    const record = aRunningRecord('a', { stop_intent: 'killed by a person' });
    const result = planOf({ desired: [aDesired('a')], records: [record] });
    expect(result.changes).toMatchObject([
      { kind: 'ended', death: { cause: 'intended', reason: 'killed by a person' } },
    ]);
  });

  it('takes a loss of everything for one event', () => {
    const records = [aRunningRecord('a'), aRunningRecord('b')];
    const survey = { kind: 'infrastructure-gone' as const, what: 'tmux server gone' };
    const result = planOf({ desired, records, survey });
    expect(result.changes).toMatchObject([{ kind: 'lost', what: 'tmux server gone', records: [{}, {}] }]);
  });

  it('takes several that vanish together for one event, a single one for its own', () => {
    const records = [aRunningRecord('a'), aRunningRecord('b')];
    expect(kinds(planOf({ desired, records }))).toEqual(['lost']);
    expect(kinds(planOf({ desired, records, survey: seen(aRunningObservation('b')) }))).toEqual(['ended']);
  });

  it('blames nobody for what happened while no controller watched', () => {
    const result = planOf({
      desired: [aDesired('a')],
      records: [aRunningRecord('a')],
      over: { watched: false },
    });
    expect(kinds(result)).toEqual(['lost']);
  });
});

describe('plan: running sessions', () => {
  const scene = (metadata: Record<string, string>, over: Parameters<typeof aRunningObservation>[1] = {}) => ({
    desired: [aDesired('a')],
    records: [aRunningRecord('a', metadata)],
    survey: seen(aRunningObservation('a', over)),
  });

  it('says nothing about one that runs as wanted', () => {
    expect(planOf(scene({}))).toMatchObject({ changes: [], actions: [], decisions: [], nextWall: undefined });
  });

  it('CFG-01 does not compare a session that has not completed a start', () => {
    expect(kinds(planOf(scene({ started_config_hash: '' })))).toEqual([]);
  });

  it('drains on core drift, re-applies on live drift, notes an empty live hash', () => {
    const drifted = planOf(scene({ started_config_hash: 'old', core_hash_breakdown: '{"Command":"1"}' }));
    expect(drifted.changes).toMatchObject([{ kind: 'begin-drain', reason: 'config-drift' }]);
    expect(kinds(planOf(scene({ started_live_hash: 'old' })))).toEqual(['apply-live!']);
    expect(kinds(planOf(scene({ started_live_hash: '' })))).toEqual(['note-live']);
  });

  const draining = { state: 'draining', state_reason: 'config-drift', started_config_hash: 'old' };
  const drainSince = (ms: number) => ({ ...draining, drain_at: rfc3339(NOW - ms) });

  it('CFG-05 waits for idle while a drain lasts', () => {
    const result = planOf(scene(drainSince(10_000)));
    expect(result.actions).toMatchObject([{ kind: 'drain', idleWithinMs: 110_000 }]);
    expect(result.nextWall).toBe(NOW + 110_000);
  });

  it('REC-16 stops a draining session when it is idle or its time is over', () => {
    const over = { idleSince: new Map([['a', LIVED - 5_000]]) };
    expect(planOf({ ...scene(drainSince(10_000)), over }).actions).toMatchObject([
      { kind: 'stop', reason: 'config-drift' },
    ]);
    expect(planOf(scene(drainSince(120_000))).actions).toMatchObject([
      { kind: 'stop', reason: 'config-drift' },
    ]);
  });

  it('does not take it for idle when it worked again since', () => {
    const busy = scene(drainSince(10_000), { lastActivity: NOW });
    const over = { idleSince: new Map([['a', LIVED - 5_000]]) };
    expect(planOf({ ...busy, over }).actions).toMatchObject([{ kind: 'drain' }]);
  });

  it('waits longer while a person is attached', () => {
    const result = planOf(scene(drainSince(600_000), { attached: 1 }));
    expect(kinds(result)).toEqual([]);
    expect(result.decisions).toMatchObject([{ what: 'wait', why: 'config-drift: a person is attached' }]);
  });

  it('cancels a drain whose reason is gone', () => {
    expect(kinds(planOf(scene({ ...drainSince(10_000), started_config_hash: 'core' })))).toEqual([
      'cancel-drain',
    ]);
    const suspended = { state: 'draining', state_reason: 'suspended', drain_at: rfc3339(NOW) };
    expect(kinds(planOf(scene(suspended)))).toEqual(['cancel-drain']);
  });

  it('drains what the config no longer has, and what is suspended', () => {
    const gone = { ...scene({}), desired: [] };
    expect(planOf(gone).changes).toMatchObject([{ kind: 'begin-drain', reason: 'orphaned' }]);
    const suspended = { ...scene({}), desired: [aDesired('a', { suspended: true })] };
    expect(planOf(suspended).changes).toMatchObject([{ kind: 'begin-drain', reason: 'suspended' }]);
  });

  it('REC-17 replaces a session whose start was never completed', () => {
    expect(planOf(scene({ state: 'creating' })).actions).toMatchObject([
      { kind: 'stop', reason: 'start interrupted' },
    ]);
  });

  it('REC-02 recycles a terminal of ours without an agent, after a moment', () => {
    const withNames = {
      ...scene({}, { processNames: ['sh'] }),
      desired: [aDesired('a', { config: { ...aDesired('a').config, processNames: ['agent'] } })],
    };
    const first = planOf(withNames);
    expect(kinds(first)).toEqual([]);
    expect(first.nextLived).toBeGreaterThan(LIVED);
    const over = { agentMissingSince: new Map([['a', LIVED - 60_000]]) };
    expect(planOf({ ...withNames, over }).actions).toMatchObject([
      { kind: 'stop', reason: 'no agent in it' },
    ]);
  });

  it('does again a stop that failed, after its pause', () => {
    const failed = scene({ stop_intent: 'killed by a person' });
    expect(kinds(planOf({ ...failed, over: { retryAt: new Map([['a', LIVED + 1]]) } }))).toEqual([]);
    expect(planOf(failed).actions).toMatchObject([{ kind: 'stop', reason: 'killed by a person' }]);
  });

  it('stops what a person suspended', () => {
    expect(planOf(scene({ state: 'suspended' })).actions).toMatchObject([
      { kind: 'stop', reason: 'suspended by a person' },
    ]);
  });
});

describe('plan: adoption', () => {
  it('gives a living session without a record one, and cleans a dead one', () => {
    const dead = aRunningObservation('b', { liveness: { kind: 'exited', exit: { code: 0 }, lastLines: '' } });
    expect(planOf({ survey: seen(aRunningObservation('a')) }).changes).toMatchObject([
      { kind: 'adopt', sessionName: 'a' },
    ]);
    expect(planOf({ survey: seen(dead) }).actions).toMatchObject([
      { kind: 'stop', reason: 'leftover', sessionName: 'b' },
    ]);
  });

  it('takes over another life of the session instead of starting a second one', () => {
    const record = aRecord('a', { state: 'asleep', instance_token: 'newer' });
    const result = planOf({
      desired: [aDesired('a')],
      records: [record],
      survey: seen(aRunningObservation('a')),
    });
    expect(result.changes).toMatchObject([{ kind: 'take-over', token: 'token-a' }]);
    expect(result.actions).toEqual([]);
  });

  it('closes the record of an agent that is gone from the config and does not run', () => {
    expect(kinds(planOf({ records: [aRecord('a', { state: 'asleep' })] }))).toEqual(['retire']);
  });
});
