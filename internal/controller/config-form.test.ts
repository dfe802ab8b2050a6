import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { inForm } from './config-form.ts';
import { CityHarness } from './testing/city-harness.ts';

const CITY = `workspace: { name: test }
daemon: { patrol_interval: 5s, drift_drain_timeout: 30s }
providers: { claude: { path_check: sh, process_names: [], ready_prompt_prefix: "", ready_delay_ms: 0 } }
agents: [{ name: mayor, provider: claude, prompt_template: mayor.md }]
named_sessions: [{ template: mayor, mode: always }]
`;

let harness: CityHarness;
afterEach(() => harness.end());

async function started(): Promise<void> {
  harness = new CityHarness(CITY);
  writeFileSync(join(harness.dir, 'mayor.md'), 'Be the mayor.');
  await harness.up();
  await harness.running(1);
}

async function resolved() {
  const { engine } = harness.runtime;
  const found = (await engine.desired(await engine.parts.store.list('open'))).get('mayor');
  if (found?.resolution !== 'resolved') throw new Error(JSON.stringify(found));
  return found;
}

async function mayor() {
  const [record] = await harness.records();
  if (!record) throw new Error('no record');
  return record;
}

describe('a session that an earlier program started', () => {
  it('goes on without drift under this one, and has hooks after its next start', async () => {
    await started();
    const { bare, coreHash, config } = await resolved();
    if (!bare) throw new Error('nothing differs');
    expect(config.command).toBe(
      `${bare.config.command} --settings "${join(harness.dir, '.gc', 'settings.json')}"`,
    );
    expect(bare.config.promptSuffix).toContain('Be the mayor.');
    expect(config.promptSuffix).toMatch(/^'\[test\] mayor • [^\n]*'$/);
    const before = await mayor();
    await harness.city.store.apply(before.id, {
      config_form: '',
      started_config_hash: bare.coreHash,
      core_hash_breakdown: JSON.stringify(bare.breakdown),
    });
    await harness.down();
    await harness.up();
    await harness.pass(60_000);
    const adopted = await mayor();
    expect([adopted.instanceToken, adopted.state]).toEqual([before.instanceToken, 'active']);
    await harness.settled(harness.api.kill('mayor'));
    await harness.until(async () => {
      const record = await mayor();
      return record.instanceToken !== before.instanceToken && record.state === 'active';
    });
    const again = await mayor();
    expect([again.metadata['config_form'], again.startedConfigHash]).toEqual(['equipped', coreHash]);
    await harness.pass(60_000);
    expect((await mayor()).instanceToken).toBe(again.instanceToken);
  });

  it('still drifts when its config really changes', async () => {
    await started();
    const { bare } = await resolved();
    const before = await mayor();
    await harness.city.store.apply(before.id, { config_form: '', started_config_hash: bare?.coreHash ?? '' });
    harness.writeConfig(CITY.replace('mayor.md', 'mayor.md, env: { GC_SKILLS_DIR: /x }'));
    harness.touchConfig();
    await harness.until(async () => {
      const record = await mayor();
      return record.instanceToken !== before.instanceToken && record.state === 'active';
    });
    expect((await mayor()).metadata['config_form']).toBe('equipped');
  });
});

it('an agent without hooks of ours has one form; without the settings there are none', async () => {
  await started();
  expect((await resolved()).bare).toBeDefined();
  rmSync(join(harness.dir, '.gc', 'settings.json'));
  harness.runtime.engine.forgetResolved();
  const plain = await resolved();
  expect(plain.bare).toBeUndefined();
  expect(inForm(plain, undefined)).toBe(plain);
  expect(plain.config.promptSuffix).toContain('Be the mayor.');
});
