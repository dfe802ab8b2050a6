import { describe, expect, it } from 'vitest';
import { logText } from './log-text.ts';

const AT = '2026-01-02T10:00:00Z';

describe('a line of a conversation', () => {
  it('has time, kind and text, and nothing that moves the cursor', () => {
    expect(logText({ at: AT, type: 'assistant', text: 'tool_use: Bash' })).toMatch(
      /^\d\d:\d\d:\d\d \[ASSISTANT\] tool_use: Bash\n$/,
    );
    expect(logText({ at: AT, type: 'user', text: 'a\u001b[2Jb' })).toMatch(/\[USER\] ab\n$/);
  });

  it('is the mark alone where the context was compacted', () => {
    const text = '── context compacted ──';
    expect(logText({ at: AT, type: 'compacted', text })).toBe(`${text}\n`);
  });
});
