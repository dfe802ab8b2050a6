/**
 * How many rounds a long test runs: all of them in a campaign (`npm run campaign`), a share with the other tests.
 * The share must still be able to fail for the reason the test is there.
 */
export const rounds = (whole: number, share: number): number =>
  process.env['GC_CAMPAIGN'] === 'whole' ? whole : share;

/** Every suite on every back end (`npm run test:whole`); otherwise some run what is particular to theirs. */
export const WHOLE_SUITES = process.env['GC_CAMPAIGN'] === 'whole' || process.env['GC_SUITES'] === 'whole';
