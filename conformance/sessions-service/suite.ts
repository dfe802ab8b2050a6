import { APPROVAL_CASES } from './approval-cases.ts';
import type { ServiceCase } from './case.ts';
import { CRASH_CASES } from './crash-cases.ts';
import { HARNESS_CASES } from './harness-cases.ts';
import { INDEX_CASES } from './index-cases.ts';
import { REGISTRY_CASES } from './registry-cases.ts';
import { SESSIONS_CASES } from './sessions-cases.ts';
import { TROUBLE_CASES } from './trouble-cases.ts';

/** Everything a server of the agentsessions.v1 protocol must do, seen from outside. */
export const SERVICE_CASES: readonly ServiceCase[] = [
  ...SESSIONS_CASES,
  ...INDEX_CASES,
  ...HARNESS_CASES,
  ...APPROVAL_CASES,
  ...TROUBLE_CASES,
  ...REGISTRY_CASES,
  ...CRASH_CASES,
];
