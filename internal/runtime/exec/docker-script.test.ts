import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findOnPath } from '../../platform/executable.ts';
import type { StartOptions } from '../provider.ts';
import { EMPTY_RUNTIME_CONFIG, type RuntimeConfig } from '../runtime-config.ts';
import type { ExecProvider } from './exec-provider.ts';
import { scriptBench } from './testing/script-bench.ts';

const SCRIPT = join(import.meta.dirname, '../../../session-scripts/gc-session-docker');
const hasTmux = findOnPath(process.env['PATH'] ?? '', 'tmux') !== undefined;
const bench = scriptBench();
// Sockets have short paths.
const stub = mkdtempSync(join(tmpdir(), 'gd-'));
const work = join(bench.dir, 'work');
const env = {
  PATH: `${join(bench.dir, 'bin')}:${process.env['PATH']}`,
  HOME: join(bench.dir, 'home'),
  STUB: stub,
  GC_EXEC_STATE_DIR: join(bench.dir, 'state'),
};
const options = (): StartOptions => ({ signal: AbortSignal.timeout(30_000) });
const config = (over: Partial<RuntimeConfig> = {}): RuntimeConfig => ({
  ...EMPTY_RUNTIME_CONFIG,
  workDir: work,
  command: "printf 'READY> '; cat",
  readyPromptPrefix: 'READY>',
  ...over,
  env: { PATH: process.env['PATH'] ?? '', ...over.env },
});
const errorOf = async (running: Promise<unknown>) =>
  running.then(
    () => new Error('it succeeded'),
    (error: unknown) => error as Error & { code?: string },
  );
const dockerLog = () => readFileSync(join(stub, 'log'), 'utf8');
let provider: ExecProvider;

beforeAll(() => {
  for (const folder of ['bin', 'work', 'home/.claude'])
    mkdirSync(join(bench.dir, folder), { recursive: true });
  cpSync(join(import.meta.dirname, 'testing/docker-stub.sh'), join(bench.dir, 'bin/docker'));
  provider = bench.provider({ shown: 'gc-session-docker', file: SCRIPT }, { env });
});

afterAll(async () => {
  for (const name of await provider.listRunning('')) await provider.stop(name, { graceMs: 100 });
  rmSync(stub, { recursive: true, force: true });
  bench.close();
});

describe.runIf(hasTmux)(`agents in containers${hasTmux ? '' : ' (skipped: tmux is not installed)'}`, () => {
  it('live, take messages and keys, and end', async () => {
    const name = 'whole';
    const secret = 'do-not-show';
    const started = await provider.start(
      name,
      config({
        env: { GC_SESSION_ID: 'gc-1', TOKEN: secret },
        sessionSetup: [`echo "$TOKEN" >>'${work}/setup'`],
      }),
      options(),
    );
    expect(started).toMatchObject({ kind: 'ready', warnings: [] });
    expect(readFileSync(join(work, 'setup'), 'utf8')).toBe(`${secret}\n`);
    const nudge = () => provider.nudge(name, [{ type: 'text', text: 'hello $HOME `x`' }]);
    // On a busy machine the screen may still be changing: nothing was typed then.
    let outcome = await nudge();
    while (outcome.kind === 'busy') outcome = await nudge();
    expect(outcome).toMatchObject({ kind: 'delivered' });
    expect(await provider.peek(name, 0)).toContain('hello $HOME `x`\nhello $HOME `x`');
    expect(await provider.getMeta(name, 'GC_SESSION_ID')).toBe('gc-1');
    const survey = await provider.observe();
    expect(survey.kind === 'seen' && survey.sessions.get(name)).toMatchObject({
      liveness: { kind: 'running' },
      attached: 0,
      processNames: expect.arrayContaining(['cat']),
      meta: { GC_SESSION_ID: 'gc-1' },
    });
    expect(await provider.processAlive(name, ['cat'])).toBe('yes');
    expect(await errorOf(provider.start(name, config(), options()))).toMatchObject({
      code: 'session-exists',
    });
    await provider.sendKeys(name, ['C-d']);
    let liveness = await provider.isRunning(name);
    while (liveness === 'yes') liveness = await provider.isRunning(name);
    const after = await provider.observe();
    expect(after.kind === 'seen' && after.sessions.get(name)?.liveness).toMatchObject({
      kind: 'exited',
      exit: { code: 0 },
    });
    await provider.stop(name);
    expect(await provider.listRunning('')).toEqual([]);
    // Everybody on the machine can read arguments.
    expect(dockerLog()).not.toContain(secret);
  });

  it('have pre_start run inside, and nothing left when it fails', async () => {
    const broken = config({ preStart: ['echo broken worktree >&2; exit 4'] });
    const error = await errorOf(provider.start('broken', broken, options()));
    expect(error.message).toContain('broken worktree');
    expect(error.message).toContain('pre_start[0]');
    expect(existsSync(join(stub, 'broken'))).toBe(false);
  });

  it.each([
    ['missing:latest', 'docker pull missing:latest'],
    ['no-tmux:latest', 'tmux not found'],
  ])('do not start from the image %s, and say why', async (image, said) => {
    const error = await errorOf(
      provider.start('imageless', config({ env: { GC_DOCKER_IMAGE: image } }), options()),
    );
    expect(error.message).toContain(said);
    expect(existsSync(join(stub, 'imageless'))).toBe(false);
  });

  it('have their image checked before the first start', async () => {
    await provider.checkImage('here:latest');
    expect(await errorOf(provider.checkImage('missing:latest'))).toMatchObject({
      code: 'image-missing',
      message: expect.stringContaining('docker pull missing:latest'),
    });
  });

  it('leave a container of somebody else alone', async () => {
    mkdirSync(join(stub, 'theirs'));
    writeFileSync(join(stub, 'theirs/labels'), 'another-city theirs\n');
    writeFileSync(join(stub, 'theirs/state'), 'running\n');
    const error = await errorOf(provider.start('theirs', config(), options()));
    expect(error).toMatchObject({ code: 'session-exists' });
    await provider.stop('theirs');
    expect(existsSync(join(stub, 'theirs'))).toBe(true);
    expect(await provider.listRunning('')).not.toContain('theirs');
  });

  it('are mounted where the protocol says, with the settings of their environment', async () => {
    const settings = {
      GC_DOCKER_IMAGE: 'mine:1',
      GC_DOCKER_NETWORK: 'net',
      GC_DOCKER_USER: '1000',
      GC_DOCKER_EXTRA: '--memory=1g --rm',
      GC_CITY: '/city',
    };
    await provider.start('mounted', config({ env: settings }), options());
    const line = dockerLog()
      .split('\n')
      .find((each) => each.startsWith('run ') && each.includes('gc.agent=mounted'));
    for (const part of [
      '--user 1000',
      '--network net',
      `-v ${work}:${work} -w ${work}`,
      '-v /city:/city',
      `-v ${env.HOME}:${env.HOME}:ro -v ${env.HOME}/.claude:${env.HOME}/.claude`,
      '--memory=1g --rm mine:1 sleep infinity',
    ]) {
      expect(line).toContain(part);
    }
    await provider.stop('mounted', { graceMs: 100 });
    expect(execFileSync('sh', ['-c', `ls '${stub}'`], { encoding: 'utf8' })).not.toContain('mounted');
  });
});
