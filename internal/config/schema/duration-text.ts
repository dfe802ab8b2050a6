const UNITS = [
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

/** A Go duration that reads back as exactly this many milliseconds: `1h30m`, `500ms`, `0s`. */
export function durationText(ms: number): string {
  if (ms < 0) return `-${durationText(-ms)}`;
  let rest = ms;
  let text = '';
  for (const [unit, size] of UNITS) {
    const count = unit === 'ms' ? rest : Math.floor(rest / size);
    if (count === 0) continue;
    text += `${count}${unit}`;
    rest -= count * size;
  }
  return text === '' ? '0s' : text;
}
