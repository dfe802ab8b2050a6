import { expect, it } from 'vitest';
import { explainedDecisions } from './explained-decisions.ts';

const decision = (what: string, why: string) => ({ at: '2026-01-01T00:00:00Z', what, why, inputs: {} });
const stale = decision('nothing', 'could not tell whether it runs: looked at before the last effect');
const unseen = decision('nothing', 'could not tell whether it runs: tmux did not answer');
const log = (...all: ReturnType<typeof decision>[]) => ({ last: async (_: string, n = 10) => all.slice(-n) });

it('leaves away that a look was too old, not what nobody could tell', async () => {
  const lives = ['start', 'stop', 'start'].flatMap((what) => [decision(what, 'x'), stale]);
  expect((await explainedDecisions(log(...lives, unseen), 'gc-1')).map(({ what }) => what)).toEqual([
    'start',
    'stop',
    'start',
    'nothing',
  ]);
});

it('looks behind them for the last ten', async () => {
  const lives = Array.from({ length: 15 }, (_, n) => [decision('start', String(n)), stale]).flat();
  expect((await explainedDecisions(log(...lives), 'gc-1')).map(({ why }) => why)).toEqual(
    Array.from({ length: 10 }, (_, n) => String(n + 5)),
  );
});
