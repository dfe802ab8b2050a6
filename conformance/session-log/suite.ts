import { APPEND_CASES } from './append-cases.ts';
import type { LogCase } from './case.ts';
import { FOLLOW_CASES } from './follow-cases.ts';
import { FORK_CASES } from './fork-cases.ts';
import { INCARNATION_CASES } from './incarnation-cases.ts';
import { ROW_CASES } from './row-cases.ts';
import { TROUBLE_CASES } from './trouble-cases.ts';

/** Every promise of a session log store. */
export const SESSION_LOG_CASES: readonly LogCase[] = [
  ...APPEND_CASES,
  ...INCARNATION_CASES,
  ...TROUBLE_CASES,
  ...ROW_CASES,
  ...FORK_CASES,
  ...FOLLOW_CASES,
];
