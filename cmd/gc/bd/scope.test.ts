import { describe, expect, it } from 'vitest';
import { chooseScope, type Prefixes, type ScopeChoice } from './scope.ts';

const PREFIXES: Prefixes = {
  city: 'mt',
  rigs: [
    { name: 'frontend', path: '/work/fe', prefix: 'fe' },
    { name: 'widgets', path: '/work/fe/widgets', prefix: 'wi' },
  ],
};

const scope = (choice: Partial<ScopeChoice>) =>
  chooseScope(PREFIXES, { rigOption: undefined, allRigs: false, envRig: undefined, cwd: '/town', ...choice });

describe('whose work is meant', () => {
  it('is the rig that is named, then that of the session, then that of the folder', () => {
    expect(scope({ rigOption: 'widgets', envRig: 'frontend' }).prefix).toBe('wi');
    expect(scope({ envRig: 'frontend', cwd: '/work/fe/widgets' }).filter).toEqual({ idPrefix: 'fe' });
    expect(scope({ envRig: '', cwd: '/work/fe/src' }).prefix).toBe('fe');
    expect(scope({ cwd: '/work/fe/widgets/a' }).prefix).toBe('wi');
  });

  it('is the city elsewhere: all that belongs to no rig', () => {
    const city = { prefix: 'mt', filter: { notIdPrefixes: ['fe', 'wi'] } };
    expect(scope({})).toEqual(city);
    expect(scope({ cwd: '/work/feeds' })).toEqual(city);
    expect(scope({ rigOption: '', envRig: 'frontend' })).toEqual(city);
  });

  it('is everything on request; new work still has an owner', () => {
    expect(scope({ allRigs: true, envRig: 'frontend' })).toEqual({ prefix: 'fe', filter: {} });
  });

  it('is an error for a rig that is not there', () => {
    expect(() => scope({ rigOption: 'x' })).toThrow(
      'there is no rig "x" of this city (its rigs: frontend, widgets)',
    );
    expect(() => scope({ envRig: 'x' })).toThrow('GC_RIG names no rig "x" of this city');
  });
});
