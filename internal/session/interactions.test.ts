import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { InteractionRow } from '../beads/sqlite/interaction-table.ts';
import {
  askedOf,
  choiceFor,
  chosen,
  IN_HAND_MS,
  interactionId,
  interactionNumber,
  optionOf,
  standingOf,
} from './interactions.ts';

describe('the id of a question', () => {
  it('is read as it is written, and nothing else is one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e9 }), (num) => {
        expect(interactionNumber(interactionId({ num }))).toBe(num);
      }),
    );
    for (const word of ['q', 'q0', 'q01', 'Q1', 'q1 ', 'x1', '1', 'q-1', 'q1e3', '']) {
      expect(interactionNumber(word), word).toBeUndefined();
    }
  });
});

/** As the programs draw them. */
const SHOWN = {
  claude: ['Yes', 'Yes, and always allow access to work/ from this project', 'No'],
  gemini: ['Allow once', 'Allow for this session', 'No, suggest changes (esc)'],
  codex: [
    'Yes, proceed (y)',
    "Yes, and don't ask again for commands that start with `touch x` (p)",
    'No, and tell Codex what to do differently (esc)',
  ],
  opencode: ['Allow once', 'Reject'],
} as const;

const question = (labels: readonly string[], source: InteractionRow['source'] = 'screen') => ({
  kind: 'permission' as const,
  source,
  options: labels.map((label) => optionOf(label)),
});

describe('an answer', () => {
  it.each(Object.entries(SHOWN))('to %s: yes allows once, no denies, by word and by number', (_, labels) => {
    const asked = question(labels);
    const last = labels.length;
    for (const word of ['yes', 'approve', 'allow', '1'])
      expect(chosen(asked, word), word).toMatchObject({ action: '1', label: labels[0], verdict: 'allow' });
    for (const word of ['no', 'deny', String(last)])
      expect(chosen(asked, word), word).toMatchObject({ action: String(last), verdict: 'deny' });
    expect(choiceFor(asked, 'allow')?.action).toBe('1');
    expect(choiceFor(asked, 'deny')?.action).toBe(String(last));
    if (last === 3) expect(chosen(asked, 'always')).toMatchObject({ action: '2', verdict: 'allow' });
    else expect(() => chosen(asked, 'always')).toThrow();
  });

  it("goes by the protocol's own word where there is one, and takes back what cannot be refused", () => {
    const options = [
      optionOf('Sure', 'allow_always'),
      optionOf('Fine', 'allow_once'),
      optionOf('Yes', 'reject_once'),
    ];
    const asked = { kind: 'permission', source: 'protocol', options } as const;
    expect(chosen(asked, 'approve')).toMatchObject({ action: '2', verdict: 'allow' });
    expect(chosen(asked, 'deny')).toMatchObject({ action: '3', verdict: 'deny' });
    expect(chosen(asked, 'cancel')).toMatchObject({ action: 'cancel', verdict: 'canceled' });
    const only = { ...asked, options: options.slice(0, 2) };
    expect(chosen(only, 'no')).toMatchObject({ action: 'cancel', verdict: 'deny' });
    expect(choiceFor({ ...asked, options: options.slice(0, 1) }, 'allow')).toBeUndefined();
  });

  it('never reaches further than was said', () => {
    const asked = question(['Yes, and always', 'Perhaps', 'Whatever']);
    expect(choiceFor(asked, 'allow')).toBeUndefined();
    expect(choiceFor(asked, 'deny')).toBeUndefined();
    for (const word of ['', ' ', '0', '4', '99', 'approve', 'cancel', 'maybe'])
      expect(() => chosen(asked, word), word).toThrowError(
        expect.objectContaining({ code: 'unknown-action' }),
      );
  });

  it('to a question of another kind is one of its options, or a text where it has none', () => {
    const options = ['Yes', 'Blue'].map((label) => ({ label, effect: 'other', isLasting: false }) as const);
    const asked = { kind: 'question', source: 'screen', options } as const;
    expect(chosen(asked, 'blue')).toEqual({ action: '2', label: 'Blue', verdict: 'answered' });
    expect(() => chosen(asked, 'approve')).toThrow();
    expect(chosen({ ...asked, options: [] }, ' any text ')).toMatchObject({ action: ' any text ' });
  });
});

describe('what a provider found', () => {
  const pending = (over: object = {}) => ({
    request_id: 'r',
    kind: 'approval',
    prompt: 'Bash: ls',
    options: ['Yes', 'No'],
    metadata: { tool_name: 'Bash' },
    ...over,
  });

  it.each([
    [
      'a permission',
      pending(),
      { kind: 'permission', tool: 'Bash', input: 'ls', isWhole: true, source: 'screen' },
    ],
    ['cut by its screen', pending({ prompt: 'Bash: ls…' }), { input: 'ls…', isWhole: false }],
    ['told to be cut', pending({ metadata: { tool_name: 'B', tool_input_cut: 'true' } }), { isWhole: false }],
    [
      'of a protocol',
      pending({ metadata: { source: 'acp', tool_name: 'x', tool_input: 'y' } }),
      { source: 'protocol', input: 'y' },
    ],
    ['another question', pending({ kind: 'question' }), { kind: 'question', tool: '', input: '' }],
  ])('%s', (_, found, expected) => {
    expect(askedOf(found, false)).toMatchObject(expected);
  });

  it('of a start is a dialog', () => {
    expect(askedOf(pending({ kind: 'question' }), true).kind).toBe('dialog');
  });
});

describe('a row that stands open', () => {
  const LIFE = { instance: 'a' };
  const NOW = 1_000_000;
  const rows = fc.record({
    state: fc.constantFrom('pending', 'resolved'),
    source: fc.constantFrom('screen', 'protocol', 'hook'),
    sentMs: fc.constantFrom(undefined, NOW - 1, NOW - IN_HAND_MS, NOW - 10 * IN_HAND_MS),
    instance: fc.constantFrom('a', 'b'),
    fingerprint: fc.constantFrom('f', 'g'),
  });
  const asked = fc.constantFrom(undefined, { fingerprint: 'f' });

  it('is given only where it still stands in this life, and by keys only once', () => {
    fc.assert(
      fc.property(rows, asked, (over, now) => {
        const row = over as unknown as InteractionRow;
        const found = standingOf(row, LIFE, now, NOW);
        const stands = row.instance === 'a' && now?.fingerprint === row.fingerprint;
        if (found.kind === 'deliver') {
          expect([stands, row.state]).toEqual([true, 'resolved']);
          if (row.source !== 'protocol') expect(row.sentMs).toBeUndefined();
        }
        if (!stands) expect(found).toMatchObject({ kind: 'end', patch: { endedMs: NOW } });
        if (row.state === 'pending' && stands) expect(found).toEqual({ kind: 'keep' });
        if (found.kind === 'end' && found.patch.state === 'applied') expect(row.sentMs).toBeDefined();
      }),
    );
  });
});
