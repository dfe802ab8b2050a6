import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/program.ts';
import { type City, Stage } from './support/stage.ts';

interface Listed {
  readonly Template: string;
  readonly SessionName: string;
}

/** Sessions that come from an imported pack, of the city and of a rig, under a controller in the foreground. */
let stage: Stage;
let city: City;
let controller: Promise<number | null>;
beforeAll(async () => {
  stage = new Stage();
  city = await stage.city('imports', {
    'pack.toml': [
      '[pack]',
      'name = "imports"',
      'schema = 2',
      '',
      '[imports.gs]',
      'source = "./assets/sidecar"',
      '',
    ].join('\n'),
    'city.toml': [
      '[workspace]',
      'name = "imports"',
      'start_command = "sleep 300"',
      '',
      '[beads]',
      'provider = "file"',
      '',
      '[[rigs]]',
      'name = "repo"',
      'path = "./repo"',
      '',
      '[rigs.imports.gs]',
      'source = "./assets/sidecar"',
      '',
    ].join('\n'),
    'repo/README.md': 'a rig\n',
    'assets/sidecar/pack.toml': [
      '[pack]',
      'name = "sidecar"',
      'schema = 2',
      '',
      '[[named_session]]',
      'template = "captain"',
      'scope = "city"',
      'mode = "always"',
      '',
      '[[named_session]]',
      'template = "watcher"',
      'scope = "rig"',
      'mode = "always"',
      '',
    ].join('\n'),
    'assets/sidecar/agents/captain/agent.toml': 'scope = "city"\n',
    'assets/sidecar/agents/captain/prompt.md': 'Lead.\n',
    'assets/sidecar/agents/watcher/agent.toml': 'scope = "rig"\n',
    'assets/sidecar/agents/watcher/prompt.md': 'Watch.\n',
  });
  controller = stage.foreground(city);
});
afterAll(() => stage.dispose());

describe('sessions of an imported pack', () => {
  it('are listed under their whole names, also when what they run ends at once', async () => {
    const named = async (): Promise<readonly string[] | false> => {
      const { code, out } = await city.gc(['session', 'list', '--json', '--state', 'all']);
      if (code !== 0) return false;
      const found = (JSON.parse(out) as Listed[]).map((each) => `${each.Template} ${each.SessionName}`);
      return found.length >= 2 && found.toSorted();
    };
    const found = await until('both are listed', named);
    expect(found).toContain('gs.captain gs__captain');
    expect(found).toContain('repo/gs.watcher repo--gs__watcher');
  });

  it('end with the controller in the foreground', async () => {
    await city.ok(['status'], ['Controller: standalone (PID ']);
    await city.stop();
    expect(await controller).toBe(0);
    await city.ok(['status'], ['Controller: stopped']);
  });
});
