import { describe, expect, it } from 'vitest';
import { eventLine } from './serve.ts';

describe('a line of progress', () => {
  const event = { seq: 1, ts: '2026-01-01T00:00:00Z', actor: 'gc' };

  it('is one line, whatever an agent wrote', () => {
    const line = eventLine({
      ...event,
      type: 'session.crashed',
      subject: 'mayor',
      message: 'exit 1\u001b[2J\nmore',
    });
    expect(line).toMatch(/^\d\d:\d\d:\d\d {2}mayor {2}crashed {2}exit 1 \[2J$/);
  });

  it('is kept to what happens to sessions', () => {
    expect(eventLine({ ...event, type: 'bead.updated', subject: 'gc-1' })).toBeUndefined();
    expect(eventLine({ ...event, type: 'toString' })).toBeUndefined();
  });
});
