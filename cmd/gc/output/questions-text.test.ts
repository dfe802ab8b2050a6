import { describe, expect, it } from 'vitest';
import type { OpenQuestion } from '../../../internal/controller/question-api.ts';
import { questionsText } from './questions-text.ts';
import { widthOf } from './width.ts';

const QUESTION: OpenQuestion = {
  id: 'q4',
  session: 'proj/reviewer',
  session_id: 'gc-1',
  session_name: 'reviewer',
  request_id: 'tmux-1',
  kind: 'approval',
  prompt: 'Bash: touch x',
  options: ['Yes', 'No'],
  metadata: {},
  source: 'screen',
  tool: 'Bash',
  input: 'touch x',
  asked_at: '2026-01-01T00:00:00Z',
};
const NOW = Date.parse('2026-01-01T00:02:00Z');
const text = (over: Partial<OpenQuestion>, isWhole = false) =>
  questionsText([{ ...QUESTION, ...over }], { now: NOW, gc: 'gc', columns: 80, isWhole });

describe('what agents ask, as people read it', () => {
  it('has the command, the choices and how to answer', () => {
    expect(text({})).toBe(
      'q4  proj/reviewer    2m   Bash: touch x\n      1 Yes   2 No\n      gc session respond q4 <number>\n',
    );
  });

  it.each([
    ['in one line', `ls${' '.repeat(300)}; rm -rf END`],
    ['in a word', `${'ä'.repeat(300)}END`],
    ['in wide characters', `${'日本'.repeat(100)}END`],
  ])('goes on where the line is full: %s', (_, command) => {
    const shown = text({ prompt: `Bash: ${command}`, input: command });
    expect(shown).toContain('END');
    for (const line of shown.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(80);
  });

  it('tells how much is left out, and leaves nothing out of one session', () => {
    const command = Array.from({ length: 50 }, (_, line) => `touch line${line}`).join('\n');
    const prompt = `Bash: ${command}`;
    expect(text({ prompt })).toContain('... 43 more lines: gc session pending proj/reviewer');
    expect(text({ prompt })).not.toContain('line49');
    expect(text({ prompt }, true)).toContain('      touch line49\n');
    expect(text({ prompt }, true)).not.toContain('more lines');
  });

  it('shows what a terminal would hide', () => {
    const shown = text({ prompt: 'Bash: ls \x1b]0;; rm -rf x\x07\u202e', options: ['Yes\x1b[2J'] });
    expect(shown).toContain('Bash: ls \\x1b]0;; rm -rf x\\x07\\u202e');
    expect(shown).toContain('1 Yes\n');
    expect(shown).not.toContain('\x1b');
  });
});
