import { createHash } from 'node:crypto';
import { INLINE_TEXT_BYTES, type KeptText } from './facts.ts';

/** The text, or as much of its beginning as a log keeps. Half a surrogate pair, which no log can hold, becomes U+FFFD. */
export function keptText(text: string, limit = INLINE_TEXT_BYTES): KeptText {
  const whole = Buffer.from(text, 'utf8');
  if (whole.length <= limit) return { text: whole.toString('utf8'), bytes: whole.length };
  return { text: beginning(whole, limit), bytes: whole.length, sha256: sha256(whole) };
}

/** First 16 hex digits: names something without telling it. */
export function shortDigest(text: string): string {
  return sha256(Buffer.from(text, 'utf8')).slice(0, 16);
}

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Cut between characters. */
function beginning(bytes: Buffer, limit: number): string {
  let end = limit;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString('utf8');
}
