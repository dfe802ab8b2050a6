import { describe, expect, it } from 'vitest';
import type { ConfigProblem } from '../city.ts';
import { problemCount, problemFrame, problemJson, problemLine, problemReport } from './format-problems.ts';

const TEXT = 'agents:\n  - name: worker\n    promt_template: prompts/worker.md\n';
const problem = (over: Partial<ConfigProblem> = {}): ConfigProblem => ({
  severity: 'error',
  code: 'unknown-key',
  message: 'unknown key "promt_template" in agents[0] (worker); did you mean "prompt_template"?',
  position: { file: '/c/city.yaml', line: 3, column: 5 },
  hint: undefined,
  ...over,
});
const options = { baseDir: '/c', texts: new Map([['/c/city.yaml', TEXT]]) };

describe('problems', () => {
  it('for people: place, message, two lines and a caret', () => {
    expect(
      problemReport([problem()], options),
    ).toBe(`city.yaml:3:5  unknown key "promt_template" in agents[0] (worker); did you mean "prompt_template"?
  2 |   - name: worker
  3 |     promt_template: prompts/worker.md
    |     ^^^^^^^^^^^^^^
1 error.`);
  });

  it('for pipes: one line', () => {
    expect(problemLine(problem({ hint: 'do it' }), '/c')).toBe(
      'city.yaml:3:5: error: unknown key "promt_template" in agents[0] (worker); did you mean "prompt_template"? (do it)',
    );
    expect(problemLine(problem({ position: undefined, severity: 'warning', message: 'm' }), '/c')).toBe(
      'warning: m',
    );
    expect(problemLine(problem({ message: 'm' }), '/other')).toBe('/c/city.yaml:3:5: error: m');
  });

  it('as data', () => {
    expect(problemJson(problem({ hint: 'h' }))).toEqual({
      severity: 'error',
      code: 'unknown-key',
      message: problem().message,
      file: '/c/city.yaml',
      line: 3,
      column: 5,
      hint: 'h',
    });
    expect(Object.keys(problemJson(problem({ position: undefined })))).toEqual([
      'severity',
      'code',
      'message',
    ]);
  });

  it('counts', () => {
    expect(problemCount([problem(), problem(), problem({ severity: 'warning' })])).toBe(
      '2 errors, 1 warning.',
    );
    expect(problemCount([])).toBe('No problems.');
  });

  it('marks colours, and cuts long lines around the place', () => {
    const long = `x: "${'a'.repeat(150)}" # {{.Nope}} end ${'b'.repeat(100)}`;
    const column = long.indexOf('{{') + 1;
    const frame = problemFrame(problem({ message: 'm', position: { file: '/c/f', line: 1, column } }), {
      baseDir: '/c',
      texts: new Map([['/c/f', long]]),
      paint: { place: (t) => `<${t}>`, error: (t) => `!${t}!`, warning: (t) => t, quiet: (t) => t },
    });
    const [head, line, caret] = frame.split('\n');
    expect(head).toBe(`<f:1:${column}>  m`);
    expect(line?.length).toBeLessThanOrEqual(80);
    expect(line?.indexOf('{{')).toBe(caret?.indexOf('!'));
    expect(caret).toContain('!^^^^^^^^^!');
  });

  it('shows nothing of a file that it does not have, and lets no control character out', () => {
    expect(problemFrame(problem({ message: 'm' }), { baseDir: '/c', texts: new Map() })).toBe(
      'city.yaml:3:5  m',
    );
    const frame = problemFrame(
      problem({ message: 'bad \u001b[31m key', position: { file: '/c/f', line: 1, column: 2 } }),
      {
        baseDir: '/c',
        texts: new Map([['/c/f', '\tk\u001b[2J: 1\r\n']]),
      },
    );
    expect(frame).toBe('f:1:2  bad \ufffd[31m key\n  1 |  k\ufffd[2J: 1\n    |  ^^');
  });
});
