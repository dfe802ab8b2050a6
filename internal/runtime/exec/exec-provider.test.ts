import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { StartFailedError } from '../errors.ts';
import type { ContentBlock, StartOptions } from '../provider.ts';
import { EMPTY_RUNTIME_CONFIG, type RuntimeConfig } from '../runtime-config.ts';
import { startJson } from './start-json.ts';
import { FILE_BACKED, scriptBench } from './testing/script-bench.ts';

const bench = scriptBench();
afterAll(() => bench.close());

const text = (value: string): readonly ContentBlock[] => [{ type: 'text', text: value }];
const options = (): StartOptions => ({ signal: AbortSignal.timeout(20_000) });
const config = (over: Partial<RuntimeConfig> = {}): RuntimeConfig => ({
  ...EMPTY_RUNTIME_CONFIG,
  command: 'agent',
  ...over,
});
const errorOf = async (work: Promise<unknown>) =>
  work.then(
    () => new Error('it succeeded'),
    (error: unknown) => error as Error & { code?: string; lastLines?: string },
  );
const published = bench.script(FILE_BACKED);
const inFile = (name: string) => readFileSync(join(bench.dir, name), 'utf8');
const callsFor = (name: string) => bench.calls().filter((call) => call.split(' ')[1] === name);

describe('the JSON of start', () => {
  it('is empty for an empty config', () => {
    expect(startJson(EMPTY_RUNTIME_CONFIG)).toBe('{}');
  });

  it('has its keys in the published order, variables sorted, and nothing that the protocol does not name', () => {
    const full = startJson({
      ...EMPTY_RUNTIME_CONFIG,
      copyFiles: [
        { src: '/a', relDst: '', probed: false, contentHash: 'x' },
        { src: '/b', relDst: 'c', probed: true, contentHash: '' },
      ],
      overlayDir: '/o',
      packOverlayDirs: ['/p'],
      sessionLive: ['l'],
      sessionSetupScript: '/s',
      sessionSetup: ['u'],
      preStart: ['p'],
      readyDelayMs: 5,
      readyPromptPrefix: '> ',
      nudge: 'n',
      processNames: ['x'],
      env: { B: '2', A: '1' },
      command: 'c',
      workDir: '/w',
      emitsPermissionWarning: true,
      fingerprintExtra: { f: 'f' },
      providerName: 'claude',
      promptSuffix: "'p'",
    });
    expect(full).toBe(
      '{"work_dir":"/w","command":"c","env":{"A":"1","B":"2"},"process_names":["x"],"nudge":"n",' +
        '"ready_prompt_prefix":"> ","ready_delay_ms":5,"pre_start":["p"],"session_setup":["u"],' +
        '"session_setup_script":"/s","session_live":["l"],"pack_overlay_dirs":["/p"],"overlay_dir":"/o",' +
        '"copy_files":[{"src":"/a"},{"src":"/b","rel_dst":"c"}]}',
    );
  });
});

describe.concurrent('a script of the published protocol', () => {
  const provider = bench.provider(published);

  it('is asked in the published words', async () => {
    const name = 'words';
    await provider.start(name, config(), options());
    expect(await provider.isRunning(name)).toBe('yes');
    expect(await provider.processAlive(name, ['x', 'agent'])).toBe('yes');
    expect(await provider.processAlive(name, ['x'])).toBe('no');
    expect(await provider.getLastActivity(name)).toBe(Date.parse('2026-01-02T03:04:05Z'));
    expect((await provider.nudge(name, text('a\nb'))).kind).toBe('delivered');
    expect(inFile('words.nudges')).toBe('a\nb');
    expect((await provider.nudge(name, text(''))).kind).toBe('empty');
    await provider.setMeta(name, 'k', 'two\nlines\n');
    expect(await provider.getMeta(name, 'k')).toBe('two\nlines\n');
    await provider.sendKeys(name, ['Down', 'Enter']);
    expect(callsFor(name)).toContain('send-keys words Down Enter');
    await provider.stop(name);
    expect(await provider.isRunning(name)).toBe('no');
    expect((await provider.nudge(name, text('late'))).kind).toBe('no-session');
  });

  it('tells a name that is taken, whatever the case of its words', async () => {
    writeFileSync(join(bench.dir, 'taken.running'), '');
    const blind = bench.script(`[ "$1" != is-running ] || exit 2\n${FILE_BACKED}`);
    expect(await errorOf(provider.start('taken', config(), options()))).toMatchObject({
      code: 'session-exists',
    });
    const error = await errorOf(bench.provider(blind).start('taken', config(), options()));
    expect(error).toMatchObject({ code: 'session-exists' });
    expect(existsSync(join(bench.dir, 'taken.running'))).toBe(true);
  });

  it('gives the prompt to the agent behind its command', async () => {
    await provider.start('prompted', config({ promptFlag: '-p', promptSuffix: "'hello you'" }), options());
    expect(JSON.parse(inFile('prompted.json'))).toMatchObject({ command: "agent -p 'hello you'" });
  });

  it('puts a long command line into a file of the work dir, and what no argument holds before the nudge', async () => {
    const workDir = bench.dir;
    const long = `'${'x'.repeat(20_000)}'`;
    await provider.start('long', config({ workDir, promptSuffix: long }), options());
    const { command } = JSON.parse(inFile('long.json')) as { command: string };
    const file = /^\/bin\/sh \.\/(\S+)$/.exec(command)?.[1] ?? '';
    expect(readFileSync(join(workDir, file), 'utf8')).toBe(`rm -f -- '${file}'\nexec agent ${long}\n`);
    const huge = 'y'.repeat(200_000);
    await provider.start('huge', config({ promptSuffix: `'${huge}'`, nudge: 'go' }), options());
    expect(JSON.parse(inFile('huge.json'))).toMatchObject({
      command: 'agent',
      nudge: `${huge}\n\n---\n\ngo`,
    });
  });

  it('keeps what identifies the session as metadata, and stops no other incarnation', async () => {
    const env = { GC_SESSION_ID: 'gc-1', GC_INSTANCE_TOKEN: 'second' };
    await provider.start('owned', config({ env }), options());
    expect(await provider.getMeta('owned', 'GC_SESSION_ID')).toBe('gc-1');
    await provider.stop('owned', { instanceToken: 'first' });
    expect(await provider.isRunning('owned')).toBe('yes');
    await provider.stop('owned', { instanceToken: 'second' });
    expect(await provider.isRunning('owned')).toBe('no');
  });

  it('has its live commands run here, after the start and again', async () => {
    const live = config({ sessionLive: [`echo "$GC_SESSION" >>'${bench.dir}/live'`, 'exit 4'] });
    const result = await provider.start('lively', live, options());
    expect(result.warnings).toEqual(['session_live[1] warning: exit 4']);
    await provider.runLive('lively', live);
    expect(inFile('live')).toBe('lively\nlively\n');
  });

  it('is told nothing when the announcement of a message fails', async () => {
    await provider.start('unsaid', config(), options());
    const outcome = await provider.nudge('unsaid', text('x'), {
      beforeTyping: () => Promise.reject(new Error('store is full')),
    });
    expect(outcome).toEqual({ kind: 'failed', detail: 'store is full' });
    expect(existsSync(join(bench.dir, 'unsaid.nudges'))).toBe(false);
  });
});

describe.concurrent('EXE-01 a script that answers 2 to all but start, stop and is-running', () => {
  const lifecycle = bench.script(`case $1 in start|stop|is-running) ;; *) exit 2 ;; esac\n${FILE_BACKED}`);
  const provider = bench.provider(lifecycle, { dir: join(bench.dir, 'bare') });

  it('starts and stops at once, without looking for questions on a screen that it has not', async () => {
    const started = performance.now();
    const asked = config({ emitsPermissionWarning: true, processNames: ['x'], readyPromptPrefix: '> ' });
    expect(await provider.start('bare', asked, options())).toMatchObject({ kind: 'ready', answered: [] });
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  it('shows what it cannot do where that matters', async () => {
    await provider.start('shown', config(), options());
    expect(await provider.nudge('shown', text('hi'))).toMatchObject({
      kind: 'failed',
      detail: expect.stringContaining('does not support "nudge"'),
    });
    expect(await errorOf(provider.peek('shown', 5))).toMatchObject({ code: 'script-unsupported' });
    expect(await errorOf(provider.sendKeys('shown', ['Enter']))).toMatchObject({
      code: 'script-unsupported',
    });
    expect(await errorOf(provider.listRunning(''))).toMatchObject({ code: 'runtime-unavailable' });
  });

  it('passes over what is optional', async () => {
    await provider.start('optional', config(), options());
    await provider.clearScrollback('optional');
    await provider.copyTo('optional', '/nonexistent', 'x');
    expect(await provider.getMeta('optional', 'k')).toBe('');
    expect(await provider.getLastActivity('optional')).toBeUndefined();
    expect(await provider.isAttached('optional')).toBe('unknown');
    expect(await provider.processAlive('optional', ['x'])).toBe('unknown');
  });

  it('has its sessions known by the book of those that were started, in another process too', async () => {
    await provider.start('booked', config(), options());
    const other = bench.provider(lifecycle, { dir: join(bench.dir, 'bare') });
    const survey = await other.observe();
    expect(survey.kind === 'seen' && survey.sessions.get('booked')?.liveness.kind).toBe('running');
    await other.stop('booked');
    const after = await provider.observe();
    expect(after.kind === 'seen' && after.sessions.has('booked')).toBe(false);
  });

  it('never takes 2 from start or stop for success', async () => {
    const nothing = bench.provider(bench.script('exit 2'));
    const refused = await errorOf(nothing.start('none', config(), options()));
    expect(refused).toBeInstanceOf(StartFailedError);
    expect(refused).toMatchObject({ message: expect.stringContaining('does not support "start"') });
    expect(await errorOf(nothing.stop('none'))).toMatchObject({ code: 'script-unsupported' });
  });
});

describe.concurrent('a script in trouble', () => {
  it('never makes a session read as dead', async () => {
    const failing = bench.provider(bench.script('echo no database >&2; exit 7'));
    expect(await failing.isRunning('a')).toBe('unknown');
    expect(await failing.processAlive('a', ['x'])).toBe('unknown');
    expect(await failing.observe()).toMatchObject({
      kind: 'unknown',
      reason: expect.stringContaining('no database'),
    });
    expect(await errorOf(failing.listRunning(''))).toMatchObject({ code: 'runtime-unavailable' });
  });

  it('is known by the first question that it does not answer', async () => {
    const killed = bench.provider(bench.script('kill -9 $$'));
    expect(await killed.observe()).toMatchObject({
      kind: 'unknown',
      reason: expect.stringMatching(/^exec provider \S+ features: ended by SIGKILL/),
    });
    expect(await errorOf(killed.start('k', config(), options()))).toMatchObject({
      message: expect.stringContaining('ended by SIGKILL'),
    });
  });

  it('EXE-06 has a failed start keep its reason and its last lines', async () => {
    const failing = bench.script(
      `[ "$1" != start ] || { echo 'pre_start[0]: exit 3' >&2; exit 1; }\n${FILE_BACKED}`,
    );
    const error = await errorOf(bench.provider(failing).start('reason', config(), options()));
    expect(error).toMatchObject({ code: 'script-failed', lastLines: 'pre_start[0]: exit 3' });
    expect(error.message).toContain(`exec provider ${failing.shown} start reason: pre_start[0]: exit 3`);
  });

  it('leaves nothing of a start that was cut off', async () => {
    const slow = bench.script(`[ "$1" != start ] || { : >"$d/$2.running"; sleep 30; }\n${FILE_BACKED}`);
    const provider = bench.provider(slow);
    const cancel = new AbortController();
    const failed = errorOf(provider.start('cut', config(), { signal: cancel.signal }));
    while (!existsSync(join(bench.dir, 'cut.running')))
      await new Promise((resolve) => setTimeout(resolve, 5));
    cancel.abort(new Error('cancelled by the test'));
    expect((await failed).message).toBe('cancelled by the test');
    expect(await provider.isRunning('cut')).toBe('no');
  });

  it('has a question that it cannot answer told to a person', async () => {
    const asking = bench.script(
      `[ "$1" != send-keys ] || exit 2
[ "$1" != peek ] || { printf '%s\\n' 'Do you trust the files in this folder?' '> 1. Yes' '  2. No'; exit 0; }
${FILE_BACKED}`,
    );
    const result = await bench
      .provider(asking)
      .start('asked', config({ emitsPermissionWarning: true }), options());
    expect(result).toMatchObject({
      kind: 'waits-for-person',
      screen: expect.stringContaining('Do you trust'),
    });
  });

  it('has a known question answered through its keys', async () => {
    const asking = bench.script(
      `[ "$1" != send-keys ] || { : >"$d/$2.answered"; exit 0; }
[ "$1" != peek ] || { [ -e "$d/$2.answered" ] || printf '%s\\n' 'Do you trust the files in this folder?' '> 1. Yes' '  2. No'; exit 0; }
${FILE_BACKED}`,
    );
    const result = await bench
      .provider(asking)
      .start('answered', config({ emitsPermissionWarning: true }), options());
    expect(result).toMatchObject({ kind: 'ready', answered: ['folder trust'] });
  });
});

describe('a name that is none', () => {
  it.each(['', '.', '..', '../x', 'a/b', 'a b', '-rf'.repeat(80)])(
    '%j never reaches the script',
    async (name) => {
      const alone = scriptBench();
      try {
        const provider = alone.provider(alone.script(FILE_BACKED));
        await provider.listRunning(''); // whatever is asked once of a new script is asked before
        const before = alone.calls().length;
        await provider.stop(name);
        await provider.interrupt(name);
        await provider.sendKeys(name, ['Enter']);
        await provider.clearScrollback(name);
        await provider.removeMeta(name, 'k');
        expect(await provider.isRunning(name)).toBe('no');
        expect(await provider.processAlive(name, ['x'])).toBe('no');
        expect(await provider.getMeta(name, 'k')).toBe('');
        expect((await provider.nudge(name, text('hello'))).kind).toBe('no-session');
        const start = errorOf(provider.start(name, config(), options()));
        expect(await start).toMatchObject({ code: 'invalid-session-name' });
        expect(await errorOf(provider.peek(name, 5))).toMatchObject({ code: 'session-not-found' });
        const set = errorOf(provider.setMeta(name, 'k', 'v'));
        expect(await set).toMatchObject({ code: 'session-not-found' });
        expect(
          alone
            .calls()
            .slice(before)
            .filter((call) => !call.startsWith('features')),
        ).toEqual([]);
      } finally {
        alone.close();
      }
    },
  );
});

describe.concurrent('looking at all sessions', () => {
  it('is one run of a script that says it can', async () => {
    const seen = [
      '{"name":"o1","state":"running","pid":7,"attached":1,"last_activity":"2026-01-02T03:04:05Z","process_names":["claude"],"meta":{"GC_SESSION_ID":"gc-1"},"later":true}',
      '{"name":"o2","state":"exited","exit_code":9,"last_lines":"why"}',
      '{"name":"o3","state":"moving","note":"ImagePullBackOff"}',
    ];
    const script = bench.script(
      `case $1 in features) echo observe; echo later-word ;; observe) cat <<'E'\n${seen.join('\n')}\nE\n;; *) exit 2 ;; esac`,
    );
    const provider = bench.provider(script);
    const survey = await provider.observe();
    expect(survey.kind === 'seen' && [...survey.sessions.values()]).toEqual([
      {
        name: 'o1',
        liveness: { kind: 'running', pid: 7 },
        attached: 1,
        lastActivity: Date.parse('2026-01-02T03:04:05Z'),
        processNames: ['claude'],
        meta: { GC_SESSION_ID: 'gc-1' },
      },
      expect.objectContaining({ liveness: { kind: 'exited', exit: { code: 9 }, lastLines: 'why' } }),
      expect.objectContaining({
        liveness: { kind: 'unknown', reason: 'the script says "moving"' },
        note: 'ImagePullBackOff',
      }),
    ]);
    expect(await provider.isAttached('o1')).toBe('yes');
    expect(await provider.isRunning('o2')).toBe('no');
    expect(await provider.isRunning('o3')).toBe('unknown');
    expect(provider.capabilities()).toEqual({ canReportAttachment: true, canReportActivity: true });
  });

  it('asks again after a 2 from one that says it can: that was trouble, not ignorance', async () => {
    const script = bench.script(
      `case $1 in
       features) echo observe ;;
       observe) if [ ! -e "$d/asked" ]; then : >"$d/asked"; exit 2; fi ;;
       *) exit 2 ;;
       esac`,
    );
    const provider = bench.provider(script);
    expect(await provider.observe()).toMatchObject({ kind: 'unknown' });
    expect(await provider.observe()).toEqual({ kind: 'seen', sessions: new Map() });
  });

  it('takes half an answer for none', async () => {
    const script = bench.script(
      `case $1 in features) echo observe ;; observe) echo '{"name":"a","state":"running"}'; printf '{"name":"b","sta' ;; *) exit 2 ;; esac`,
    );
    expect(await bench.provider(script).observe()).toEqual({
      kind: 'unknown',
      reason: `exec provider ${script.shown}: line 2 of the answer to "observe": it is not JSON`,
    });
  });

  it('does not believe a script that answers anything to everything', async () => {
    const agreeable = bench.script(
      'case $1 in is-running) echo true ;; list-running) echo loyal ;; esac; exit 0',
    );
    const survey = await bench.provider(agreeable).observe();
    expect(survey.kind === 'seen' && survey.sessions.get('loyal')?.liveness.kind).toBe('running');
  });
});
