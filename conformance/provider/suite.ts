import { ANSWER_CASES } from './beyond-answers.ts';
import { LIFECYCLE_CASES } from './beyond-lifecycle.ts';
import { TERMINAL_CASES } from './beyond-terminal.ts';
import type { ProviderCase } from './case.ts';
import { PUBLISHED_CASES } from './published.ts';

/** Every case of the provider contract: the 33 published ones first, then ours. */
export const PROVIDER_CASES: readonly ProviderCase[] = [
  ...PUBLISHED_CASES,
  ...LIFECYCLE_CASES,
  ...TERMINAL_CASES,
  ...ANSWER_CASES,
];
