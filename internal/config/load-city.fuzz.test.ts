import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { problemReport } from './document/format-problems.ts';
import { loadCity } from './load-city.ts';
import { scratch } from './testing/scratch-city.ts';

const YAML = `workspace: {name: x, session_template: "{{.City}}-{{.Agent}}"}
daemon: {patrol_interval: 10s}
providers: {p: {command: claude, args: [-x]}}
agents:
  - &a {name: a, provider: p, env: {K: "v"}}
  - name: b
    start_command: |
      sh -c 'x'
    depends_on: [a]
named_sessions: [{template: a, mode: always}]
`;
const TOML = `[workspace]
name = "x"
[daemon]
patrol_interval = "10s"
[providers.p]
command = "claude"
args = ["-x"]
[[agent]]
name = "a"
provider = "p"
env = { K = "v" }
[[agent]]
name = "b"
start_command = """
sh"""
depends_on = ["a"]
[[named_session]]
template = "a"
mode = "always"
`;

const scrap = fc.oneof(
  fc.constantFrom(
    '*a',
    '&a',
    '<<: ',
    '- ',
    '[',
    ']',
    '{',
    '}',
    '{{',
    '"',
    "'",
    '|',
    '\n',
    '\t',
    ': ',
    ' = ',
    '[[',
    '[x]\n',
    '~',
    'null',
    '1',
    'true',
    '__proto__',
    'name',
  ),
  fc.string({ maxLength: 3 }),
);
const edits = fc.array(fc.record({ at: fc.nat(), remove: fc.nat({ max: 6 }), insert: scrap }), {
  minLength: 1,
  maxLength: 4,
});

function edited(text: string, changes: readonly { at: number; remove: number; insert: string }[]): string {
  return changes.reduce((current, { at, remove, insert }) => {
    const place = at % (current.length + 1);
    return current.slice(0, place) + insert + current.slice(place + remove);
  }, text);
}

describe.each([
  ['city.yaml', YAML],
  ['city.toml', TOML],
])('a damaged %s', (name, text) => {
  it('is a city or a list of problems with places in the file, never an exception', async () => {
    const dir = scratch({});
    await fc.assert(
      fc.asyncProperty(edits, async (changes) => {
        const damaged = edited(text, changes);
        writeFileSync(join(dir, name), damaged);
        const result = await loadCity(dir, { env: {} });
        if (result.kind === 'ok') return;
        expect(result.problems.some((problem) => problem.severity === 'error')).toBe(true);
        const lines = damaged.split('\n').length;
        for (const { position, message } of result.problems) {
          expect(message).not.toBe('');
          expect(position?.line).toBeLessThanOrEqual(lines);
        }
        expect(problemReport(result.problems, { baseDir: dir, texts: result.texts })).toMatch(/error/);
      }),
      { numRuns: 400 },
    );
  });
});
