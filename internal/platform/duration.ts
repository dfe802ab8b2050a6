const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/**
 * Milliseconds of a Go duration (`500ms`, `1h30m`, `0`, `-2s`), `undefined` when it is not one.
 * Source: Go `time.ParseDuration`, the notation of every duration in a city file.
 */
export function parseDuration(text: string): number | undefined {
  const match = /^([+-]?)((?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+$|^[+-]?0$/.exec(text.trim());
  if (!match) return undefined;
  let total = 0;
  for (const part of text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)/g)) {
    total += Number(part[1]) * (UNIT_MS[part[2] ?? ''] ?? 0);
  }
  return text.trim().startsWith('-') ? -total : total;
}

/** A short, relative time for people: `0.4s`, `41s`, `12m`, `3h`, `2d`. */
export function shortDuration(ms: number): string {
  const s = Math.max(0, ms) / 1_000;
  if (s < 10) return `${s.toFixed(1)}s`;
  if (s < 60) return `${Math.floor(s)}s`;
  if (s < 3_600) return `${Math.floor(s / 60)}m`;
  if (s < 86_400) return `${Math.floor(s / 3_600)}h`;
  return `${Math.floor(s / 86_400)}d`;
}
