import { describe, expect, it } from 'vitest';
import type { SessionCondition, SessionView } from './city-api.ts';
import { helpsFor } from './helps.ts';
import { DRAIN_REASONS, type DrainReason, drainWords } from './model.ts';
import { AGENT_SUSPENDED } from './session-view.ts';

const CONDITIONS: readonly SessionCondition[] = [
  'idle',
  'working',
  'running',
  'waits',
  'starting',
  'draining',
  'backing-off',
  'quarantined',
  'asleep',
  'suspended',
  'stopped',
  'unknown',
  'closed',
];

const commands = (over: Partial<SessionView>, isSeen = true) =>
  helpsFor(
    { display_name: 'a', condition: 'idle', transport: '', wanted: true, ...over } as SessionView,
    isSeen,
  ).map(({ command }) => command);

describe('what helps', () => {
  it.each(CONDITIONS)('an agent without a terminal that is %s needs none', (condition) => {
    expect(commands({ condition, transport: 'acp', detail: 'x' }).join()).not.toContain('attach');
  });

  it.each(['backing-off', 'quarantined', 'starting'] as const)(
    'a session that is %s has its screen shown only where there is one',
    (condition) => {
      expect(commands({ condition })).toContain('gc session peek a');
      expect(commands({ condition }, false)).not.toContain('gc session peek a');
    },
  );

  it('a session that is let go is what keeps it, and nothing where nothing does', () => {
    const helps = (reason: DrainReason) =>
      commands({
        condition: 'draining',
        transport: 'acp',
        detail: `${drainWords(reason)}: waits until it is idle`,
      });
    expect(helps('drained by a person')).toContain('gc runtime undrain a');
    expect(helps('no-wake-reason')).toContain('gc session pin a');
    for (const reason of DRAIN_REASONS.filter((other) => other !== 'drained by a person'))
      expect(helps(reason).join()).not.toContain('undrain');
  });

  it('a session whose agent is suspended is not woken by waking it', () => {
    const helps = commands({ condition: 'suspended', template: 'proj/coder', detail: AGENT_SUSPENDED });
    expect(helps).toEqual(['gc agent resume proj/coder', 'gc status']);
    expect(commands({ condition: 'suspended', detail: 'until gc session wake' })).toEqual([
      'gc session wake a',
    ]);
  });

  it('an agent that waits for a restart of the city is that restart', () => {
    expect(commands({ condition: 'stopped', detail: 'x', problem: 'acp-not-ready' })).toEqual(['gc restart']);
  });
});
