import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { VERB_STATES } from '../../../internal/session/verb-state.ts';
import { EXITS, VERBS } from '../../../internal/session/verb-table.ts';
import { withVerbs } from './verb-page.ts';

const page = (): string => readFileSync(new URL('../../../docs/sessions.md', import.meta.url), 'utf8');

describe('the table of states and verbs in docs/sessions.md', () => {
  it('is up to date (npm run docs)', () => {
    expect(page()).toBe(withVerbs(page()));
  });

  it('has every state, every verb and every way out', () => {
    const text = page();
    for (const state of VERB_STATES) expect(text, state).toMatch(new RegExp(`[ :]${state}[,. ]`));
    for (const verb of VERBS) expect(text, verb).toContain(`\n| \`${verb}`);
    for (const state of Object.keys(EXITS)) expect(text, state).toContain(`\n| ${state} | `);
  });

  it('needs a place', () => {
    expect(() => withVerbs('# Sessions\n')).toThrow('the page lacks');
  });
});
