import { describe, expect, it } from 'vitest';
import { GcError } from '../../../internal/platform/errors.ts';
import { invokedAs, typed } from '../city/invocation.ts';
import { type ErrorStyle, ProblemsError, renderError } from './errors.ts';
import { wantsColour } from './style.ts';

const style: ErrorStyle = { path: 'session kill', json: false, gc: 'gc', bold: (text) => text, debug: false };
const error = new GcError('session-not-found', 'no session "mayr"; did you mean "mayor"?', {
  next: 'gc session list',
});

describe('errors', () => {
  it('say which command, what, and what next', () => {
    expect(renderError(error, style)).toBe(
      'gc session kill: no session "mayr"; did you mean "mayor"?\n  next: gc session list\n',
    );
    expect(renderError(error, { ...style, gc: 'npx gc' })).toContain('next: npx gc session list\n');
  });

  it('are JSON where data is JSON', () => {
    expect(JSON.parse(renderError(error, { ...style, json: true }))).toEqual({
      error: {
        code: 'session-not-found',
        command: 'session kill',
        message: 'no session "mayr"; did you mean "mayor"?',
        next: 'gc session list',
      },
    });
  });

  it('CFG-15 carry every problem of the city file in both forms', () => {
    const problem = {
      code: 'unknown-key',
      message: 'unknown key "promt"',
      file: 'city.yaml',
      line: 14,
      column: 5,
    };
    const wrong = new ProblemsError('config-invalid', '1 error', {
      text: 'city.yaml:14:5  unknown key "promt"\n',
      data: [problem],
    });
    expect(renderError(wrong, { ...style, path: 'status' })).toBe(
      'city.yaml:14:5  unknown key "promt"\ngc status: 1 error\n',
    );
    expect(JSON.parse(renderError(wrong, { ...style, json: true })).error.problems).toEqual([problem]);
  });

  it('of an unknown kind have the code internal and no next step', () => {
    expect(JSON.parse(renderError(new TypeError('x'), { ...style, json: true })).error).toMatchObject({
      code: 'internal',
    });
    expect(renderError(new TypeError('x'), { ...style, path: '' })).toBe('gc: x\n');
  });

  it('do not drive the terminal', () => {
    expect(renderError(new GcError('a', 'bad\x1b[2J name'), style)).toBe('gc session kill: bad name\n');
  });
});

describe('how printed commands are typed', () => {
  it('follows how the program was called', () => {
    expect(invokedAs({})).toBe('gc');
    expect(invokedAs({ npm_lifecycle_event: 'start' })).toBe('npx gc');
    expect(invokedAs({ npm_command: 'exec' })).toBe('npx gc');
    expect(invokedAs({ npm_command: 'exec', GC_INVOKED_AS: 'gc' })).toBe('gc');
  });

  it('changes commands only', () => {
    expect(typed('gc stop, then gc start; see "gc help"', 'npx gc')).toBe(
      'npx gc stop, then npx gc start; see "npx gc help"',
    );
    expect(typed('a gc pause in gcc', 'gc')).toBe('a gc pause in gcc');
  });
});

describe('colour', () => {
  it('is for terminals that did not refuse it', () => {
    expect(wantsColour({}, true)).toBe(true);
    expect(wantsColour({}, false)).toBe(false);
    expect(wantsColour({ NO_COLOR: '1', FORCE_COLOR: '1' }, true)).toBe(false);
    expect(wantsColour({ FORCE_COLOR: '1' }, false)).toBe(true);
    expect(wantsColour({ TERM: 'dumb' }, true)).toBe(false);
  });
});
