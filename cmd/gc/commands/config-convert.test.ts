import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runIn } from '../testing/fake-city.ts';

let root = '';
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'gc-convert-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const gc = (argv: readonly string[]) =>
  runIn(['config', ...argv], {
    cwd: root,
    env: { HOME: join(root, '.home'), GC_HOME: join(root, '.home/.gc'), GC_BEADS: 'file' },
  });

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}

const CITY = `# the city
include = ["more.toml"] # fragments

[workspace]
name = "c" # name
start_command = "sh"

# the boss
[[agent]]
name = "mayor"
`;

describe('gc config convert', () => {
  it('prints, and changes nothing', async () => {
    write({ 'city.toml': CITY.replace(/include.*\n\n/, '') });
    const ran = await gc(['convert']);
    expect(ran).toEqual({
      code: 0,
      out: '# the city\nworkspace:\n  name: c # name\n  start_command: sh\n\nagent:\n  # the boss\n  - name: mayor\n',
      err: '',
    });
    expect(readdirSync(root)).toEqual(['city.toml']);
    expect((await gc(['convert', '--to', 'toml'])).out).toBe('city.toml: toml already\n');
  });

  it('replaces the city file and what belongs to it', async () => {
    write({
      'city.toml': CITY,
      'more.toml': '[[agent]]\nname = "second" # two\n',
      'agents/third/agent.toml': '# mine\nsuspended = true\n',
      'agents/third/prompt.md': 'hi',
    });
    chmodSync(join(root, 'city.toml'), 0o600);
    const shown = (await gc(['show'])).out;
    const ran = await gc(['convert', '--write', '--all']);
    expect([ran.err, ran.code]).toEqual(['', 0]);
    expect(ran.out.split('\n').sort().slice(1)).toEqual([
      'agents/third/agent.toml -> agents/third/agent.yaml',
      'city.toml -> city.yaml',
      'more.toml -> more.yaml',
    ]);
    expect(readFileSync(join(root, 'city.yaml'), 'utf8')).toContain('include: [more.yaml] # fragments\n');
    expect(statSync(join(root, 'city.yaml')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(root, 'agents/third/agent.yaml'), 'utf8')).toBe('# mine\nsuspended: true\n');
    expect(['city.toml', 'more.toml'].filter((name) => existsSync(join(root, name)))).toEqual([]);
    expect((await gc(['show'])).out).toBe(shown);
    await gc(['convert', '--write', '--all']);
    expect((await gc(['show'])).out).toBe(shown);
    expect(existsSync(join(root, 'city.toml'))).toBe(true);
  });

  it('refuses what cannot be said, with its place', async () => {
    write({
      'city.yaml': 'workspace:\n  name: c\nagents:\n  - name: a\n    start_command: sh\n    nudge:\n',
    });
    const before = readFileSync(join(root, 'city.yaml'), 'utf8');
    const ran = await gc(['convert', '--write']);
    expect(ran.code).toBe(1);
    expect(ran.err).toMatch(/city\.yaml:6:\d+/);
    expect(readFileSync(join(root, 'city.yaml'), 'utf8')).toBe(before);
    expect(existsSync(join(root, 'city.toml'))).toBe(false);
  });

  it('puts everything back when YAML is stricter than TOML was', async () => {
    const text = `${CITY.replace(/include.*\n\n/, '')}no_such_key = 1\n`;
    write({ 'city.toml': text });
    const ran = await gc(['convert', '--write']);
    expect(ran.code).toBe(1);
    expect(ran.err).toContain('remove unknown keys first');
    expect(readFileSync(join(root, 'city.toml'), 'utf8')).toBe(text);
    expect(existsSync(join(root, 'city.yaml'))).toBe(false);
  });
});
