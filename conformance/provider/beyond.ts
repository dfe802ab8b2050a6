import type { ContentBlock } from '../../internal/runtime/provider.ts';
import type { Ability } from './abilities.ts';
import type { ProviderCase } from './case.ts';

/** A case of ours, beside the published ones. */
export const beyond = (
  name: string,
  needs: readonly Ability[],
  proves: string,
  run: ProviderCase['run'],
): ProviderCase => ({ name, group: 'beyond', needs, proves, run });

export const text = (value: string): readonly ContentBlock[] => [{ type: 'text', text: value }];
