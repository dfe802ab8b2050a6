import { describe, expect, it } from 'vitest';
import { limitInFailure, limitOnScreen } from './usage-limit.ts';

const NOON = new Date(2026, 5, 1, 12, 0, 0).getTime();
const at = (hour: number, minute = 0, day = 1) => new Date(2026, 5, day, hour, minute, 0).getTime();

/** The next time that it is so late in UTC, from NOON on. */
const inUtc = (hour: number): number => {
  const today = new Date(NOON).setUTCHours(hour, 0, 0, 0);
  return today > NOON ? today : today + 86_400_000;
};

const usageLimitOn = (screen: string, now: number) => {
  const found = limitOnScreen(screen, { now });
  return found && { until: found.until };
};

describe('usage limits on a screen', () => {
  const FOUND: readonly (readonly [string, number | undefined])[] = [
    ["You've reached your usage limit. Resets at 14:00.", at(14)],
    ["You've hit your limit · resets 2pm (UTC)", inUtc(14)],
    ["You've hit your limit · resets 2pm (Europe/Nowhere)", at(14)],
    ["You've hit your weekly limit · resets Jun 4, 10am (Asia/Tokyo)", Date.UTC(2026, 5, 4, 1)],
    ['You’ve hit your weekly limit · resets 11:30am', at(11, 30, 2)],
    ['Claude usage limit reached. Your limit will reset at 3:30 PM.', at(15, 30)],
    ['5-hour limit reached ∙ resets 12am', at(0, 0, 2)],
    [`Claude AI usage limit reached|${at(16) / 1_000}`, at(16)],
    [
      "■ You've hit your usage limit. Upgrade to Pro or try again in 2 days 3 hours 4 minutes.",
      NOON + 2 * 86_400_000 + 3 * 3_600_000 + 4 * 60_000,
    ],
    ['Usage limit: try again in 45 mins', NOON + 45 * 60_000],
    ["You've hit your usage limit.", undefined],
    ["You've hit your session limit · resets 3pm (Europe/Berlin)", inUtc(13)],
    ["You're out of extra usage · resets 6:30pm", at(18, 30)],
    ["You've hit your weekly limit · resets Jun 4, 10am", at(10, 0, 4)],
    ["■ You've hit your usage limit. Try again at Jun 3rd, 2026 3:45 PM.", at(15, 45, 3)],
    ["You've hit your usage limit. Upgrade to Pro or try again at 3:45 PM.", at(15, 45)],
    ['You have hit your ChatGPT usage limit (plus plan). Try again in ~42 min.', NOON + 42 * 60_000],
    ['5-hour usage limit reached. It will reset in 2 hours 3 minutes. To continue', NOON + 123 * 60_000],
    ['│ Usage limit reached for gemini-2.5-pro. │\n│ Access resets at 3:45 PM PST. │', at(15, 45)],
    [
      'You have exhausted your capacity on this model. Your quota will reset after 3h12m5s.',
      NOON + (3 * 3_600 + 12 * 60 + 5) * 1_000,
    ],
    ['[API Error: Resource exhausted. Please retry in 43.2s.]', NOON + 43_000],
    ['You have exhausted your daily quota on this model.', undefined],
  ];
  for (const [screen, until] of FOUND) {
    it(screen, () => expect(usageLimitOn(`some work\n${screen}\n\n`, NOON)).toEqual({ until }));
  }

  const NONE = [
    '',
    'Error: connection refused',
    " > what does You've hit your usage limit mean?",
    "✦ It says: You've hit your usage limit. Try again at 3:45 PM.",
    'rate limiter.test.ts passed',
    'The usage limit of this API is documented in README.md',
    'limit reached the end of the loop',
    "I'll implement the quota check until the tests pass",
  ];
  for (const screen of NONE) {
    it(`nothing in ${JSON.stringify(screen)}`, () => expect(usageLimitOn(screen, NOON)).toBeUndefined());
  }

  it('looks at the end of the screen only', () => {
    const old = `You've hit your usage limit.\n${'work\n'.repeat(30)}`;
    expect(usageLimitOn(old, NOON)).toBeUndefined();
  });
});

describe('a screen that still shows an old limit', () => {
  it('names a time of today that is over', () => {
    const screen = "You've hit your limit · resets 11am";
    expect(limitOnScreen(screen, { now: NOON })?.until).toBe(at(11, 0, 2));
    expect(limitOnScreen(screen, { now: NOON, passedWithinMs: 3 * 3_600_000 })?.until).toBe(at(11));
    expect(limitOnScreen(screen, { now: NOON })?.text).toBe(screen);
  });
});

describe('usage limits in what a program gave up with', () => {
  it('are the same sentences, and refusals that name a long wait', () => {
    expect(limitInFailure(`Claude AI usage limit reached|${at(16) / 1_000}`, NOON)?.until).toBe(at(16));
    expect(limitInFailure("You've hit your limit · resets 2pm", NOON)?.until).toBe(at(14));
    expect(limitInFailure('429 Too Many Requests: try again in 2 hours', NOON)?.until).toBe(at(14));
    expect(limitInFailure('rate limit exceeded, retry after 30s', NOON)).toBeUndefined();
    expect(limitInFailure('429 scripted failure', NOON)).toBeUndefined();
    expect(limitInFailure('API Error: 500 try again in 2 hours', NOON)).toBeUndefined();
  });
});

describe('times in a zone', () => {
  const NEW_YEAR = Date.UTC(2026, 11, 31, 23, 30);
  const said = (text: string, now: number) =>
    limitOnScreen(`You've hit your limit · resets ${text}`, { now })?.until;

  it.each<[string, number, number | undefined]>([
    ['12:30am (UTC)', NEW_YEAR, Date.UTC(2027, 0, 1, 0, 30)],
    ['9am (Asia/Tokyo)', NEW_YEAR, Date.UTC(2027, 0, 1, 0)],
    ['11pm (Pacific/Kiritimati)', NEW_YEAR, Date.UTC(2027, 0, 1, 9)],
    ['5:15am (Asia/Kathmandu)', NEW_YEAR, Date.UTC(2026, 11, 31, 23, 30) + 86_400_000],
    ['Jan 2, 10am (UTC)', NEW_YEAR, Date.UTC(2027, 0, 2, 10)],
    ['Dec 30, 10am (UTC)', NEW_YEAR, undefined],
    // Clocks go forward that night.
    ['8am (Europe/Berlin)', Date.UTC(2026, 2, 28, 20), Date.UTC(2026, 2, 29, 6)],
  ])('%s', (text, now, until) => expect(said(text, now)).toBe(until));
});
