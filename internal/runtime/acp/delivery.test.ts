import { expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import { RuntimeUnavailableError, SessionNotFoundError } from '../errors.ts';
import type { HostRequest, WireAcpState } from '../host/protocol.ts';
import type { Shape } from '../host/shape.ts';
import type { Inspection } from '../terminal/backend.ts';
import type { AcpContext } from './acp-options.ts';
import { type Delivery, deliverBlocks } from './delivery.ts';

const IDLE: WireAcpState = {
  phase: 'ready',
  agent: 'scripted 1',
  conversation: 'c',
  resumes: false,
  busy: false,
  turn: 0,
  questions: [],
};

/** A host that answers prompts with what the test says, and is `alive` or not when it is looked at. */
function host(answers: readonly (Error | number)[], states: readonly WireAcpState[] = [IDLE], alive = true) {
  const asked: string[] = [];
  const left = [...answers];
  const seen = [...states];
  const backend = {
    ask: async <T>(request: HostRequest, shape: Shape<T>): Promise<T> => {
      asked.push(request.op);
      if (request.op !== 'acpPrompt') return shape(seen.length > 1 ? seen.shift() : seen[0], 'state');
      const answer = left.shift();
      if (answer instanceof Error) throw answer;
      return shape({ turn: answer }, 'turn');
    },
    inspect: async (): Promise<Inspection> => {
      const state = alive ? { kind: 'alive', pid: 1 } : { kind: 'dead', exit: { code: 1 }, lastLines: '' };
      return {
        kind: 'present',
        session: { name: 'a', state, attached: 0, lastActivity: 0, processNames: [], meta: {} },
      } as Inspection;
    },
  } as unknown as AcpContext['backend'];
  let announced = 0;
  const delivery: Delivery = {
    name: 'a',
    blocks: [{ type: 'text', text: 'hello' }],
    waitMs: 20,
    signal: new AbortController().signal,
    beforeTyping: async () => {
      announced += 1;
    },
  };
  return {
    deliver: (changes: Partial<Delivery> = {}) =>
      deliverBlocks({ backend, clock: systemClock }, { ...delivery, ...changes }),
    prompts: () => asked.filter((op) => op === 'acpPrompt').length,
    announced: () => announced,
  };
}

const busyError = new GcError('agent-busy', 'it works');
const goneError = new GcError('agent-gone', 'it is gone');

it('a message that was announced is never answered with busy, however the agent is then found', async () => {
  const taken = host([busyError], [IDLE, { ...IDLE, busy: true }]);
  expect(await taken.deliver()).toEqual({ kind: 'failed', detail: 'it works on an earlier message' });
  expect(taken.announced()).toBe(1);
});

it('is handed over again when only the turn was in the way, and announced once', async () => {
  const again = host([busyError, 1], [IDLE, IDLE, { ...IDLE, busy: true, turn: 1 }]);
  expect(await again.deliver({ waitMs: 5_000 })).toMatchObject({ kind: 'delivered', verified: true });
  expect([again.prompts(), again.announced()]).toEqual([2, 1]);
});

it('tells an agent that ended from one that refuses and from a host that could not be asked, and never tries twice', async () => {
  const ended = host([goneError], [IDLE], false);
  expect(await ended.deliver()).toEqual({ kind: 'no-session' });
  const gone = host([new SessionNotFoundError('a')]);
  expect(await gone.deliver()).toEqual({ kind: 'no-session' });
  const stalled = host([new GcError('input-stalled', 'it has not taken the whole prompt')]);
  expect(await stalled.deliver()).toEqual({ kind: 'failed', detail: 'it has not taken the whole prompt' });
  const lost = host([new RuntimeUnavailableError('the session host closed the connection')]);
  expect(await lost.deliver()).toEqual({
    kind: 'failed',
    detail: 'it is not known whether the agent got it: the session host closed the connection',
  });
  for (const each of [ended, gone, stalled, lost]) expect(each.prompts()).toBe(1);
});

it('says why it waits: a conversation that is not open, a question, a turn', async () => {
  const question = { id: 'q', kind: 'permission', title: 'touch x', detail: '', options: [], askedAt: 0 };
  const cases: readonly [Partial<WireAcpState>, string][] = [
    [{ phase: 'connecting' }, 'its conversation is not open yet'],
    [{ busy: true, questions: [question] }, 'it asks: touch x'],
    [{ busy: true }, 'it works on an earlier message'],
  ];
  for (const [state, detail] of cases) {
    const waits = host([], [{ ...IDLE, ...state }]);
    expect(await waits.deliver()).toEqual({ kind: 'busy', detail });
    expect(waits.announced()).toBe(0);
  }
  const broken = host([], [{ ...IDLE, phase: 'failed', failure: { code: 'x', message: 'it broke' } }]);
  expect(await broken.deliver()).toEqual({ kind: 'failed', detail: 'it broke' });
});

it('a message that cannot be sent whole is refused before anything is', async () => {
  const large = host([1]);
  const blocks = [{ type: 'text', text: 'x'.repeat(5_000_000) }] as const;
  expect(await large.deliver({ blocks })).toMatchObject({ kind: 'failed' });
  expect([large.prompts(), large.announced()]).toEqual([0, 0]);
});
