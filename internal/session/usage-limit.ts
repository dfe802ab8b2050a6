import { zonedParts, zonedTime, zoneIn } from './zoned-time.ts';

/** What an agent program says about a limit of the account. */
export interface UsageLimit {
  /** When work is possible again, milliseconds since the epoch; `undefined` when it does not say. */
  readonly until: number | undefined;
}

export interface FoundLimit extends UsageLimit {
  /** How the program said it. */
  readonly text: string;
}

/** Only the end of a screen counts: a conversation about limits further up is no limit. */
const LINES_LOOKED_AT = 15;
/** The time may stand on the lines below the sentence. */
const LINES_OF_ONE_LIMIT = 3;
/** What a person typed, or a model said: it may be about limits, and is none. */
const SPOKEN = /^\s*[>❯›✦]\s/u;

/**
 * Sentences that agent programs say when the account may not work for a while. Source: the texts of Claude Code 2.1,
 * Codex 0.171, Gemini CLI 0.61, opencode 1.18 and pi 0.73.
 */
const LIMIT_SENTENCES: readonly RegExp[] = [
  /\byou(?:['’]ve| have) (?:hit|reached) your (?:\S+ ){0,3}limit\b/i,
  /\byou['’]re out of (?:extra )?usage\b/i,
  /\b(?:claude|usage|session|weekly|5-hour|opus|sonnet)(?: ai)?(?: usage)? limit reached\b/i,
  /\busage limit\b.*\b(?:reset|until|try again)/i,
  /\bquota (?:exceeded|exhausted|limit reached)\b.*\b(?:reset|retry|try again|daily|per day)/i,
  /\byou have exhausted your (?:daily )?(?:quota|capacity)\b/i,
  /\bresource[ _](?:has been )?exhausted\b.*\b(?:retry|try again|reset)/i,
  /\byour quota will reset\b/i,
];

/** What providers say of too many requests: a limit only where they say for how long. */
const REFUSED = /\b429\b|\btoo many requests\b|\brate[ -]?limit/i;
/** Shorter waits the programs sit out by themselves. */
const SHORTEST_REFUSAL_MS = 120_000;

export interface LimitLook {
  /** Milliseconds since the epoch. Times without a date are read in the zone that is named, else the machine's, and lie ahead of it. */
  readonly now: number;
  /** A time of day that passed within so many milliseconds is that of today: what is shown may be old. */
  readonly passedWithinMs?: number;
}

/** Finds a usage limit in the last lines that an agent shows, or ended with. */
export function limitOnScreen(screen: string, look: LimitLook): FoundLimit | undefined {
  const tail = screen.trimEnd().split('\n').slice(-LINES_LOOKED_AT);
  const at = tail.findIndex((line) => !SPOKEN.test(line) && isLimit(line));
  if (at === -1) return undefined;
  const text = tail.slice(at, at + LINES_OF_ONE_LIMIT).join(' ');
  return { until: timeIn(text, look), text: (tail[at] ?? '').replace(/[│╭╮╰╯]/gu, ' ').trim() };
}

/** Finds a usage limit in what a program said when it gave up on a turn. */
export function limitInFailure(message: string, now: number): FoundLimit | undefined {
  const text = message.replace(/\s+/g, ' ').trim();
  const until = timeIn(text, { now });
  if (isLimit(text)) return { until, text };
  const isLong = until !== undefined && until - now >= SHORTEST_REFUSAL_MS;
  return isLong && REFUSED.test(text) ? { until, text } : undefined;
}

const isLimit = (text: string): boolean => LIMIT_SENTENCES.some((sentence) => sentence.test(text));

function timeIn(text: string, look: LimitLook): number | undefined {
  return spanIn(text, look.now) ?? epochIn(text, look) ?? dateIn(text, look) ?? clockTimeIn(text, look);
}

const SPAN_UNITS_MS: readonly (readonly [RegExp, number])[] = [
  [/(\d+)\s*(?:d|days?)(?![a-z])/i, 86_400_000],
  [/(\d+)\s*(?:h|hrs?|hours?)(?![a-z])/i, 3_600_000],
  [/(\d+)\s*(?:m|mins?|minutes?)(?![a-z])/i, 60_000],
  [/(\d+)(?:\.\d+)?\s*(?:s|secs?|seconds?)(?![a-z])/i, 1_000],
];

/** `try again in 2 days 3 hours 4 minutes`, `resets in 3h12m5s`, `in ~42 min`. */
function spanIn(text: string, now: number): number | undefined {
  const span = /\b(?:in|after)\s+~?((?:\d+(?:\.\d+)?\s*[a-z]+[\s,]*(?:and\s+)?){1,4})/i.exec(text)?.[1];
  if (!span) return undefined;
  let total = 0;
  for (const [pattern, unit] of SPAN_UNITS_MS) total += Number(pattern.exec(span)?.[1] ?? 0) * unit;
  return total > 0 ? now + total : undefined;
}

/** `limit reached|1735689600`: seconds since the epoch. */
function epochIn(text: string, { now }: LimitLook): number | undefined {
  const seconds = Number(/\|(\d{10})\b/.exec(text)?.[1] ?? 0);
  return seconds * 1_000 > now ? seconds * 1_000 : undefined;
}

/** A date without a year that passed so recently is no date of next year: what says it is old. */
const LONGEST_STALE_DATE_MS = 90 * 86_400_000;
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DATE =
  /\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(\d{4}))?(?:,|\s+at)?\s+(\d{1,2})(?::(\d{2}))?\s*(am|pm)?/i;

/** `resets Oct 9, 10am`, `try again at Jan 3rd, 2026 3:45 PM`. */
function dateIn(text: string, { now }: LimitLook): number | undefined {
  const match = DATE.exec(text);
  if (!match) return undefined;
  const [, month = '', day, year, hourText, minuteText, half] = match;
  const hour = toHour(Number(hourText), half?.toLowerCase());
  const minute = Number(minuteText ?? 0);
  if (hour > 23 || minute > 59) return undefined;
  const zone = zoneIn(text);
  const thisYear = zonedParts(now, zone).year;
  const inYear = (which: number): number =>
    zonedTime(
      { year: which, month: MONTHS.indexOf(month.toLowerCase()), day: Number(day), hour, minute },
      zone,
    );
  const at = inYear(Number(year ?? thisYear));
  if (at > now) return at;
  // In December it is January that is named without a year.
  const isJustOver = now - at < LONGEST_STALE_DATE_MS;
  return year === undefined && !isJustOver ? inYear(thisYear + 1) : undefined;
}

/** `resets at 14:00`, `resets 2pm`, `until 3:30 PM`, `try again at 3:45 PM`. */
function clockTimeIn(text: string, { now, passedWithinMs = 0 }: LimitLook): number | undefined {
  const match = /\b(?:resets?|until|again)(?:\s+at)?\s+(\d{1,2})(?::(\d{2}))?\s*(am|pm)?\b/i.exec(text);
  if (!match || (match[2] === undefined && match[3] === undefined)) return undefined;
  const hour = toHour(Number(match[1]), match[3]?.toLowerCase());
  const minute = Number(match[2] ?? 0);
  if (hour > 23 || minute > 59) return undefined;
  const zone = zoneIn(text);
  const { year, month, day } = zonedParts(now, zone);
  const onDay = (which: number): number => zonedTime({ year, month, day: which, hour, minute }, zone);
  return onDay(day) > now - passedWithinMs ? onDay(day) : onDay(day + 1);
}

function toHour(hour: number, half: string | undefined): number {
  if (half === 'am') return hour === 12 ? 0 : hour;
  if (half === 'pm') return hour === 12 ? 12 : hour + 12;
  return hour;
}
