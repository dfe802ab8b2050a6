import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { City } from '../config/city.ts';
import { loadCity } from '../config/load-city.ts';
import { CONFIG_DEBOUNCE_MS, watchConfig } from './config-watch.ts';
import { cityYaml } from './testing/city-harness.ts';

let dir: string;
let end: AbortController;
let changes = 0;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-watch-'));
  end = new AbortController();
  changes = 0;
});
afterEach(() => {
  end.abort();
  rmSync(dir, { recursive: true, force: true });
});

const real = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(done: () => boolean): Promise<void> {
  for (let i = 0; i < 200 && !done(); i += 1) await real(25);
  expect(done()).toBe(true);
}

async function watched(more = ''): Promise<City> {
  const file = join(dir, 'city.yaml');
  writeFileSync(file, cityYaml(['a']) + more);
  const loaded = await loadCity(dir, { env: {} });
  if (loaded.kind !== 'ok') throw new Error(JSON.stringify(loaded.problems));
  let ready = false;
  watchConfig(loaded.city, end.signal, {
    changed: () => {
      changes += 1;
    },
    failed: (error) => {
      throw error;
    },
    ready: () => {
      ready = true;
    },
  });
  await until(() => ready);
  return loaded.city;
}

describe('watchConfig', () => {
  it('tells of an edit once, however the editor writes', async () => {
    await watched();
    writeFileSync(join(dir, 'city.yaml'), cityYaml(['a', 'b']));
    await until(() => changes === 1);
    writeFileSync(join(dir, '.city.yaml.swp'), cityYaml(['b']));
    renameSync(join(dir, '.city.yaml.swp'), join(dir, 'city.yaml'));
    await until(() => changes === 2);
    await real(2 * CONFIG_DEBOUNCE_MS);
    expect(changes).toBe(2);
  });

  it('tells of a new agent folder', async () => {
    await watched();
    mkdirSync(join(dir, 'agents', 'new'), { recursive: true });
    writeFileSync(join(dir, 'agents', 'new', 'agent.yaml'), 'start_command: x\n');
    await until(() => changes > 0);
  });

  it('tells of a new agent folder of a pack, inside the city or outside', async () => {
    const outside = join(dir, '..', `${basename(dir)}-pack`);
    for (const pack of [join(dir, 'packs', 'p'), outside]) {
      mkdirSync(pack, { recursive: true });
      writeFileSync(join(pack, 'pack.toml'), `[pack]\nname = "p"\nschema = 2\n`);
    }
    try {
      await watched(`imports: {p: {source: packs/p}, q: {source: ${JSON.stringify(outside)}}}\n`);
      mkdirSync(join(dir, 'packs', 'p', 'agents', 'new'), { recursive: true });
      writeFileSync(join(dir, 'packs', 'p', 'agents', 'new', 'prompt.md'), 'x');
      await until(() => changes > 0);
      const before = changes;
      mkdirSync(join(outside, 'agents', 'new'), { recursive: true });
      await until(() => changes > before);
    } finally {
      rmSync(outside, { recursive: true, force: true });
    }
  });

  it('says nothing of what the controller or a project writes', async () => {
    await watched();
    mkdirSync(join(dir, '.gc'));
    writeFileSync(join(dir, '.gc', 'city.db'), 'x');
    mkdirSync(join(dir, 'src'));
    writeFileSync(join(dir, 'src', 'main.c'), 'x');
    writeFileSync(join(dir, 'notes.md'), 'x');
    await real(3 * CONFIG_DEBOUNCE_MS);
    expect(changes).toBe(0);
  });
});
