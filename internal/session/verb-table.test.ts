import { describe, expect, it } from 'vitest';
import { afterDeath, CLEAR, cleared, crashPatch } from './crash-policy.ts';
import { type LifecycleInput, projectLifecycle } from './lifecycle-projection.ts';
import type { SessionRecord } from './record.ts';
import { holdForUser, wakeByPerson } from './start-transitions.ts';
import { NOW, patched, record } from './testing/records.ts';
import {
  archive,
  clearExpiredHold,
  type MetadataPatch,
  pinned,
  reactivate,
  requestWake,
  resetAtRest,
  sleep,
} from './transitions.ts';
import { VERB_STATES, type VerbState, verbState } from './verb-state.ts';
import { actionFor, EXITS, VERB_TABLE, VERBS, type Verb } from './verb-table.ts';

const MINUTE_MS = 60_000;
const CENTURY_MS = 101 * 366 * 86_400_000;

interface Situation {
  readonly record: SessionRecord;
  readonly facts: Partial<LifecycleInput>;
}

function lifecycleOf(situation: Situation, now: number) {
  return projectLifecycle({
    record: situation.record,
    runtime: 'gone',
    attached: false,
    pending: false,
    named: undefined,
    causes: ['named-always'],
    missingConfig: false,
    duplicateCanonical: false,
    preserve: false,
    now,
    creatingStaleMs: MINUTE_MS,
    ...situation.facts,
  });
}

const stateOf = (situation: Situation, now = NOW): VerbState =>
  verbState(situation.record, lifecycleOf(situation, now), now);

const asleep = record({ state: 'asleep', session_name: 'a' });
const conflict = { identity: 'a', configured: true, conflict: true };

function crashed(times: number, maxRestarts: number): SessionRecord {
  let state = CLEAR;
  for (let n = 0; n < times; n += 1) {
    state = afterDeath(
      state,
      { kind: 'own', uptimeMs: 0, how: 'exit 1' },
      { maxRestarts, restartWindowMs: 3_600_000 },
      NOW,
      () => 0.5,
    );
  }
  return patched(asleep, crashPatch(state));
}

const limited = patched(
  asleep,
  crashPatch(
    afterDeath(
      CLEAR,
      { kind: 'usage-limit', until: NOW + 60 * MINUTE_MS },
      { maxRestarts: 5, restartWindowMs: 1 },
      NOW,
      () => 0,
    ),
  ),
);

/** Every state, made the way the product makes it. */
const SITUATIONS: Readonly<Record<Exclude<VerbState, 'reserved'>, Situation>> = {
  creating: { record: patched(asleep, requestWake('explicit')), facts: {} },
  running: { record: patched(asleep, { state: 'active' }), facts: { runtime: 'alive' } },
  draining: { record: patched(asleep, { state: 'draining' }), facts: { runtime: 'alive' } },
  asleep: { record: patched(asleep, sleep('idle', NOW)), facts: {} },
  suspended: { record: patched(asleep, holdForUser(NOW)), facts: {} },
  'wait-hold': { record: patched(asleep, { wait_hold: 'true', sleep_intent: 'wait-hold' }), facts: {} },
  'backing-off': { record: crashed(3, 5), facts: {} },
  quarantined: { record: crashed(5, 5), facts: {} },
  'usage-limit': { record: limited, facts: {} },
  'missing-config': { record: asleep, facts: { missingConfig: true } },
  'identity-conflict': { record: asleep, facts: { named: conflict } },
  duplicate: { record: asleep, facts: { duplicateCanonical: true } },
  'archived-eligible': { record: patched(asleep, archive('kept', true, NOW)), facts: {} },
  archived: { record: patched(asleep, archive('removed', false, NOW)), facts: {} },
  closing: { record: patched(asleep, { state: 'closing' }), facts: {} },
  closed: { record: record({ state: 'closed' }, { status: 'closed' }), facts: {} },
  foreign: { record: patched(asleep, { state: 'from-the-future' }), facts: {} },
};

describe('what to do instead', () => {
  it('of a closed session is another one of its agent', () => {
    expect(() => actionFor('closed', 'wake', { label: 'a', template: 'proj/worker' })).toThrow(
      expect.objectContaining({ next: 'gc session new proj/worker' }),
    );
  });
});

describe('the states that verbs see', () => {
  for (const [name, situation] of Object.entries(SITUATIONS)) {
    it(`knows ${name}`, () => expect(stateOf(situation)).toBe(name));
  }

  it('knows a configured name without a record', () => {
    const reserved = projectLifecycle({ ...SITUATIONS.asleep.facts, ...quietFor(undefined) });
    expect(verbState(undefined, reserved, NOW)).toBe('reserved');
  });

  it('never calls a session that could not be seen anything but what its record says', () => {
    expect(stateOf({ record: patched(asleep, { state: 'draining' }), facts: { runtime: 'unknown' } })).toBe(
      'draining',
    );
  });
});

function quietFor(given: SessionRecord | undefined): LifecycleInput {
  return {
    record: given,
    runtime: 'gone',
    attached: false,
    pending: false,
    named: undefined,
    causes: [],
    missingConfig: false,
    duplicateCanonical: false,
    preserve: false,
    now: NOW,
    creatingStaleMs: MINUTE_MS,
  };
}

describe('the verb table', () => {
  it('is complete: every state, every verb, nothing else', () => {
    expect(Object.keys(VERB_TABLE).sort()).toEqual([...VERB_STATES].sort());
    for (const state of VERB_STATES) expect(Object.keys(VERB_TABLE[state]).sort()).toEqual([...VERBS].sort());
  });

  it('refuses with a code, a sentence that names the session, and a next step', () => {
    for (const state of VERB_STATES) {
      for (const verb of VERBS) {
        if (VERB_TABLE[state][verb].kind === 'do') continue;
        try {
          actionFor(state, verb, { label: 'mayor' });
          expect.unreachable(`${state} ${verb}`);
        } catch (error) {
          expect(error, `${state} ${verb}`).toMatchObject({
            code: expect.stringMatching(/^session-[a-z-]+$/),
            message: expect.stringMatching(/mayor|^session has no pending interaction$/),
            next: expect.stringMatching(/\S/),
          });
        }
      }
    }
  });

  it('uses the words that scripts match', () => {
    const message = (state: VerbState, verb: (typeof VERBS)[number]) => {
      try {
        return actionFor(state, verb, { label: 'gc-1' });
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(message('asleep', 'kill')).toBe('session gc-1 is not active');
    expect(message('closed', 'wake')).toBe('session gc-1 is closed');
    expect(message('archived', 'wake')).toBe('session gc-1 is archived');
    expect(message('suspended', 'peek')).toContain('session gc-1 is not active');
  });

  it('lets a person end and read every session that has a record', () => {
    for (const state of VERB_STATES.filter((name) => name !== 'reserved')) {
      expect(VERB_TABLE[state].close.kind, state).toBe('do');
      expect(VERB_TABLE[state].logs, state).toEqual({ kind: 'do', action: 'read-history' });
    }
  });
});

function patchOf(verb: Verb, before: SessionRecord): MetadataPatch {
  switch (verb) {
    case 'wake':
      return wakeByPerson(before, false);
    case 'reset':
      return { ...resetAtRest(before.state, before.sleepReason), ...crashPatch(cleared()) };
    case 'pin':
      return pinned(true);
    default:
      throw new Error(`${verb} is no exit`);
  }
}

/** What each kind of exit does to the situation, with the product's own patches. */
function takeExit(
  state: VerbState,
  exit: NonNullable<(typeof EXITS)[VerbState]>[number],
): { at: number } & Situation {
  const situation = SITUATIONS[state as Exclude<VerbState, 'reserved'>];
  const before = situation.record;
  switch (exit.by) {
    case 'verb': {
      const action = actionFor(state, exit.verb, { label: 'a' });
      const back = action === 'reactivate-and-start' ? reactivate(true) : {};
      const done = { ...back, ...patchOf(exit.verb, before) };
      return { at: NOW, facts: situation.facts, record: patched(before, done) };
    }
    case 'time': {
      const at = NOW + CENTURY_MS;
      // A person's hold has no end worth a name: one that ends is written without the state of a person's.
      const held = patched(before, { state: 'asleep' });
      const patch = exit.key === 'held_until' ? clearExpiredHold(before.sleepReason) : {};
      return {
        at,
        facts: situation.facts,
        record: patched(exit.key === 'held_until' ? held : before, patch),
      };
    }
    case 'event':
      return { at: NOW, facts: {}, record: patched(before, { wait_hold: '', sleep_intent: '' }) };
  }
}

describe('every blocking state', () => {
  const FINAL: readonly VerbState[] = ['archived', 'closing', 'closed', 'foreign'];
  const RUNNING_OR_FREE: readonly VerbState[] = ['reserved', 'creating', 'running', 'draining', 'asleep'];

  it('lists its exits', () => {
    const blocking = VERB_STATES.filter(
      (state) => !FINAL.includes(state) && !RUNNING_OR_FREE.includes(state),
    );
    expect(Object.keys(EXITS).sort()).toEqual([...blocking].sort());
    for (const state of blocking) expect(EXITS[state]?.length, state).toBeGreaterThan(0);
  });

  for (const [name, exits] of Object.entries(EXITS)) {
    for (const exit of exits) {
      it(`${name} reaches running by ${JSON.stringify(exit)}`, () => {
        const after = takeExit(name as VerbState, exit);
        expect(lifecycleOf(after, after.at).desired).toBe('running');
        expect(['asleep', 'creating']).toContain(stateOf(after, after.at));
        const started = {
          record: patched(after.record, { state: 'active' }),
          facts: { ...after.facts, runtime: 'alive' as const },
        };
        expect(stateOf(started, after.at)).toBe('running');
      });
    }
  }

  it('holds until then', () => {
    expect(stateOf(SITUATIONS.suspended, NOW + 365 * 86_400_000)).toBe('suspended');
    expect(stateOf(SITUATIONS.quarantined, NOW + 4 * MINUTE_MS)).toBe('quarantined');
    expect(stateOf(SITUATIONS.quarantined, NOW + 6 * MINUTE_MS)).toBe('asleep');
  });
});
