import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Ran, runIn } from '../testing/fake-city.ts';

let base: string;
let root: string;

const SHOW = `#!/bin/sh
{ printf '%s\\n' "$PWD" "$GC_CITY" "$GC_CITY_PATH" "$GC_CITY_RUNTIME_DIR" "$GC_CITY_NAME" "$GC_PACK_DIR" "$GC_PACK_NAME"
  printf '%s\\n' "$GC_PACK_STATE_DIR"; test -d "$GC_PACK_STATE_DIR" && echo there
  for word in "$@"; do printf '<%s>\\n' "$word"; done; } > "$OUT"
exit 7
`;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'gc-pack-command-')));
  root = join(base, 'city');
  put('city.toml', '[workspace]\nname = "bright"\n[imports.db]\nsource = "./packs/database"\n');
  put('packs/database/pack.toml', '[pack]\nname = "database"\nschema = 2\n');
  script('packs/database/commands/show/run.sh', SHOW);
  put('packs/database/commands/show/command.toml', 'description = "Show things"\n');
  put('packs/database/commands/show/help.md', '# Showing\n\nIt shows.\n');
  script('packs/database/commands/import/app/run.sh', SHOW);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function script(path: string, text: string, mode = 0o755): void {
  put(path, text);
  chmodSync(join(root, path), mode);
}

const env = () => ({
  PATH: process.env['PATH'],
  HOME: base,
  GC_HOME: join(base, 'gc'),
  OUT: join(base, 'out'),
});
const gc = (...argv: string[]): Promise<Ran> => runIn(argv, { env: env(), cwd: root });
async function shown(): Promise<string[]> {
  const { readFile } = await import('node:fs/promises');
  return (await readFile(join(base, 'out'), 'utf8')).trimEnd().split('\n');
}

describe('gc <binding> <words>', () => {
  it('runs the script where we are, with its words untouched and the city in its environment', async () => {
    const inner = join(root, 'packs');
    const argv = ['db', 'show', '--json', '--city', 'x', '--help', '- two words', ''];
    const ran = await runIn(argv, { env: env(), cwd: inner });
    expect(ran).toEqual({ code: 7, out: '', err: '' });
    const state = join(root, '.gc/runtime/packs/database');
    const pack = join(root, 'packs/database');
    const runtime = join(root, '.gc/runtime');
    expect(await shown()).toEqual([
      ...[inner, root, root, runtime, 'bright', pack, 'database', state, 'there'],
      ...['<--json>', '<--city>', '<x>', '<--help>', '<- two words>', '<>'],
    ]);
  });

  it('takes the longest command, and --city before the word', async () => {
    const ran = await runIn(['--city', root, 'db', 'import', 'app', 'y'], { env: env(), cwd: base });
    expect(ran.code).toBe(7);
    expect((await shown()).at(-1)).toBe('<y>');
  });

  it('expands a run line that is a template', async () => {
    script('tools/other.sh', '#!/bin/sh\nexit 9\n');
    put('packs/database/commands/other/command.toml', 'run = "{{.CityRoot}}/tools/other.sh"\n');
    expect((await gc('db', 'other')).code).toBe(9);
    put('packs/database/commands/other/command.toml', 'run = "{{.ConfigDir}}/../../{{.CityNme}}"\n');
    expect((await gc('db', 'other')).err).toContain('did you mean "CityName"?');
  });

  it('answers 128 + the signal that ended the script', async () => {
    script('packs/database/commands/show/run.sh', '#!/bin/sh\nkill -KILL $$\n');
    expect((await gc('db', 'show')).code).toBe(137);
  });

  it('says what to do when the script cannot be run', async () => {
    chmodSync(join(root, 'packs/database/commands/show/run.sh'), 0o644);
    const ran = await gc('db', 'show');
    expect(ran).toMatchObject({ code: 1, out: '' });
    expect(ran.err).toContain('gc db: ');
    expect(ran.err).toContain(`next: chmod +x ${root}/packs/database/commands/show/run.sh`);
    script('packs/database/commands/show/run.sh', '#!/no/such/shell\n');
    expect((await gc('db', 'show')).err).toContain('its first line must name a program that is there');
  });

  it.each([[['db']], [['db', '--help']], [['db', 'help']], [['help', 'db']]])('%s lists', async (argv) => {
    const ran = await gc(...argv);
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect(ran.out).toContain('Usage: gc db <command> [arguments]');
    expect(ran.out).toMatch(/ {2}show +Show things\n {2}import app\n/);
  });

  it('explains one, and lists below a word', async () => {
    for (const argv of [
      ['db', 'help', 'show'],
      ['help', 'db', 'show'],
    ]) {
      expect((await gc(...argv)).out).toMatch(
        /^Usage: gc db show \[arguments\]\n\nShow things\n\n# Showing\n/,
      );
    }
    expect((await gc('db', 'import')).out).toContain('Usage: gc db import <command> [arguments]');
    expect((await gc('help')).out).toContain('Packs of this city:\n  db ...  import, show\n');
  });

  it.each([
    [['db', 'shwo'], 'gc db: unknown subcommand "shwo"; did you mean "show"?\n  next: gc db\n'],
    [['db', 'import', 'zzz'], 'gc db: unknown subcommand "zzz"\n  next: gc db import\n'],
    [['nosuch'], 'gc: unknown command "nosuch"\n  next: gc help\n'],
    [['bd2'], 'gc: unknown command "bd2"; did you mean "bd"?\n  next: gc help\n'],
  ])('%s is unknown', async (argv, err) => {
    expect(await gc(...argv)).toEqual({ code: 1, out: '', err });
  });

  it('leaves core commands to the program, and says when the city cannot be read', async () => {
    put('city.toml', '[workspace]\nname = "bright"\n[imports.help]\nsource = "./packs/database"\n');
    expect((await gc('help')).out).toContain('Usage: gc ');
    put('city.toml', 'oops');
    const ran = await gc('db', 'show');
    expect(ran.err).toContain(
      'gc: unknown command "db"; did you mean "bd"?\n  next: gc config show --validate',
    );
    const outside = await runIn(['db', 'show'], { env: env(), cwd: base });
    expect(outside).toEqual({
      code: 1,
      out: '',
      err: 'gc: unknown command "db"; did you mean "bd"?\n  next: gc help\n',
    });
    const wrong = await runIn(['--city', '/no/such', 'db'], { env: env(), cwd: base });
    expect(wrong.err).toContain('not in a city directory: no folder /no/such');
    expect(existsSync(join(base, 'out'))).toBe(false);
  });

  it('completes', async () => {
    expect((await gc('__complete', '--', 'd')).out).toContain('db\t');
    expect((await gc('__complete', '--', 'db', '')).out).toBe('show\tShow things\nimport\t\n');
    expect((await gc('__complete', '--', 'db', 'import', 'a')).out).toBe('app\t\n');
  });
});

it('gives the script our stdin and stdout, and passes a signal on', async () => {
  script(
    'packs/database/commands/show/run.sh',
    '#!/bin/sh\ntrap "exit 5" TERM\ncat; echo ready\nwhile :; do sleep 0.1; done\n',
  );
  const main = join(import.meta.dirname, '..', 'main.ts');
  const argv = ['--import', import.meta.resolve('tsx'), main, 'db', 'show'];
  const child = spawn(process.execPath, argv, { cwd: root, env: env(), stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    child.stdin.end('typed\n');
    let text = '';
    for await (const chunk of child.stdout) {
      text += String(chunk);
      if (text.includes('ready')) break;
    }
    expect(text).toBe('typed\nready\n');
    child.kill('SIGTERM');
    const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode];
    expect(code).toBe(5);
  } finally {
    child.kill('SIGKILL');
  }
});
