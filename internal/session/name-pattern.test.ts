import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isNamePattern, matchingSessions } from './name-pattern.ts';
import { record } from './testing/records.ts';

const near = record({ alias: 'proj/worker-2', session_name: 'worker-gc-1', template: 'proj/worker' });
const tenth = record({ alias: 'proj/worker-10', session_name: 'worker-gc-2', template: 'proj/worker' });
const far = record({ alias: 'lab/worker-1', session_name: 'worker-gc-3', template: 'lab/worker' });
const mayor = record({ configured_named_identity: 'mayor', session_name: 'mayor' });
const closed = record({ alias: 'proj/worker-9', session_name: 'old' }, { status: 'closed' });

const found = (pattern: string, rig = '') =>
  matchingSessions({
    pattern,
    rig,
    records: [near, tenth, far, mayor, closed],
    configured: [
      { identity: 'mayor', sessionName: 'mayor' },
      { identity: 'proj/captain', sessionName: 'proj--captain' },
    ],
  });
const names = (pattern: string, rig = '') => found(pattern, rig).map(({ name }) => name);

describe('a pattern of names', () => {
  it('is told from a name', () => {
    expect(['proj/worker-*', 'w?', '*'].every(isNamePattern)).toBe(true);
    expect(['proj/worker-1', 's-gc-1', ''].some(isNamePattern)).toBe(false);
  });

  it('means display names, aliases and session names of what is open, in the order of their numbers', () => {
    expect(names('proj/worker-*')).toEqual(['proj/worker-2', 'proj/worker-10']);
    expect(names('worker-gc-?')).toEqual(['lab/worker-1', 'proj/worker-2', 'proj/worker-10']);
    expect(names('*/worker-1')).toEqual(['lab/worker-1']);
    expect(names('*')).toEqual(['lab/worker-1', 'mayor', 'proj/captain', 'proj/worker-2', 'proj/worker-10']);
    expect(names('nobody-*')).toEqual([]);
    expect(names('worker-9*')).toEqual([]);
  });

  it('names each by what means it alone', () => {
    expect(found('proj/w*').map(({ target }) => target)).toEqual([near.id, tenth.id]);
    expect(found('proj/c*')).toEqual([{ target: 'proj/captain', name: 'proj/captain', reserved: true }]);
  });

  it('means the own rig first', () => {
    expect(names('worker-*', 'proj')).toEqual(['proj/worker-2', 'proj/worker-10']);
    expect(names('worker-*', 'lab')).toEqual(['lab/worker-1']);
    expect(names('may*', 'proj')).toEqual(['mayor']);
    expect(names('lab/worker-*', 'proj')).toEqual(['lab/worker-1']);
  });

  it('means what an agent of the own rig made, whatever its own name is', () => {
    const adhoc = record({ session_name: 'worker-adhoc-1', template: 'proj/worker' });
    const other = record({ session_name: 'worker-adhoc-2', template: 'lab/worker' });
    const ask = (rig: string) =>
      matchingSessions({ pattern: 'worker-*', rig, records: [near, adhoc, other], configured: [] });
    expect(ask('proj').map(({ target }) => target)).toEqual([near.id, adhoc.id]);
    expect(ask('lab').map(({ target }) => target)).toEqual([other.id]);
  });

  it('fits as the same pattern does as a regular expression', () => {
    const letters = fc.array(fc.constantFrom('a', 'b', '-'), { maxLength: 8 }).map((all) => all.join(''));
    const patterns = fc
      .array(fc.constantFrom('a', 'b', '-', '*', '?'), { minLength: 1, maxLength: 7 })
      .map((all) => all.join(''));
    fc.assert(
      fc.property(letters, patterns, (name, pattern) => {
        const source = pattern.replaceAll('*', '.*').replaceAll('?', '.');
        const fits = matchingSessions({
          pattern,
          rig: '',
          records: [],
          configured: [{ identity: name, sessionName: name }],
        });
        expect(fits.length === 1).toBe(new RegExp(`^${source}$`).test(name));
      }),
      { numRuns: 500 },
    );
  });
});
