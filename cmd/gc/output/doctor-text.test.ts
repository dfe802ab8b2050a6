import { describe, expect, it } from 'vitest';
import { PLAIN } from '../testing/status-fixtures.ts';
import { renderDoctor } from './doctor-text.ts';

const reports = [
  { name: 'node', level: 'ok', message: 'v20', details: ['at /usr/bin/node'] },
  { name: 'disk', level: 'warn', message: 'only 3 MB free', hint: 'make room' },
  { name: 'store', level: 'fail', message: 'damaged', hint: 'gc stop' },
] as const;

describe('gc doctor', () => {
  it('has a line per check, what to do, and a summary', () => {
    expect(renderDoctor(reports, { verbose: false, style: PLAIN, gc: 'npx gc' })).toBe(
      [
        '  ✓ node — v20',
        '  ⚠ disk — only 3 MB free',
        '    hint: make room',
        '  ✗ store — damaged',
        '    hint: npx gc stop',
        '',
        '1 passed, 1 warnings, 1 failed',
        '',
      ].join('\n'),
    );
  });

  it('shows details when asked', () => {
    expect(renderDoctor(reports, { verbose: true, style: PLAIN, gc: 'gc' })).toContain(
      '      at /usr/bin/node\n',
    );
  });
});
