import { describe, expect, it } from 'vitest';
import { usageLimitOn } from './usage-limit.ts';

const NOON = new Date(2026, 5, 1, 12, 0, 0).getTime();
const at = (hour: number, minute = 0, day = 1) => new Date(2026, 5, day, hour, minute, 0).getTime();

describe('usage limits on a screen', () => {
  const FOUND: readonly (readonly [string, number | undefined])[] = [
    ["You've reached your usage limit. Resets at 14:00.", at(14)],
    ["You've hit your limit · resets 2pm (UTC)", at(14)],
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
    ['You have exhausted your daily quota on this model.', undefined],
  ];
  for (const [screen, until] of FOUND) {
    it(screen, () => expect(usageLimitOn(`some work\n${screen}\n\n`, NOON)).toEqual({ until }));
  }

  const NONE = [
    '',
    'Error: connection refused',
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
