import { describe, expect, it } from 'vitest';
import type { SessionCondition, SessionView } from './city-api.ts';
import { helpsFor } from './helps.ts';

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

  it('an agent that waits for a restart of the city is that restart', () => {
    expect(commands({ condition: 'stopped', detail: 'x', problem: 'acp-not-ready' })).toEqual(['gc restart']);
  });
});
