import { createHash } from 'node:crypto';
import type { CopyEntry, RuntimeConfig } from './runtime-config.ts';

/**
 * Fingerprints of a RuntimeConfig: a session whose stored fingerprint differs from the fresh one has drifted.
 * The byte stream is Gas City's, so hashes stored by either implementation compare equal.
 */

const NUL = '\0';
const LIST_END = '\x01';
const HASH_UNAVAILABLE = 'HASH_UNAVAILABLE';
const BREAKDOWN_HEX_DIGITS = 16;

/**
 * The only environment variables that count. Identity values (session id, alias of a session, token, epochs),
 * ambient values (PATH, telemetry) and ephemeral ones (ports) stay out: they made sessions restart for ever.
 */
export const FINGERPRINT_ENV_KEYS: ReadonlySet<string> = new Set([
  'BEADS_DIR',
  'GC_ALIAS',
  'GC_BLESSED_BIN_DIR',
  'GC_CITY',
  'GC_CITY_PATH',
  'GC_PUBLICATION_PROVIDER',
  'GC_PUBLICATION_PUBLIC_BASE_DOMAIN',
  'GC_PUBLICATION_PUBLIC_BASE_URL',
  'GC_PUBLICATION_TENANT_BASE_DOMAIN',
  'GC_PUBLICATION_TENANT_BASE_URL',
  'GC_PUBLICATION_TENANT_SLUG',
  'GC_RIG',
  'GC_RIG_ROOT',
  'GC_SKILLS_DIR',
  'GC_TEMPLATE',
]);

/** The fields of a breakdown, named as they are stored on session records. */
export type FingerprintField =
  | 'Command'
  | 'Env'
  | 'FPExtra'
  | 'PreStart'
  | 'SessionSetup'
  | 'SessionSetupScript'
  | 'OverlayDir'
  | 'CopyFiles';

/** First 16 hex digits of the SHA-256 of each field's own bytes. */
export type FingerprintBreakdown = Readonly<Record<FingerprintField, string>>;

/** What a change of which means a restart. 64 lowercase hex digits. */
export function coreFingerprint(config: RuntimeConfig): string {
  return sha256(coreBytes(config));
}

/** What can be applied again without a restart. 64 lowercase hex digits. */
export function liveFingerprint(config: RuntimeConfig): string {
  return sha256(liveBytes(config));
}

/** Core and live together. */
export function configFingerprint(config: RuntimeConfig): string {
  return sha256(coreBytes(config) + liveBytes(config));
}

/** One short hash per field of the core, to name what drifted. */
export function fingerprintBreakdown(config: RuntimeConfig): FingerprintBreakdown {
  const short = (bytes: string) => sha256(bytes).slice(0, BREAKDOWN_HEX_DIGITS);
  return {
    Command: short(config.command),
    Env: short(envBytes(config.env)),
    FPExtra: short(extraBytes(config.fingerprintExtra)),
    PreStart: short(listBytes(config.preStart)),
    SessionSetup: short(listBytes(config.sessionSetup)),
    SessionSetupScript: short(config.sessionSetupScript),
    OverlayDir: short(config.overlayDir),
    CopyFiles: short(config.copyFiles.map(copyBytes).join('')),
  };
}

/** The allow-listed entries, sorted by the bytes of their keys. */
export function fingerprintEnv(
  env: Readonly<Record<string, string>>,
): readonly (readonly [string, string])[] {
  return sortedEntries(env).filter(([key]) => FINGERPRINT_ENV_KEYS.has(key));
}

function coreBytes(config: RuntimeConfig): string {
  return [
    config.command,
    NUL,
    envBytes(config.env),
    extraBytes(config.fingerprintExtra),
    listBytes(config.preStart),
    LIST_END,
    listBytes(config.sessionSetup),
    LIST_END,
    config.sessionSetupScript,
    NUL,
    config.overlayDir,
    NUL,
    ...config.copyFiles.map(copyBytes),
  ].join('');
}

function liveBytes(config: RuntimeConfig): string {
  return listBytes(config.sessionLive) + LIST_END;
}

function envBytes(env: Readonly<Record<string, string>>): string {
  return pairBytes(fingerprintEnv(env));
}

function extraBytes(extra: Readonly<Record<string, string>>): string {
  const entries = sortedEntries(extra);
  return entries.length === 0 ? '' : `fp${NUL}${pairBytes(entries)}`;
}

function pairBytes(entries: readonly (readonly [string, string])[]): string {
  return entries.map(([key, value]) => `${key}=${value}${NUL}`).join('');
}

function listBytes(items: readonly string[]): string {
  return items.map((item) => item + NUL).join('');
}

function copyBytes(entry: CopyEntry): string {
  return entry.probed
    ? `${entry.relDst}${NUL}${entry.contentHash || HASH_UNAVAILABLE}${NUL}`
    : `${entry.src}${NUL}${entry.relDst}${NUL}`;
}

function sortedEntries(record: Readonly<Record<string, string>>): readonly (readonly [string, string])[] {
  return Object.entries(record).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

function sha256(bytes: string): string {
  return createHash('sha256').update(bytes, 'utf8').digest('hex');
}
