import { parseBytes } from '../../../internal/platform/bytes.ts';
import { type Input, UsageError } from '../cli/input.ts';

/** Bytes of an option such as `512MiB`, `1.5g` or `1048576`. @throws UsageError */
export function bytesOption(input: Input, name: string): number | undefined {
  const value = input.text(name);
  if (value === undefined) return undefined;
  const bytes = parseBytes(value);
  if (bytes !== undefined) return bytes;
  throw new UsageError(`--${name} must be a size such as 512MiB or 2g, not "${value}"`);
}
