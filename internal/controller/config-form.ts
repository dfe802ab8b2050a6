import type { FingerprintBreakdown } from '../runtime/fingerprint.ts';
import type { RuntimeConfig } from '../runtime/runtime-config.ts';

/**
 * How an agent's configuration was made when a session started. `bare`: without hooks and skills of ours, as programs did
 * that knew neither. A session keeps the form it started with until it starts again: what it is compared with, and how
 * its start is taken up, follow from that.
 */
export type ConfigForm = 'bare' | 'equipped';

/** The form that this program starts sessions in. */
export const CURRENT_FORM: ConfigForm = 'equipped';

/** Metadata key of ours on a session record; sessions of earlier programs have none. */
export const CONFIG_FORM_KEY = 'config_form';

/** A configuration in one form, with what the fingerprint says about it. */
export interface FormedConfig {
  readonly config: RuntimeConfig;
  readonly coreHash: string;
  readonly breakdown: FingerprintBreakdown;
}

export interface TwoForms extends FormedConfig {
  /** Absent where both are the same. */
  readonly bare?: FormedConfig;
}

export function formOf(mark: string | undefined): ConfigForm {
  return mark === 'equipped' ? 'equipped' : 'bare';
}

/** The configuration in the form of a session that is marked like this. */
export function inForm(desired: TwoForms, mark: string | undefined): FormedConfig {
  return formOf(mark) === 'bare' ? (desired.bare ?? desired) : desired;
}
