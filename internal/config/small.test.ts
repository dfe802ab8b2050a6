import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDuration } from '../platform/duration.ts';
import { editDistance } from '../platform/edit-distance.ts';
import { didYouMean, nearest } from './document/nearest.ts';
import { ProblemList } from './document/problems.ts';
import { parsePathText, pathText, positionAt } from './document/source-document.ts';
import { parseToml } from './document/toml-document.ts';
import {
  deriveBeadPrefix,
  qualifiedInstanceName,
  qualifiedName,
  splitQualifiedName,
} from './qualified-name.ts';
import { durationText } from './schema/duration-text.ts';

describe('names', () => {
  it('are qualified and split', () => {
    expect(qualifiedName('', '', 'a')).toBe('a');
    expect(qualifiedName('r', '', 'a')).toBe('r/a');
    expect(qualifiedName('', 'b', 'a')).toBe('b.a');
    expect(qualifiedName('r', 'b', 'a')).toBe('r/b.a');
    expect(qualifiedInstanceName({ dir: 'r', binding: 'b' }, 'a-2')).toBe('r/b.a-2');
    expect(splitQualifiedName('x/y/b.a')).toEqual({ dir: 'x/y', name: 'b.a' });
  });

  it.each([
    ['my-project', 'mp'],
    ['my_big_project', 'mbp'],
    ['fooBar', 'fb'],
    ['frontend', 'fr'],
    ['api', 'api'],
    ['API', 'api'],
    ['thing-py', 'th'],
    ['tool-go', 'to'],
    ['', ''],
  ])('bead prefix of %s is %s', (name, prefix) => {
    expect(deriveBeadPrefix(name)).toBe(prefix);
  });
});

describe('suggestions', () => {
  it('offer the nearest, and only what is near', () => {
    expect(nearest('promt_template', ['prompt_mode', 'prompt_template'])).toBe('prompt_template');
    expect(nearest('Nmae', ['Map', 'Name'])).toBe('Name');
    expect(nearest('zzz', ['abc'])).toBeUndefined();
    expect(nearest('x', ['a', ''])).toBeUndefined();
    expect(didYouMean('claud', ['claude'])).toBe('; did you mean "claude"?');
  });

  it('distance is symmetric, zero only for equals, and cut at the limit', () => {
    const word = fc.string({ maxLength: 8 });
    fc.assert(
      fc.property(word, word, (a, b) => {
        const distance = editDistance(a, b);
        expect(distance).toBe(editDistance(b, a));
        expect(distance === 0).toBe(a === b);
        expect(editDistance(a, b, 2)).toBe(Math.min(distance, 3));
      }),
    );
  });
});

describe('places', () => {
  it('offsets become lines and columns', () => {
    expect(positionAt('f', 'ab\ncd', 0)).toEqual({ file: 'f', line: 1, column: 1 });
    expect(positionAt('f', 'ab\ncd', 2)).toEqual({ file: 'f', line: 1, column: 3 });
    expect(positionAt('f', 'ab\ncd', 4)).toEqual({ file: 'f', line: 2, column: 2 });
    expect(positionAt('f', 'ab\ncd', 99)).toEqual({ file: 'f', line: 2, column: 3 });
  });

  it('paths are written and read', () => {
    expect(pathText(['agents', 2, 'env', 'PORT'])).toBe('agents[2].env.PORT');
    expect(parsePathText('agents[2].env.PORT')).toEqual(['agents', 2, 'env', 'PORT']);
  });

  it('TOML knows dotted keys, sub-tables, inline tables and arrays', async () => {
    const text = 'a.b = 1\n[t]\nx = { y = [1, { z = 2 }] }\n[[l]]\n[l.s]\nq = 1\n[[l]]\n"k e" = 3\n';
    const result = await parseToml('f', text);
    if (result.kind !== 'parsed') throw new Error('does not parse');
    const { document } = result;
    const at = (path: (string | number)[], part: 'key' | 'value') => {
      const span = document.spanOf(path, part);
      return span && text.slice(span.start, span.end);
    };
    expect(at(['a'], 'key')).toBe('a');
    expect(at(['a', 'b'], 'key')).toBe('b');
    expect(at(['a', 'b'], 'value')).toBe('1');
    expect(at(['t', 'x', 'y', 1, 'z'], 'value')).toBe('2');
    expect(at(['l', 0, 's', 'q'], 'key')).toBe('q');
    expect(at(['l', 1, 'k e'], 'key')).toBe('"k e"');
    expect(at(['nope'], 'key')).toBeUndefined();
    expect(document.layoutOf(['a'])).toBeUndefined();
    expect(document.layoutOf(['t', 'x'])?.style).toBe('inline');
  });
});

describe('small things', () => {
  it('durations are written so that they read back', () => {
    expect([0, 500, 90_000, 5_400_000, 1_500].map(durationText)).toEqual([
      '0s',
      '500ms',
      '1m30s',
      '1h30m',
      '1s500ms',
    ]);
    fc.assert(
      fc.property(fc.nat(), (ms) => {
        expect(parseDuration(durationText(ms))).toBe(ms);
      }),
    );
  });

  it('problems come errors first, in the order of the file', () => {
    const list = new ProblemList();
    list.warning('w', 'w', { file: 'a', line: 1, column: 1 });
    list.error('e2', 'e', { file: 'a', line: 10, column: 1 });
    list.error('e1', 'e', { file: 'a', line: 9, column: 5 });
    list.error('e0', 'e', undefined);
    expect(list.sorted().map((problem) => problem.code)).toEqual(['e0', 'e1', 'e2', 'w']);
    expect(list.warnings.map((problem) => problem.code)).toEqual(['w']);
  });
});
