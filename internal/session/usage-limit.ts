/** What a screen says about a limit of the account. */
export interface UsageLimit {
  /** When work is possible again, milliseconds since the epoch; `undefined` when the screen does not say. */
  readonly until: number | undefined;
}

/** Only the end of a screen counts: a conversation about limits further up is no limit. */
const LINES_LOOKED_AT = 15;

/** Sentences that agent programs end with when the account may not work for a while. */
const LIMIT_SENTENCES: readonly RegExp[] = [
  /you['’]ve (?:hit|reached) your (?:\S+ )?(?:usage |session |weekly |5-hour |\S+ )?limit/i,
  /\b(?:claude|usage|session|weekly|5-hour|opus|sonnet)(?: ai)?(?: usage)? limit reached\b/i,
  /\busage limit\b.*\b(?:reset|until|try again)/i,
  /\bquota (?:exceeded|exhausted|limit reached)\b.*\b(?:reset|retry|try again|daily|per day)/i,
  /\byou have exhausted your (?:daily )?(?:quota|capacity)\b/i,
];

/**
 * Finds a usage limit in the last lines of an agent that ended. Times without a date are read in the machine's time
 * zone and lie ahead of `now`.
 */
export function usageLimitOn(screen: string, now: number): UsageLimit | undefined {
  const tail = screen.trimEnd().split('\n').slice(-LINES_LOOKED_AT);
  const at = tail.findIndex((line) => LIMIT_SENTENCES.some((sentence) => sentence.test(line)));
  if (at === -1) return undefined;
  return { until: timeIn(tail.slice(at, at + 3).join(' '), now) };
}

function timeIn(text: string, now: number): number | undefined {
  return spanIn(text, now) ?? epochIn(text, now) ?? clockTimeIn(text, now);
}

const SPAN_UNITS_MS: readonly (readonly [RegExp, number])[] = [
  [/(\d+)\s*(?:d|days?)\b/i, 86_400_000],
  [/(\d+)\s*(?:h|hrs?|hours?)\b/i, 3_600_000],
  [/(\d+)\s*(?:m|mins?|minutes?)\b/i, 60_000],
];

/** `try again in 2 days 3 hours 4 minutes`, `resets in 3h 12m`. */
function spanIn(text: string, now: number): number | undefined {
  const span = /\b(?:in|after)\s+((?:\d+\s*[a-z]+[\s,]*(?:and\s+)?){1,4})/i.exec(text)?.[1];
  if (!span) return undefined;
  let total = 0;
  for (const [pattern, unit] of SPAN_UNITS_MS) total += Number(pattern.exec(span)?.[1] ?? 0) * unit;
  return total > 0 ? now + total : undefined;
}

/** `limit reached|1735689600`: seconds since the epoch. */
function epochIn(text: string, now: number): number | undefined {
  const seconds = Number(/\|(\d{10})\b/.exec(text)?.[1] ?? 0);
  return seconds * 1_000 > now ? seconds * 1_000 : undefined;
}

/** `resets at 14:00`, `resets 2pm`, `until 3:30 PM`. */
function clockTimeIn(text: string, now: number): number | undefined {
  const match = /\b(?:resets?|until|again)(?:\s+at)?\s+(\d{1,2})(?::(\d{2}))?\s*(am|pm)?\b/i.exec(text);
  if (!match || (match[2] === undefined && match[3] === undefined)) return undefined;
  const hour = toHour(Number(match[1]), match[3]?.toLowerCase());
  const minute = Number(match[2] ?? 0);
  if (hour > 23 || minute > 59) return undefined;
  const at = new Date(now);
  at.setHours(hour, minute, 0, 0);
  if (at.getTime() <= now) at.setDate(at.getDate() + 1);
  return at.getTime();
}

function toHour(hour: number, half: string | undefined): number {
  if (half === 'am') return hour === 12 ? 0 : hour;
  if (half === 'pm') return hour === 12 ? 12 : hour + 12;
  return hour;
}
