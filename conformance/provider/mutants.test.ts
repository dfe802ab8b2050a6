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
      double ??= fakeSubject();
      const onDouble = test.needs.every((need) => double?.subject.offers.has(need));
      if (!onDouble) real ??= subprocessSubject();
      const { subject } = real && !onDouble ? real : double;
      const mutant = MUTANTS[test.name]?.(subject.provider);
      if (!mutant) throw new Error(`no mutant for ${test.name}`);
      const result = await runCase(test, { ...subject, provider: mutant }, PATIENCE_MS);
      expect(result.kind).toBe('failed');
    });
  }
});
