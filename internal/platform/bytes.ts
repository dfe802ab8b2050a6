const UNITS: Readonly<Record<string, number>> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

/** `1.5GB`, `512MiB`, `2g`, `1048576`, in steps of 1,024. */
export const BYTES_PATTERN = /^(\d+(?:\.\d+)?)\s*([kmgtKMGT]?)(?:i?[bB])?$/;

/** Whole bytes; `undefined` for what is no size. */
export function parseBytes(text: string): number | undefined {
  const match = BYTES_PATTERN.exec(text.trim());
  if (!match) return undefined;
  const bytes = Math.floor(Number(match[1]) * (UNITS[(match[2] ?? '').toLowerCase()] ?? 1));
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Exact, as `parseBytes` reads it: `2GB`, `1536MB`, `1000`. */
export function byteSizeText(bytes: number): string {
  const unit = ['t', 'g', 'm', 'k'].find((each) => bytes > 0 && bytes % (UNITS[each] ?? 1) === 0);
  return unit === undefined ? String(bytes) : `${bytes / (UNITS[unit] ?? 1)}${unit.toUpperCase()}B`;
}

/** Short, for people: `640 kB`, `38 MB`, `1.2 GB`, `16 GB`. */
export function bytesText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = Math.max(0, bytes);
  let unit = 0;
  while (value >= 1_000 && unit < units.length - 1) {
    value /= 1_024;
    unit += 1;
  }
  const text = unit >= 3 && value < 10 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value));
  return `${text} ${units[unit]}`;
}
