import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkRule, decideByRules, type Rule, type RuleQuestion } from './permission-rules.ts';
import { anything, globMatches, literalPattern, oneCommand } from './rule-glob.ts';

const question = (over: Partial<RuleQuestion> = {}): RuleQuestion => ({
  sessionId: 'gc-1',
  epoch: 1,
  names: ['worker-1', 'gc-1'],
  agent: 'proj/worker',
  rig: 'proj',
  workDirs: ['/src/proj/sub', '/disk/proj/sub'],
  tool: 'Bash',
  input: 'git status -s',
  isWhole: true,
  ...over,
});

let made = 0;
const rule = (over: Partial<Rule> = {}): Rule => {
  made += 1;
  return { id: `r${made}`, effect: 'allow', scope: 'city', tool: 'Bash', by: 'human', at: '', ...over };
};

const verdict = (rules: readonly Rule[], over: Partial<RuleQuestion> = {}) =>
  decideByRules(question(over), rules).kind;

describe('a rule', () => {
  it.each<[string, Partial<Rule>, Partial<RuleQuestion>, boolean]>([
    ['of the tool', {}, {}, true],
    ['of another tool', { tool: 'Edit' }, {}, false],
    ['of the tool in other letters', { tool: 'bash' }, {}, true],
    ['of any tool', { tool: '*' }, { tool: 'Shell' }, true],
    ['of the rig', { rig: 'proj' }, {}, true],
    ['of another rig', { rig: 'other' }, {}, false],
    ['of the agent', { agent: 'proj/worker' }, {}, true],
    ['of another agent', { agent: 'worker' }, {}, false],
    ['of the session by a name', { session: 'worker-1' }, {}, true],
    ['of another session', { session: 'worker-2' }, {}, false],
    ['of the conversation', { scope: 'session', bound: { sessionId: 'gc-1', epoch: 1 } }, {}, true],
    ['of an earlier one', { scope: 'session', bound: { sessionId: 'gc-1', epoch: 0 } }, {}, false],
    ['of a session that is not known', { scope: 'session', session: 'worker-1' }, {}, false],
    ['of the project', { scope: 'project', project: '/src/proj' }, {}, true],
    ['of the project by another way to it', { scope: 'project', project: '/disk/proj' }, {}, true],
    ['of a folder of the like name', { scope: 'project', project: '/src/pro' }, {}, false],
    ['of the whole disk', { scope: 'project', project: '/' }, {}, true],
    ['of no project', { scope: 'project' }, {}, false],
    ['where no folder is known', { scope: 'project', project: '/src' }, { workDirs: [''] }, false],
    ['about no tool', { tool: '*' }, { tool: '' }, false],
    ['of the input', { input: 'git status*' }, {}, true],
    ['of the whole input', { input: 'git status' }, {}, false],
    ['with more commands than it names', { input: 'git *' }, { input: 'git status; rm -rf /' }, false],
    ['with another one in it', { input: 'git *' }, { input: 'git log $(rm x)' }, false],
    ['with one that begins in the pattern', { input: 'echo $*' }, { input: 'echo $(rm x)' }, false],
    ['with a variable that does', { input: 'echo $*' }, { input: 'echo $HOME' }, true],
    ['out of the folder that it names', { input: 'src/*' }, { input: 'src/a/../../x' }, false],
    ['out of it by half a step', { input: 'src/.*' }, { input: 'src/../x' }, false],
    ['out of it at the end', { input: 'ls src/*' }, { input: 'ls src/.. -l' }, false],
    ['into a hidden folder', { input: 'src/*' }, { input: 'src/..a/.b' }, true],
    ['with two revisions', { input: 'git diff *' }, { input: 'git diff main..feature/..x' }, true],
    ['with a second line', { input: 'git *' }, { input: 'git log\nrm x' }, false],
    ['that names the separator', { input: 'cd * && ls' }, { input: 'cd src && ls' }, true],
    ['where the input goes on unseen', { input: 'git *' }, { isWhole: false }, false],
    ['that does not look at the input', {}, { isWhole: false }, true],
  ])('%s', (_, over, asked, holds) => {
    expect(verdict([rule(over)], asked)).toBe(holds ? 'allow' : 'none');
  });

  it('that denies counts before all that allow, and reaches beyond one command', () => {
    const allow = rule({ input: 'git *', session: 'worker-1', agent: 'proj/worker' });
    const deny = rule({ effect: 'deny', input: '*rm -rf*' });
    expect(verdict([allow, deny])).toBe('allow');
    expect(verdict([rule(), deny], { input: 'ls; rm -rf /' })).toBe('deny');
    expect(verdict([rule(), rule({ effect: 'deny', tool: '*' })])).toBe('deny');
  });

  it('that denies is found where the screen broke the line', () => {
    const deny = rule({ effect: 'deny', input: '*git push*' });
    for (const input of ['echo;\ngit push', 'echo; git\npush', 'echo; git pu\nsh'])
      expect(verdict([rule(), deny], { input, isWhole: false })).toBe('deny');
    expect(verdict([rule(), deny], { input: 'echo git pu\nsh' })).toBe('allow');
  });

  it('allows nothing where a denial may stand in what could not be seen', () => {
    const deny = rule({ effect: 'deny', input: '*rm*' });
    expect(verdict([rule(), deny], { isWhole: false })).toBe('none');
    expect(verdict([rule(), rule({ ...deny, agent: 'other' })], { isWhole: false })).toBe('allow');
  });

  it('that is most exact is the one that is named', () => {
    const rules = [
      rule({ id: 'any', tool: '*' }),
      rule({ id: 'tool' }),
      rule({ id: 'input', input: 'git *' }),
      rule({ id: 'rig', rig: 'proj' }),
      rule({ id: 'agent', agent: 'proj/worker' }),
      rule({ id: 'session', session: 'worker-1' }),
    ];
    for (let count = 1; count <= rules.length; count += 1) {
      const found = decideByRules(question(), rules.slice(0, count));
      expect(found.kind === 'none' ? '' : found.rule.id).toBe(rules[count - 1]?.id);
    }
  });

  it.each<[string, Partial<Rule>]>([
    ['without a tool', { tool: ' ' }],
    ['with control characters', { tool: 'a\u001b[31m' }],
    ['with an empty input', { input: '' }],
    ['too long', { input: 'x'.repeat(2_001) }],
    ['of no session', { scope: 'session' }],
    ['of no folder', { scope: 'project', project: 'src' }],
    ['with a folder that means nothing', { project: '/src' }],
  ])('%s is refused', (_, over) => {
    expect(() => checkRule(rule(over))).toThrowError(expect.objectContaining({ code: 'invalid-rule' }));
  });
});

describe('a pattern', () => {
  const texts = fc.string({ unit: fc.constantFrom('a', 'b', ';', '*', '\\', '$', '('), maxLength: 12 });

  it('that is made of a text means that text and no other', () => {
    fc.assert(
      fc.property(texts, texts, (text, other) => {
        fc.pre(!/\\\*|\\$/.test(text));
        expect(globMatches(literalPattern(text), text, oneCommand)).toBe(true);
        expect(globMatches(literalPattern(text), other, anything)).toBe(text === other);
      }),
    );
  });

  it('matches as an expression does', () => {
    const pieces = fc.array(fc.constantFrom('a', 'b', ';', '*'), { maxLength: 8 });
    fc.assert(
      fc.property(pieces, texts, (pattern, text) => {
        const plain = new RegExp(`^${pattern.join('').replaceAll('*', '[^]*')}$`);
        expect(globMatches(pattern.join(''), text, anything)).toBe(plain.test(text));
        const simple = '(?:(?!\\$\\()(?!(?<=\\$)\\()[^;&|<>`\\n\\r])*';
        const strict = new RegExp(`^${pattern.join('').replaceAll('*', simple)}$`);
        expect(globMatches(pattern.join(''), text, oneCommand)).toBe(strict.test(text));
      }),
      { numRuns: 500 },
    );
  });

  it('of many stars is no burden', () => {
    expect(globMatches('a*'.repeat(900), `${'a'.repeat(8_000)}b;`, oneCommand)).toBe(false);
  });
});
