import { type Input, UsageError } from '../cli/input.ts';

const UNITS: Readonly<Record<string, number>> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

/** Bytes of an option such as `512MiB`, `1.5g` or `1048576`. @throws UsageError */
export function bytesOption(input: Input, name: string): number | undefined {
  const value = input.text(name);
  if (value === undefined) return undefined;
  const match = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i.exec(value);
  const bytes = match && Math.floor(Number(match[1]) * (UNITS[(match[2] ?? '').toLowerCase()] ?? 1));
  if (typeof bytes === 'number' && Number.isSafeInteger(bytes)) return bytes;
  throw new UsageError(`--${name} must be a size such as 512MiB or 2g, not "${value}"`);
}
