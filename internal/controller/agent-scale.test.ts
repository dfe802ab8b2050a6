import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { CityHarness } from './testing/city-harness.ts';

const CITY = [
  '# the city',
  'workspace: { name: test }',
  'agents:',
  '  # does the work',
  '  - name: worker   # hard',
  '    start_command: run-worker',
  '    max_active_sessions: 3 # for now',
  '  - { name: inline, start_command: run }',
  '  - { name: twin, dir: R, start_command: run }',
  '  - { name: twin, dir: S, start_command: run }',
  'rigs:',
  '  - { name: R, path: R, max_active_sessions: 4, imports: { x: { source: ./packs/p } } }',
  '  - { name: S, path: S }',
  '',
].join('\n');
const PACK =
  '[pack]\nname = "p"\nschema = 2\n[[agent]]\nname = "polecat"\nscope = "rig"\nstart_command = "run"\n';

let h: CityHarness;
afterEach(() => h.end());

async function up(yaml = CITY): Promise<void> {
  h = new CityHarness(yaml);
  mkdirSync(join(h.dir, 'packs', 'p'), { recursive: true });
  writeFileSync(join(h.dir, 'packs', 'p', 'pack.toml'), PACK);
  await h.up();
}

const file = (): string => readFileSync(join(h.dir, 'city.yaml'), 'utf8');
const scale = (agent: string, request: { min?: number; max?: number }) =>
  h.settled(h.api.upkeep.scale(agent, request));
const failure = (work: Promise<unknown>) =>
  work.then(
    () => ({}),
    (error: unknown) => error,
  );

describe('gc agent scale', () => {
  it('changes what the agent may have, and nothing else of the file', async () => {
    await up();
    expect(await scale('worker', { min: 1, max: 5 })).toMatchObject({
      agent: 'worker',
      file: join(h.dir, 'city.yaml'),
      changed: true,
      min: 1,
      max: 5,
    });
    const expected = CITY.replace('max_active_sessions: 3 # for now', 'max_active_sessions: 5 # for now');
    expect(file().replace(/\n *min_active_sessions: 1/, '')).toBe(expected);
    expect(file()).toContain('min_active_sessions: 1');
    expect(await scale('worker', { max: 5 })).toMatchObject({ changed: false, min: 1, max: 5 });
    expect(await scale('inline', { max: 2 })).toMatchObject({ max: 2 });
    expect(file()).toContain('{ name: inline, start_command: run, max_active_sessions: 2 }');
  });

  it('takes effect at once: so many come up', async () => {
    await up();
    await scale('worker', { min: 2 });
    await h.running(2);
  });

  it('says which limit holds where the agent has none of its own', async () => {
    await up();
    expect(await scale('R/twin', { min: 0 })).toMatchObject({ agent: 'R/twin', max: 4 });
    expect(await scale('S/twin', { max: -1 })).toMatchObject({ agent: 'S/twin', max: -1 });
    expect(file()).toContain('{ name: twin, dir: S, start_command: run, max_active_sessions: -1 }');
  });

  it('refuses what would not be a city, and leaves the file as it was', async () => {
    await up();
    const refused: readonly (readonly [{ min?: number; max?: number }, string])[] = [
      [{}, 'give --min, --max or both'],
      [{ min: -1 }, 'min must be a whole number of at least 0'],
      [{ min: 1.5 }, 'min must be a whole number'],
      [{ max: -2 }, 'max must be -1 (no limit)'],
      [{ min: 4 }, 'min 4 is above max 3'],
      [{ min: 2, max: 1 }, 'min 2 is above max 1'],
    ];
    for (const [request, message] of refused) {
      expect(await failure(scale('worker', request))).toMatchObject({
        code: 'invalid-scale',
        next: expect.stringMatching(/^gc agent scale worker --min \d+ --max \d+$/),
        message: expect.stringContaining(message),
      });
    }
    expect(await failure(scale('twin', { min: 1 }))).toMatchObject({ code: 'ambiguous-agent' });
    expect(await failure(scale('workr', { min: 1 }))).toMatchObject({ code: 'agent-not-found' });
    expect(file()).toBe(CITY);
  });

  it('edits no pack: what overrides it is told, and works', async () => {
    await up();
    const error = (await failure(scale('polecat', { min: 1, max: 2 }))) as { code: string; next: string };
    expect(error).toMatchObject({
      code: 'agent-in-pack',
      message: 'agent "R/x.polecat" is defined by a pack — use [[patches]] to override',
    });
    expect(file()).toBe(CITY);
    const [, ...lines] = error.next.split('\n');
    h.writeConfig(`${CITY}${lines.map((line) => line.slice(4)).join('\n')}\n`);
    expect(await h.settled(h.api.reload())).toMatchObject({ kind: 'applied' });
    const agent = h.runtime.engine.city.agents.find(({ qualifiedName }) => qualifiedName === 'R/x.polecat');
    expect(agent).toMatchObject({ minActiveSessions: 1, maxActiveSessions: 2 });
    expect(await failure(scale('polecat', { max: 3 }))).toMatchObject({ code: 'agent-in-pack' });
  });

  it('says where a patch decides', async () => {
    await up(`${CITY}patches:\n  agent:\n    - { name: worker, max_active_sessions: 7 }\n`);
    expect(await failure(scale('worker', { max: 2 }))).toMatchObject({
      code: 'set-by-patch',
      message: expect.stringContaining('"max_active_sessions" of agent "worker" is set by a patch'),
    });
  });

  it('makes the manifest of an agent folder that has none', async () => {
    h = new CityHarness('workspace: { name: test }\n');
    mkdirSync(join(h.dir, 'agents', 'solo'), { recursive: true });
    writeFileSync(join(h.dir, 'agents', 'solo', 'prompt.template.md'), '# solo\n');
    writeFileSync(join(h.dir, 'city.yaml'), 'workspace: { name: test, start_command: run }\n');
    await h.up();
    const { file: made } = await scale('solo', { min: 1, max: 2 });
    expect(readFileSync(made, 'utf8')).toBe('min_active_sessions: 1\nmax_active_sessions: 2\n');
    await h.running(1);
  });
});
