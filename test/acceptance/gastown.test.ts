import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/program.ts';
import { type City, Stage } from './support/stage.ts';

/** The city of the best known pack, as it comes with the program; its agents are not installed here. */
let stage: Stage;
let city: City;
beforeAll(async () => {
  stage = new Stage();
  city = await stage.init('gastown', ['--from', 'gastown']);
});
afterAll(() => stage.dispose());

describe('the copy of an example', () => {
  it('has all that it needs', () => {
    for (const path of [
      'packs/gastown/pack.toml',
      'packs/gastown/agents',
      'packs/gastown/formulas',
      'packs/gastown/assets/scripts',
      'packs/maintenance/pack.toml',
      '.gc',
    ])
      expect(city.has(path), path).toBe(true);
  });

  it.each(['gastown', 'hyperscale', 'lifecycle', 'swarm'])('%s is good', async (name) => {
    const copy = await stage.init(`copy-${name}`, ['--from', name]);
    await copy.ok(['config', 'show', '--validate'], ['Config valid.']);
    const { all } = await copy.gc(['doctor']);
    expect(all).toMatch(/[✓⚠✗]|passed/u);
  });
});

describe('its config', () => {
  it('is shown with the agents of its packs', async () => {
    await city.ok(['config', 'show'], ['[workspace]', '[[agent]]', 'mayor', 'deacon', 'boot']);
    await city.ok(['config', 'explain', '--city', city.dir], ['Agent: ']);
    await city.ok(['config', 'explain', '--agent', 'mayor'], ['Agent: gastown.mayor']);
    await city.refused(['config', 'explain', '--agent', 'nobody'], ['no agents match filters']);
    await city.ok(['config', 'show', '--validate'], ['valid']);
  });

  it('gives every agent its own words', async () => {
    const [mayor, boot, other, byEnv] = [
      await city.ok(['prime', 'mayor']),
      await city.ok(['prime', 'boot']),
      await city.ok(['prime', 'nobody'], ['# Gas City Agent']),
      await city.ok(['prime'], [], { GC_AGENT: 'mayor' }),
    ];
    expect(mayor).not.toContain('# Gas City Agent');
    expect(boot).not.toBe(mayor);
    expect(other).not.toBe(mayor);
    expect(byEnv).toBe(mayor);
    expect((await city.ok(['prime', '--hook', 'mayor'])).trim()).not.toBe('');
  });

  it('is checked by the doctor, in short and in full', async () => {
    const short = (await city.gc(['doctor'])).all;
    const full = (await city.gc(['doctor', '--verbose'])).all;
    expect(full.length).toBeGreaterThanOrEqual(short.length);
    expect(short).toMatch(/gastown|pack/);
  });

  it('has formulas, and takes work on trial', async () => {
    const list = await city.ok(['formula', 'list'], ['mol-']);
    const name = /^mol-\S+/m.exec(list)?.[0] ?? '';
    await city.ok(['formula', 'show', name], ['Formula:', 'Steps']);
    await city.ok(['sling', 'mayor', 'plan the day', '--dry-run'], ['Target:', 'No side effects executed']);
    expect(await city.ok(['order', 'list'])).toMatch(/NAME|No orders/);
  });
});

describe('rigs', () => {
  it('come, rest and go', async () => {
    const rig = stage.place('shop');
    await city.ok(['rig', 'add', rig, '--include', 'packs/gastown'], ["Adding rig 'shop'", 'Rig added.']);
    await city.ok(['rig', 'list'], ['shop', rig]);
    const listed = await city.json<{ rigs: { name: string; hq: boolean }[] }>(['rig', 'list', '--json']);
    expect(listed.rigs.map((each) => each.name)).toContain('shop');
    await city.ok(['rig', 'status', 'shop'], ['shop:', 'Suspended: no', 'Agents:']);
    await city.ok(['config', 'explain', '--city', city.dir], ['shop/']);
    await city.ok(['rig', 'suspend', 'shop'], ["Suspended rig 'shop'"]);
    expect(city.read('city.toml')).toContain('suspended');
    await city.ok(['rig', 'resume', 'shop'], ["Resumed rig 'shop'"]);
    await city.ok(['rig', 'remove', 'shop'], ["Removed rig 'shop'"]);
    expect(await city.ok(['rig', 'list'])).not.toContain(rig);
  });

  it('say what is missing', async () => {
    await city.refused(['rig', 'add']);
    await city.refused(['rig', 'status', 'nobody'], ['not found']);
    await city.refused(['rig', 'suspend'], ['missing']);
    await city.refused(['rig', 'remove', 'nobody'], ['not found']);
  });
});

describe('agents and skills', () => {
  it('are added as folders', async () => {
    await city.ok(['agent', 'add', '--name', 'reviewer'], ["Scaffolded agent 'reviewer'"]);
    expect(city.has('agents/reviewer/prompt.template.md')).toBe(true);
    await city.ok(['config', 'show'], ['reviewer']);
    city.write('my-prompt.md', 'You plan.\n\n{{ .AgentName }}, {{.CityRoot}}');
    await city.ok(['agent', 'add', '--name', 'planner', '--prompt-template', city.path('my-prompt.md')]);
    expect(city.read('agents/planner/prompt.template.md')).toBe(city.read('my-prompt.md'));
    await city.refused(['agent', 'add', '--name', 'reviewer'], ['already exists']);
    await city.ok(['agent', 'add', '--name', 'dormant', '--suspended']);
    expect(city.read('agents/dormant/agent.toml')).toContain('suspended = true');
    for (const name of ['planner']) rmSync(city.path('agents', name), { recursive: true });
  });

  it('rest and work again', async () => {
    city.write(
      'city.toml',
      `${city.read('city.toml')}\n[[agent]]\nname = "worker"\nstart_command = "sh -c true"\n`,
    );
    await city.ok(['agent', 'suspend', 'worker'], ['Suspended']);
    expect(city.read('city.toml')).toContain('suspended');
    await city.ok(['agent', 'resume', 'worker'], ['Resumed']);
    await city.refused(['agent', 'suspend', 'mayor'], ['defined by a pack', '[[patches]]']);
    await city.ok(['suspend', city.dir], ['suspended']);
    await city.refused(['hook', 'worker'], ['suspended']);
    await city.ok(['resume', city.dir], ['resumed']);
    expect((await city.gc(['hook', 'worker'])).all).not.toContain('suspended');
  });

  it('skills are listed, and put where an agent finds them', async () => {
    city.write('skills/plan/SKILL.md', '---\nname: plan\ndescription: Plan it.\n---\n\nPlan.\n');
    await city.ok(['skill', 'list'], ['plan', 'gc-work']);
    const work = city.path('elsewhere');
    await city.ok(
      ['internal', 'materialize-skills', '--agent', 'mayor', '--workdir', work],
      ['materialized'],
    );
    expect(city.has('elsewhere/.claude/skills/plan/SKILL.md')).toBe(true);
  });
});

describe('what the program brings along', () => {
  it('is written again at a start', async () => {
    await city.gc(['stop', city.dir]);
    rmSync(city.path('.gc/system/packs'), { recursive: true, force: true });
    await stage.gc(['start', '--no-wait', city.dir]);
    await until('its packs are there', () => city.has('.gc/system/packs/core/pack.toml'));
    await city.gc(['stop', city.dir]);
  });
});
