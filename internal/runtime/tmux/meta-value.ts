/** Marks a value that tmux's output could not carry as it is. */
const ENCODED_PREFIX = 'gc-b64:';

/**
 * The form in which a metadata value lies in the session's environment. Ordinary values stay as they are, so that a
 * script reads them with `tmux show-environment`; control characters and outer blanks are kept by encoding.
 */
export function encodeMetaValue(value: string): string {
  const awkward = /[\x00-\x1f\x7f]|^\s|\s$/.test(value) || value.startsWith(ENCODED_PREFIX);
  return awkward ? ENCODED_PREFIX + Buffer.from(value, 'utf8').toString('base64') : value;
}

export function decodeMetaValue(stored: string): string {
  if (!stored.startsWith(ENCODED_PREFIX)) return stored;
  return Buffer.from(stored.slice(ENCODED_PREFIX.length), 'base64').toString('utf8');
}

/** The value in the output of `show-environment NAME`; `-NAME` marks a removed variable. */
export function parseShownVariable(output: string): string {
  const equals = output.indexOf('=');
  if (output.startsWith('-') || equals < 0) return '';
  return decodeMetaValue(output.slice(equals + 1));
}
