import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runIn } from '../testing/fake-city.ts';

/** Sessions are files: nothing runs, as in a script that only tells others what to do. */
const SCRIPT = `#!/bin/sh
dir="$GC_EXEC_STATE_DIR/sessions"; mkdir -p "$dir"; file="$dir/$2"
case $1 in
start) cat >/dev/null; [ ! -e "$file" ] || { echo "session $2 already exists" >&2; exit 1; }; : >"$file" ;;
stop) rm -f "$file" "$file".* ;;
is-running) [ -e "$file" ] && echo true || echo false ;;
list-running) cd "$dir" && for f in "$2"*; do [ ! -e "$f" ] || echo "$f"; done | grep -v '\\.' || : ;;
set-meta) cat >"$file.$3" ;;
get-meta) cat "$file.$3" 2>/dev/null || : ;;
remove-meta) rm -f "$file.$3" ;;
*) exit 2 ;;
esac
`;

describe.concurrent('gc conformance provider', () => {
  let folder: string;
  const run = (...args: readonly string[]) =>
    runIn(['conformance', 'provider', ...args], {
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: folder },
    });
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'gc-conf-cmd-'));
    writeFileSync(join(folder, 'script'), SCRIPT);
    chmodSync(join(folder, 'script'), 0o755);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('is a line per case with its time, the groups, and the numbers', async () => {
    const { out, code } = await run('fake', '--only', 'start_');
    expect(code).toBe(0);
    expect(out).toMatch(
      /^fake {3}\d+ cases, in \S+\n\nstart, stop, list\n {2}✓ Start_CreatesRunningSession {2,}\d+ms\n/,
    );
    expect(out).toContain(
      '  - Start_DeathAtOnceTellsWhy\n      not applicable: commands (a double for tests',
    );
    expect(out).toMatch(/\n\d+ passed, 0 failed, \d+ not applicable {3}\S+\n$/);
  });

  it('writes a JUnit report, to a file or instead of everything else', async () => {
    const { out } = await run('fake', '--only', 'observe', '--junit', '-');
    expect(out).toMatch(
      /^<\?xml .*\n<testsuites>\n<testsuite name="provider fake" tests="2" failures="0" skipped="1"/,
    );
    await run('fake', '--only', 'observe', '--junit', 'report.xml');
    expect(readFileSync(join(folder, 'report.xml'), 'utf8')).toContain('<testcase classname="provider fake"');
  });

  it('judges a script by what it knows, and says what it does not', async () => {
    const { out, err } = await run('exec:./script', '--only', 'meta', '--json');
    expect(err).toBe('');
    const { lacks, passed, failed } = JSON.parse(out);
    expect(lacks.messages).toBe('the script does not know "nudge" (exit 2)');
    expect(lacks.commands).toMatch(/^it does not run what it is given: /);
    expect([passed > 4, failed]).toEqual([true, 0]);
  });

  it('refuses before anything runs when something is required that is not offered', async () => {
    expect(await run('fake', '--requires', 'attach')).toMatchObject({
      code: 1,
      out: '',
      err: 'gc conformance provider: fake does not offer attach (a double for tests: no program runs)\n',
    });
    expect((await run('fake', '--requires', 'attch')).err).toContain('did you mean "attach"?');
  });

  const variant = (name: string, change: (script: string) => string) => {
    writeFileSync(join(folder, name), change(SCRIPT));
    chmodSync(join(folder, name), 0o755);
  };

  it('leaves sessions of others alone that a script shows', async () => {
    mkdirSync(join(folder, 'shared/sessions'), { recursive: true });
    writeFileSync(join(folder, 'shared/sessions/mayor'), '');
    variant('of-everybody', (script) => script.replace('$GC_EXEC_STATE_DIR', join(folder, 'shared')));
    const { code } = await run('exec:./of-everybody', '--only', 'Start_CreatesRunningSession');
    expect(code).toBe(0);
    expect(readdirSync(join(folder, 'shared/sessions'))).toEqual(['mayor']);
  });

  it('fails a script that cannot do what nothing goes without, and names what failed at the end', async () => {
    variant('startless', (script) => script.replace('start)', 'begin)'));
    const { code, out } = await run('exec:./startless', '--only', 'Start_CreatesRunningSession');
    expect(code).toBe(1);
    expect(out).toContain(
      'failed: Start_CreatesRunningSession\n  next: gc conformance provider exec:./startless --only Start_Creates',
    );
  });

  it('tells a file that cannot be run once, and not by every case', async () => {
    variant('no-interpreter', (script) => script.replace('#!/bin/sh', '#!/no/such/program'));
    const { out, err } = await run('exec:./no-interpreter');
    expect([out, err]).toEqual([
      '',
      expect.stringContaining('the program in its first line (#!) does not exist'),
    ]);
  });

  it('says that sessions may be left when it cannot look, and leaves no folder', async () => {
    variant('listless', (script) => script.replace('list-running)', 'list-running) echo off >&2; exit 1;'));
    const { code, out, err } = await run('exec:./listless', '--only', 'IsRunning_Unknown');
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/sessions of the suite .* may still run: .*: off/),
    ]);
    const scratch = /in (\S+)/.exec(out)?.[1] ?? '';
    expect([scratch, existsSync(scratch)]).toEqual([expect.stringContaining('gc-conformance-'), false]);
  });

  it('refuses before anything runs what it cannot do at the end', async () => {
    for (const [words, said] of [
      [['--junit', 'none/report.xml'], 'no file can be written in'],
      [['--junit', '.'], 'that is a folder'],
      [['--at-once', '0'], 'at least 1'],
    ] as const)
      expect(await run('fake', ...words)).toMatchObject({
        code: 1,
        out: '',
        err: expect.stringContaining(said),
      });
  });

  it('ends what it started after Ctrl-C', async () => {
    const interrupt = new AbortController();
    variant('slow', (script) =>
      script
        .replace('#!/bin/sh', `#!/bin/sh\n[ $1 != start ] || { : >"${folder}/began"; sleep 1.5; }`)
        .replace('$GC_EXEC_STATE_DIR', join(folder, 'own')),
    );
    const running = runIn(['conformance', 'provider', 'exec:./slow', '--only', 'Start_Creates'], {
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: folder },
      signal: interrupt.signal,
    });
    await expect.poll(() => existsSync(join(folder, 'began')), { timeout: 10_000 }).toBe(true);
    interrupt.abort(new Error('SIGINT'));
    expect(await running).toMatchObject({ code: 130 });
    expect(readdirSync(join(folder, 'own/sessions'))).toEqual([]);
  });

  it('says in one message what is missing', async () => {
    expect((await run('exec:./none')).err).toContain(
      `gc conformance provider: session script ${join(folder, 'none')} does not exist\n`,
    );
    expect((await run('k8s')).err).toContain('GC_K8S_IMAGE is not set');
  });
});
