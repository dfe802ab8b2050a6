import { afterAll, describe, expect, it } from 'vitest';
import { PROVIDER_CASES } from './suite.ts';
import { MUTANTS } from './testing/mutants.ts';
import { fakeSubject, type OpenSubject, subprocessSubject } from './testing/subjects.ts';
import { runCase } from './trial.ts';

/** A case that waits for what a broken provider never does gives up after this. */
const PATIENCE_MS = 3_000;

it('every case has a provider that it catches, and no mutant is left over', () => {
  expect(Object.keys(MUTANTS).sort()).toEqual(PROVIDER_CASES.map((c) => c.name).sort());
});

describe.concurrent('a provider that is broken in one way', () => {
  let double: OpenSubject | undefined;
  let real: OpenSubject | undefined;
  afterAll(async () => {
    await double?.close();
    await real?.close();
  });

  for (const test of PROVIDER_CASES) {
    it(`is caught by ${test.name}`, async () => {
      // What neither subject can do, the mutant can: in its broken way.
      double ??= fakeSubject();
      const onDouble = test.needs.every((need) => double?.subject.offers.has(need) || need === 'usage');
      if (!onDouble) real ??= subprocessSubject();
      const { subject } = real && !onDouble ? real : double;
      const mutants = MUTANTS[test.name];
      if (!mutants) throw new Error(`no mutant for ${test.name}`);
      for (const mutate of typeof mutants === 'function' ? [mutants] : mutants) {
        const second = async () => mutate((await subject.second?.()) ?? subject.provider);
        const offers = new Set([...subject.offers, ...test.needs]);
        const mutant = { ...subject, offers, provider: mutate(subject.provider), second };
        const result = await runCase(test, mutant, PATIENCE_MS);
        expect(result.kind).toBe('failed');
      }
    });
  }
});
