import { driftedFields } from '../runtime/fingerprint-drift.ts';
import type { SessionRecord } from '../session/record.ts';
import { CONFIG_FORM_KEY, inForm } from './config-form.ts';
import { parseTexts } from './json-text.ts';
import type { ResolvedDesired } from './model.ts';

export type Drift =
  | { readonly kind: 'none' }
  /** The record holds no live hash and there is nothing to apply: it only needs to be written down. */
  | { readonly kind: 'note-live' }
  | { readonly kind: 'live' }
  | { readonly kind: 'core'; readonly fields: readonly string[] };

/**
 * What changed since the session's last completed start. A session whose start has not completed has no hash to compare
 * with, so it never drifts. It is compared in the form it started in. Source: Gas City's config drift check.
 */
export function driftOf(record: SessionRecord, desired: ResolvedDesired): Drift {
  if (record.startedConfigHash === '') return { kind: 'none' };
  const wanted = inForm(desired, record.metadata[CONFIG_FORM_KEY]);
  if (record.startedConfigHash !== wanted.coreHash) {
    const stored = parseTexts(record.metadata['core_hash_breakdown']);
    return { kind: 'core', fields: stored ? driftedFields(stored, wanted.breakdown) : ['unknown'] };
  }
  if (record.startedLiveHash === desired.liveHash) return { kind: 'none' };
  if (record.startedLiveHash === '' && desired.config.sessionLive.length === 0) return { kind: 'note-live' };
  return { kind: 'live' };
}
