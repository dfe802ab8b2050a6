import {
  type FingerprintBreakdown,
  type FingerprintField,
  fingerprintBreakdown,
  fingerprintEnv,
} from './fingerprint.ts';
import type { RuntimeConfig } from './runtime-config.ts';

const DIAG = 'config-drift-diag';
const SHORT_HASH_DIGITS = 12;

/** A breakdown as a session record keeps it: absent for sessions started by something that stored none. */
export type StoredBreakdown = Readonly<Record<string, string>> | undefined;

/** The fields whose hashes differ, sorted. */
export function driftedFields(
  stored: StoredBreakdown,
  current: FingerprintBreakdown,
): readonly FingerprintField[] {
  return fieldsOf(current)
    .filter((field) => stored?.[field] !== current[field])
    .sort();
}

/** `config-drift NAME: stored=... current=... cmd="..."`, the line that precedes the details. */
export function driftHeadline(
  name: string,
  storedHash: string,
  currentHash: string,
  config: RuntimeConfig,
): string {
  const short = (hash: string) => hash.slice(0, SHORT_HASH_DIGITS);
  return `config-drift ${name}: stored=${short(storedHash)} current=${short(currentHash)} cmd=${quote(config.command)}`;
}

/** The log lines that say which fields drifted and what they are now. Values of variables outside the allow-list never show. */
export function driftLogLines(
  name: string,
  stored: StoredBreakdown,
  config: RuntimeConfig,
): readonly string[] {
  const current = fingerprintBreakdown(config);
  if (!stored || Object.keys(stored).length === 0) {
    const hashes = fieldsOf(current).map((field) => `${field}:${current[field]}`);
    return [
      `  ${DIAG} ${name}: no stored breakdown (pre-upgrade session); current field hashes: ${hashes.join(' ')}`,
    ];
  }
  const fields = driftedFields(stored, current);
  if (fields.length === 0) {
    return [`  ${DIAG} ${name}: no per-field diff (possible sentinel/ordering issue)`];
  }
  const details = fields.flatMap((field) => detailLines(field, config)).map((line) => `    ${line}`);
  return [`  ${DIAG} ${name}: drifted fields: ${fields.join(', ')}`, ...details];
}

function detailLines(field: FingerprintField, config: RuntimeConfig): readonly string[] {
  switch (field) {
    case 'Command':
      return [`Command: ${quote(config.command)}`];
    case 'Env':
      return [`Env: ${pairs(fingerprintEnv(config.env))}`];
    case 'FPExtra':
      return [`FPExtra: ${pairs(Object.entries(config.fingerprintExtra).sort())}`];
    case 'PreStart':
      return [`PreStart: ${list(config.preStart)}`];
    case 'SessionSetup':
      return [`SessionSetup: ${list(config.sessionSetup)}`];
    case 'SessionSetupScript':
      return [`SessionSetupScript len: ${Buffer.byteLength(config.sessionSetupScript)}`];
    case 'OverlayDir':
      return [`OverlayDir: ${quote(config.overlayDir)}`];
    case 'CopyFiles':
      if (config.copyFiles.length === 0) return ['CopyFiles: none'];
      return config.copyFiles.map(
        (entry, i) =>
          `CopyFiles[${i}]: RelDst=${quote(entry.relDst)} ContentHash=${quote(entry.contentHash)}`,
      );
  }
}

function fieldsOf(breakdown: FingerprintBreakdown): FingerprintField[] {
  return Object.keys(breakdown) as FingerprintField[];
}

const quote = (text: string): string => JSON.stringify(text);
const list = (items: readonly string[]): string => `[${items.map(quote).join(' ')}]`;
const pairs = (entries: readonly (readonly [string, string])[]): string =>
  `{${entries.map(([key, value]) => `${key}=${quote(value)}`).join(' ')}}`;
