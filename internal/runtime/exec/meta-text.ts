/** The protocol drops newlines at the end of an answer: a value that ends in one is stored with this behind it. */
const GUARD = '\x1f';

export function storedMeta(value: string): string {
  return value.endsWith('\n') || value.endsWith(GUARD) ? value + GUARD : value;
}

export function readMeta(stored: string): string {
  return stored.endsWith(GUARD) ? stored.slice(0, -GUARD.length) : stored;
}
