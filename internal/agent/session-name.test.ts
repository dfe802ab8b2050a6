import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { City } from '../config/city.ts';
import { identityOfSession, sessionNameFor } from './session-name.ts';

describe('session names', () => {
  it.each([
    ['mayor', 'mayor'],
    ['repo/polecat', 'repo--polecat'],
    ['wendy.wendy', 'wendy__wendy'],
    ['repo/wendy.wendy', 'repo--wendy__wendy'],
  ])('%s is %s', (identity, name) => {
    expect(sessionNameFor('city', '', identity)).toBe(name);
  });

  it('templates see city, encoded agent, dir and name', () => {
    expect(sessionNameFor('bright', '{{.City}}-{{.Agent}}', 'r/b.a')).toBe('bright-r--b__a');
    expect(sessionNameFor('bright', '{{if .Dir}}{{.Dir}}_{{end}}{{.Name}}', 'r/a')).toBe('r_a');
    expect(sessionNameFor('bright', '{{if .Dir}}{{.Dir}}_{{end}}{{.Name}}', 'a')).toBe('a');
    expect(() => sessionNameFor('bright', '{{.Nope}}', 'a')).toThrow('unknown variable ".Nope"');
  });

  const city = (sessionTemplate: string, names: readonly string[]) =>
    ({
      workspace: { name: 'c', sessionTemplate },
      agents: names.map((qualifiedName) => ({ qualifiedName })),
      namedSessions: [],
    }) as unknown as City;

  it('lead back to their identity, exactly for those of the city', () => {
    expect(identityOfSession(city('', ['r/a--b', 'x__y']), 'r--a--b')).toBe('r/a--b');
    expect(identityOfSession(city('', ['r/a--b', 'x__y']), 'x__y')).toBe('x__y');
    expect(identityOfSession(city('{{.City}}-{{.Agent}}', ['r/a']), 'c-r--a')).toBe('r/a');
    expect(identityOfSession(city('', []), 'r--b__a')).toBe('r/b.a');
  });

  it('are usable, and reversible for names without double marks', () => {
    const part = fc.stringMatching(/^[a-zA-Z0-9]([a-zA-Z0-9]|[-_][a-zA-Z0-9]){0,10}$/);
    const identity = fc.tuple(fc.option(part), fc.option(part), part).map(([dir, binding, name]) => {
      return `${dir === null ? '' : `${dir}/`}${binding === null ? '' : `${binding}.`}${name}`;
    });
    fc.assert(
      fc.property(identity, (written) => {
        const name = sessionNameFor('c', '', written);
        expect(name).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9_-]*$/);
        expect(identityOfSession(city('', []), name)).toBe(written);
      }),
    );
  });
});
