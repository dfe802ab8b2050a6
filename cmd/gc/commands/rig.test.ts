import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fakeCity, runIn } from '../testing/fake-city.ts';
import { aSession, aStatus } from '../testing/status-fixtures.ts';

let base = '';
let root = '';
const CITY = `# the city
workspace:
  name: bright   # BR

agents:
  - name: mayor
    start_command: sleep 60 # ok
`;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'gc-rig-')));
  root = join(base, 'city');
  mkdirSync(root);
  writeFileSync(join(root, 'city.yaml'), CITY);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const gc = (argv: readonly string[], cwd = root) =>
  runIn(argv, {
    cwd,
    env: { HOME: base, GC_HOME: join(base, '.gc'), GC_BEADS: 'file', PATH: process.env['PATH'] },
  });
const cityText = () => readFileSync(join(root, 'city.yaml'), 'utf8');

describe('gc rig', () => {
  it('adds a folder, keeps the file, and takes it out again', async () => {
    chmodSync(join(root, 'city.yaml'), 0o640);
    const repo = join(base, 'my-shop');
    mkdirSync(join(repo, '.git'), { recursive: true });
    writeFileSync(join(repo, '.gitignore'), 'node_modules\n.beads/\n');
    const added = await gc(['rig', 'add', '../my-shop']);
    expect(added.err).toBe('');
    expect(added.out).toBe(
      `Adding rig 'my-shop'...\n  Detected git repo at ${repo}\n  Prefix: ms\n  Registered in global rig index\nRig added.\n`,
    );
    expect(cityText()).toBe(`${CITY}\nrigs:\n  - name: my-shop\n    path: ${repo}\n`);
    expect(statSync(join(root, 'city.yaml')).mode & 0o777).toBe(0o640);
    const ignored = 'node_modules\n\n# Gas City\n.beads/*\n!.beads/config.yaml\n!.beads/metadata.json\n';
    expect(readFileSync(join(repo, '.gitignore'), 'utf8')).toBe(ignored);
    expect((await gc(['rig', 'add', '../my-shop'])).out).toContain('Rig re-initialized.\n');
    expect(readFileSync(join(repo, '.gitignore'), 'utf8')).toBe(ignored);
    const listed = await gc(['rig', 'list']);
    expect(listed.out).toContain(`  my-shop:\n    Path:   ${repo}\n    Prefix: ms\n`);
    expect(listed.out).toContain('bright (HQ)');
    const { rigs, city_name: name } = JSON.parse((await gc(['rig', 'list', '--json'])).out);
    expect([name, rigs.map((rig: { name: string; hq: boolean }) => [rig.name, rig.hq])]).toEqual([
      'bright',
      [
        ['bright', true],
        ['my-shop', false],
      ],
    ]);
    expect((await gc(['rig', 'remove', 'my-shop'])).out).toBe("Removed rig 'my-shop'\n");
    expect(cityText()).toBe(CITY);
    expect(existsSync(repo)).toBe(true);
  });

  it('makes a missing folder inside the city', async () => {
    const ran = await gc(['rig', 'add', 'proj', '--prefix', 'pp', '--start-suspended']);
    expect(ran.out).toContain('Rig added (suspended');
    expect(statSync(join(root, 'proj')).isDirectory()).toBe(true);
    expect(cityText()).toBe(
      `${CITY}\nrigs:\n  - name: proj\n    path: ./proj\n    prefix: pp\n    suspended: true\n`,
    );
  });

  it('refuses, with nothing changed', async () => {
    await gc(['rig', 'add', 'proj', '--prefix', 'pp']);
    const before = cityText();
    for (const [argv, said] of [
      [['other', '--prefix', 'a-b'], 'prefix "a-b"'],
      [['other', '--prefix', 'PP'], 'that of rig "proj"'],
      [['other', '--prefix', 'Br'], 'the city itself'],
      [['other', '--name', 'proj'], 'has the path'],
      [['proj', '--name', 'other'], 'is rig "proj" already'],
      [['proj', '--prefix', 'qq'], 'has the prefix'],
      [['other', '--adopt'], 'no beads database to adopt'],
      [['city.yaml', '--name', 'x'], 'is not a folder'],
      [['other', '--include', './no-such-pack'], 'no-such-pack'],
    ] as const) {
      const ran = await gc(['rig', 'add', ...argv]);
      expect([ran.code, ran.err.includes(said) ? said : ran.err]).toEqual([1, said]);
      expect(cityText()).toBe(before);
      expect(existsSync(join(root, 'other'))).toBe(false);
    }
    expect((await gc(['rig', 'remove', 'pro'])).err).toContain('did you mean "proj"?');
    expect((await gc(['rig', 'suspend'])).code).toBe(1);
  });

  it('adopts the prefix of a beads database that is there', async () => {
    mkdirSync(join(root, 'old/.beads'), { recursive: true });
    writeFileSync(join(root, 'old/.beads/metadata.json'), '{}');
    writeFileSync(join(root, 'old/.beads/config.yaml'), 'issue_prefix: xy\n');
    const ran = await gc(['rig', 'add', 'old', '--adopt']);
    expect(ran.out).toContain('  Prefix: xy\n');
    expect(ran.out).toContain('  Adopted existing beads database\n');
    expect(cityText()).toContain('    prefix: xy\n');
  });

  it('suspends and resumes without a trace', async () => {
    await gc(['rig', 'add', 'proj']);
    const before = cityText();
    expect((await gc(['rig', 'suspend', 'proj'])).out).toBe("Suspended rig 'proj'\n");
    expect(cityText()).toContain('suspended: true');
    expect((await gc(['rig', 'resume', 'proj'])).out).toBe("Resumed rig 'proj'\n");
    expect(cityText()).toBe(before);
  });

  it('knows its city from the folder of a rig', async () => {
    await gc(['rig', 'add', '../lib']);
    const status = await gc(['rig', 'status'], join(base, 'lib'));
    expect(status.err).toBe('');
    expect(status.out).toBe(`lib:\n  Path:      ${join(base, 'lib')}\n  Suspended: no\n  Agents: none\n`);
    const other = join(base, 'second');
    mkdirSync(other);
    writeFileSync(join(other, 'city.yaml'), CITY.replace('bright', 'second'));
    await gc(['rig', 'add', '../lib'], other);
    expect((await gc(['rig', 'list'], join(base, 'lib'))).out).toContain('bright (HQ)');
    expect((await gc(['rig', 'default', 'lib'], other)).out).toBe(
      "Set default city for rig 'lib' to 'second'\n",
    );
    expect((await gc(['rig', 'list'], join(base, 'lib'))).out).toContain('second (HQ)');
    expect((await gc(['rig', 'remove', 'lib'], other)).code).toBe(0);
    expect((await gc(['rig', 'list'], join(base, 'lib'))).code).toBe(1);
  });

  it('restarts its own sessions, those that others need last', async () => {
    const city = await fakeCity();
    try {
      mkdirSync(join(city.root, 'shop'));
      writeFileSync(
        join(city.root, 'city.yaml'),
        'workspace: {name: c, start_command: sh}\nrigs:\n  - {name: shop, path: ./shop}\nagents:\n' +
          '  - {name: mayor}\n  - {name: db, dir: shop}\n  - {name: web, dir: shop, depends_on: [db]}\n',
      );
      city.api.statusNow = aStatus([
        aSession('mayor'),
        aSession('shop/db'),
        aSession('shop/web'),
        aSession('shop/web-2', { template: 'shop/web', condition: 'asleep' }),
      ]);
      const killed: string[] = [];
      city.api.kill = (target) => {
        killed.push(target);
        return city.api.session(target);
      };
      const ran = await city.run(['rig', 'restart', 'shop'], { env: { GC_BEADS: 'file' } });
      expect(ran.out).toBe("Restarted 2 agent(s) in rig 'shop' (killed sessions; reconciler will restart)\n");
      expect(killed).toEqual(['gc-shop/web', 'gc-shop/db']);
      expect((await city.run(['rig', 'status', 'shop'], { env: { GC_BEADS: 'file' } })).out).toContain(
        '    shop/db  running\n',
      );
    } finally {
      await city.close();
    }
  });
});
