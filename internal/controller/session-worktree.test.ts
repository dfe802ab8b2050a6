import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RuntimeConfig } from '../runtime/runtime-config.ts';
import { pruneWorktree } from '../worktree/prune-worktrees.ts';
import { CityEngine } from './city-engine.ts';
import type { ResolvedDesired } from './model.ts';
import { CityHarness } from './testing/city-harness.ts';

/** git needs real time, whatever the city's clock says. */
const NO_LIMIT_MS = Number.MAX_SAFE_INTEGER;

let h: CityHarness;
let rig: string;
beforeEach(() => {
  h = new CityHarness('');
  rig = join(h.dir, 'proj');
  mkdirSync(rig);
  git('init', '--quiet', '--initial-branch=main');
  writeFileSync(join(rig, 'tracked.txt'), 'tracked');
  git('add', '-A');
  git('-c', 'user.name=T', '-c', 'user.email=t@example.com', 'commit', '--quiet', '-m', 'first');
});
afterEach(() => h.end());

function git(...args: string[]): string {
  const env = { PATH: process.env['PATH'], HOME: h.dir, GIT_CONFIG_GLOBAL: '/dev/null' };
  return execFileSync('git', args, { cwd: rig, env, encoding: 'utf8' }).trim();
}

async function engineFor(worktree: string) {
  h.writeConfig(
    [
      'workspace: { name: test }',
      'rigs: [{ name: proj, path: proj }]',
      'agents:',
      '  - name: a',
      '    dir: proj',
      '    start_command: run-a',
      '    overlay_dir: overlay',
      `    worktree: ${worktree}`,
      '',
    ].join('\n'),
  );
  mkdirSync(join(h.dir, 'overlay'), { recursive: true });
  writeFileSync(join(h.dir, 'overlay', 'NOTES.md'), 'staged');
  const parts = await h.open('controller');
  const noop = () => undefined;
  return new CityEngine(parts, { poke: noop, trouble: noop, gap: noop });
}

async function recordOf(engine: CityEngine, sessionName: string) {
  const record = await engine.parts.store.create({
    template: 'proj/a',
    sessionName,
    origin: 'manual',
    provider: '',
    workDir: '',
    command: '',
    instanceToken: 't',
    state: 'creating',
    pendingCreateClaim: true,
  });
  const desired = (await engine.desired(await engine.parts.store.list('open'))).get(sessionName);
  return { record, desired: desired as ResolvedDesired };
}

async function start(engine: CityEngine, sessionName: string) {
  const { record, desired } = await recordOf(engine, sessionName);
  let seen: RuntimeConfig | undefined;
  const provider = h.provider.start.bind(h.provider);
  h.provider.start = (...args) => {
    seen = args[1];
    return provider(...args);
  };
  let outcome: Awaited<ReturnType<typeof engine.executor.run>>;
  engine.executor.run({ kind: 'start', sessionName, record, desired, why: 'test' }).then(
    (value) => {
      outcome = value;
    },
    () => undefined, // then there is no outcome, and the test says so
  );
  await h.until(() => outcome, NO_LIMIT_MS);
  return { outcome, config: seen };
}

describe('a session with a worktree', () => {
  it('starts in one of its own, with its variables', async () => {
    const engine = await engineFor(
      '{ ports: 3, setup: [\'echo "$GC_SESSION_NAME $GC_PORT_COUNT" > made\'] }',
    );
    const first = await start(engine, 's-1');
    const second = await start(engine, 's-2');
    const path = join(h.dir, '.gc', 'worktrees', 'proj', 's-1');
    expect(first.outcome?.kind).toBe('started');
    expect(first.config?.workDir).toBe(path);
    expect(first.config?.env).toMatchObject({
      GC_DIR: path,
      GC_WORKTREE: path,
      GC_BRANCH: 'gc/proj/s-1',
      GC_PORT: expect.stringMatching(/^\d{5}$/),
      GC_PORT_COUNT: '3',
    });
    expect(second.config?.env['GC_BRANCH']).toBe('gc/proj/s-2');
    expect(Number(second.config?.env['GC_PORT'])).toBe(Number(first.config?.env['GC_PORT']) + 3);
    expect(readFileSync(join(path, 'made'), 'utf8')).toBe('s-1 3\n');
    const kept = (await h.records()).map((record) => record.metadata['work_dir']);
    expect(kept).toContain(path);
  });

  it('leaves nothing behind that is only ours', async () => {
    const engine = await engineFor('{}');
    await start(engine, 's-1');
    const path = join(h.dir, '.gc', 'worktrees', 'proj', 's-1');
    expect(readFileSync(join(path, 'NOTES.md'), 'utf8')).toBe('staged');
    const home = { ...engine.parts, env: { PATH: process.env['PATH'], HOME: h.dir } };
    const options = { usedBy: async () => undefined, dryRun: false, signal: new AbortController().signal };
    expect(await pruneWorktree(home, path, options)).toEqual({ kind: 'removed', branchDeleted: true });
  });

  it('does not start when set-up fails, and tells its last lines', async () => {
    const engine = await engineFor("{ setup: ['echo no such package >&2; exit 3'] }");
    const { outcome, config } = await start(engine, 's-1');
    expect(outcome).toMatchObject({
      kind: 'failed',
      death: {
        how: expect.stringContaining('worktree.setup[0]'),
        lastLines: 'no such package',
      },
    });
    expect(config).toBeUndefined();
    expect(existsSync(join(h.dir, '.gc', 'worktrees'))).toBe(false);
    expect(git('branch', '--list', 'gc/*')).toBe('');
  });

  it('does not drift when the settings of its worktree change', async () => {
    const before = (await recordOf(await engineFor('{}'), 's-1')).desired;
    await h.down();
    const after = (
      await recordOf(await engineFor("{ branch: 'x/{{.AgentBase}}', copy: [a], ports: 9 }"), 's-2')
    ).desired;
    expect(after.worktree?.spec.branch).toBe('x/s-2');
    expect(after.coreHash).toBe(before.coreHash);
  });
});
