import { BYTES_PATTERN } from '../../platform/bytes.ts';
import { parseTcpAddress } from '../../platform/network-address.ts';
import { didYouMean } from '../document/nearest.ts';
import { z } from './zod.ts';

/** Agents, named sessions. Source: Gas City's agent-name rule; the length keeps session names portable. */
export const NAME_PATTERN = /^[a-zA-Z0-9][a-zA-Z0-9_-]*$/;
export const MAX_NAME_LENGTH = 64;
/** A Go duration without sign. Source: Go `time.ParseDuration`. */
const DURATION_PATTERN = /^\+?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+)$/;
const DURATION_OR_OFF_PATTERN = /^\s*([oO][fF][fF]|\+?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+)|)\s*$/;
const ENV_NAME_PATTERN = /^[A-Z][A-Z0-9_]{0,127}$/;

const shown = (input: unknown): string => JSON.stringify(input);

export const text = () => z.string();
export const flag = () => z.boolean();
export const texts = () => z.array(z.string());
export const textMap = () => z.record(z.string(), z.string());
export const count = () => z.int().min(0, { error: 'must not be negative' });
export const port = () =>
  z
    .int()
    .min(0, { error: 'is not a port (0 to 65535)' })
    .max(65_535, { error: 'is not a port (0 to 65535)' });

export const tcpAddress = () =>
  z.string().refine((text) => text === '' || parseTcpAddress(text) !== undefined, {
    error: (issue) =>
      `is not an address: ${shown(issue.input)}; write host:port, for example "127.0.0.1:8080"`,
  });

export const name = () =>
  z
    .string()
    .regex(NAME_PATTERN, {
      error: (issue) =>
        issue.input === ''
          ? 'must not be empty'
          : `is not a usable name: ${shown(issue.input)}; letters, digits, "_" and "-", starting with a letter or digit`,
    })
    .max(MAX_NAME_LENGTH, { error: `is longer than ${MAX_NAME_LENGTH} characters` });

export const duration = () =>
  z.string().regex(DURATION_PATTERN, {
    error: (issue) => `is not a duration: ${shown(issue.input)}; write for example "500ms", "30s", "1h30m"`,
  });

export const byteSize = () =>
  z.string().regex(BYTES_PATTERN, {
    error: (issue) => `is not a size: ${shown(issue.input)}; write for example "512MB" or "2GB"`,
  });

export const durationOrOff = () =>
  z.string().regex(DURATION_OR_OFF_PATTERN, {
    error: (issue) =>
      `is neither a duration nor "off": ${shown(issue.input)}; write for example "30m" or "off"`,
  });

export const envNames = () =>
  z.array(
    z.string().regex(ENV_NAME_PATTERN, {
      error: (issue) => `is not an environment name: ${shown(issue.input)}; capitals, digits and "_"`,
    }),
  );

/** One of a few words, or `exec:<script>`. The empty text means: not chosen. */
export function backEnd(what: string, words: readonly string[]) {
  return z.string().regex(new RegExp(`^(${words.join('|')}|exec:.+|)$`), {
    error: (issue) =>
      `is not a ${what}: ${shown(issue.input)}${didYouMean(String(issue.input), words)} (${words.join(', ')} or exec:<script>)`,
  });
}

/** Keys that are read for the sake of old files and do nothing. */
export const tombstone = () => z.unknown().meta({ deprecated: true });
