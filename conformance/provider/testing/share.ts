import { WHOLE_SUITES } from '../../../internal/platform/testing/campaign.ts';
import type { ProviderCase } from '../case.ts';
import { PROVIDER_CASES } from '../suite.ts';

/**
 * The published cases and those of ours that are named: what is particular to a provider whose other parts are judged
 * elsewhere in the same run. All of them where whole suites are asked for.
 */
export function shareOfCases(names: readonly string[]): readonly ProviderCase[] {
  const unknown = names.filter((name) => !PROVIDER_CASES.some((each) => each.name === name));
  if (unknown.length > 0) throw new Error(`no such cases: ${unknown.join(', ')}`);
  if (WHOLE_SUITES) return PROVIDER_CASES;
  return PROVIDER_CASES.filter(({ name, group }) => group !== 'beyond' || names.includes(name));
}
