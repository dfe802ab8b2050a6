import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeCity, fakeCity } from '../testing/fake-city.ts';

let city: FakeCity;
beforeEach(async () => {
  city = await fakeCity({ dead: true });
  put('packs/tools/pack.toml', '[pack]\nname = "tools"\nschema = 2\nodd = 1\n');
});
afterEach(() => city.close());

function put(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(join(city.root, path)), { recursive: true });
  writeFileSync(join(city.root, path), text);
  chmodSync(join(city.root, path), mode);
}

const check = (name: string, body: string, mode = 0o755) =>
  put(`packs/tools/doctor/${name}/run.sh`, `#!/bin/sh\n${body}\n`, mode);

const CITY = `workspace: {name: fake}
imports: {t: {source: ./packs/tools}}
agents: [{name: mayor, start_command: sleep 60}]
`;

async function reports(
  env: Readonly<Record<string, string>> = {},
): Promise<Record<string, { level: string; message: string; details: string[] }>> {
  const ran = await city.run(['doctor', '--json'], { env });
  const { checks } = JSON.parse(ran.out);
  return Object.fromEntries(checks.map((each: { name: string }) => [each.name, each]));
}

it('says once which program is missing, and of how many agents', async () => {
  put(
    'city.yaml',
    'workspace: {name: fake, provider: claude}\nagents: [{name: a}, {name: b}, {name: c, start_command: sh}]\n',
  );
  const found = await reports({ PATH: dirname(process.execPath) });
  const why = 'provider not found in PATH: "claude" (provider "claude")';
  expect(found['agent-programs']).toMatchObject({
    level: 'fail',
    message: expect.stringContaining(`${why}: a and `),
  });
});

it('looks for the program that the provider of the city starts', async () => {
  put('bin/claude', '#!/bin/sh\n', 0o755);
  put(
    'city.yaml',
    `workspace: {name: fake, provider: claude}
session: {provider: acp}
agents: [{name: a}, {name: b, provider: cursor}]
named_sessions: [{template: a, mode: always}]
`,
  );
  const env = { PATH: join(city.root, 'bin'), GC_SESSION: 'acp' };
  const message = (await reports(env))['agent-programs']?.message;
  expect(message).toContain('"claude-code-acp" (provider "claude"): a');
  const dry = await city.run(['start', '--dry-run'], { env });
  expect(dry.out).toContain('claude-code-acp');
});

describe('checks of packs', () => {
  it('are called by binding and name, and their exit code says how it stands', async () => {
    put('city.yaml', CITY);
    check('a-well', 'echo "$PWD"; echo; echo "$GC_PACK_DIR $GC_PACK_NAME $GC_CITY_NAME"; echo "err" >&2');
    check('b-silent', 'exit 0');
    check('c-warns', 'echo "a bit old" >&2; exit 1');
    check('d-fails', 'echo broken; exit 3');
    check('e-plain', 'exit 0', 0o644);
    check('f-killed', 'kill -KILL $$');
    put('packs/tools/doctor/g-shell/run.sh', '#!/no/such/shell\n', 0o755);
    const found = await reports();
    const dir = join(city.root, 'packs/tools');
    expect(found['t:a-well']).toMatchObject({
      level: 'ok',
      message: dir,
      details: [`${dir} tools fake`, 'err'],
    });
    expect(found['t:b-silent']).toMatchObject({ level: 'ok', message: 'check completed' });
    expect(found['t:c-warns']).toMatchObject({ level: 'warn', message: 'a bit old' });
    expect(found['t:d-fails']).toMatchObject({ level: 'fail', message: 'broken' });
    const plain = `${dir}/doctor/e-plain/run.sh`;
    expect(found['t:e-plain']).toMatchObject({
      level: 'fail',
      message: `script error: ${plain} is not an executable file`,
      hint: `chmod +x ${plain}`,
    });
    expect(found['t:f-killed']).toMatchObject({ level: 'fail', message: 'script error: ended by SIGKILL' });
    expect(found['t:g-shell']?.message).toMatch(/^script error: /);
    const names = Object.keys(found).filter((name) => name.startsWith('t:'));
    expect(names).toEqual([...names].sort());
  });

  it('of a rig say which one, and an error makes the command fail', async () => {
    mkdirSync(join(city.root, 'api'));
    put('city.yaml', `${CITY}rigs: [{name: api, path: api, includes: [packs/tools]}]\n`);
    check('where', 'echo "rig $GC_RIG"; test -z "$GC_RIG" || exit 2');
    const ran = await city.run(['doctor']);
    expect(ran.code).toBe(1);
    expect(ran.out).toContain('✓ t:where — rig\n');
    expect(ran.out).toContain('✗ tools:where:rig:api — rig api\n    hint: run it by hand: ');
  });
});

it('fails a city that could start nothing, with what to do', async () => {
  mkdirSync(join(city.root, 'bin'));
  symlinkSync(process.execPath, join(city.root, 'bin/node'));
  const provider = async (name: string) => {
    put('city.yaml', `${CITY}session: {provider: '${name}'}\n`);
    return (await reports({ PATH: join(city.root, 'bin') }))['provider'];
  };
  expect(await provider('exec:gc-session-screen')).toMatchObject({
    level: 'fail',
    message: expect.stringContaining('GNU screen is not installed'),
  });
  expect(await provider('exec:./none')).toMatchObject({
    level: 'fail',
    hint: expect.stringMatching(/^correct the path/),
  });
});

it('warns of what only a pack needs that nobody asked for', async () => {
  put('.gc/system/packs/maintenance/pack.toml', '[pack]\nname = "maintenance"\nschema = 2\n');
  put('.gc/system/packs/maintenance/doctor/x/run.sh', '#!/bin/sh\necho "no jq"; exit 2\n', 0o755);
  expect((await reports())['maintenance:x']).toMatchObject({ level: 'warn', message: 'no jq' });
  put('city.yaml', 'workspace: {name: fake, includes: [.gc/system/packs/maintenance]}\n');
  expect((await reports())['maintenance:x']).toMatchObject({ level: 'fail', message: 'no jq' });
});

it('tells what the config holds without effect', async () => {
  put('city.yaml', CITY.replace('{t:', '{session:'));
  put('packs/tools/commands/x/run.sh', '#!/bin/sh\n', 0o755);
  const notes = (await reports())['config-notes'];
  expect(notes).toMatchObject({ level: 'ok' });
  expect(notes?.message).toMatch(
    /^2 thing\(s\) without effect: packs\/tools\/pack.toml:4:1 unknown key "odd"/,
  );
  expect(notes?.details[1]).toContain('gc session is a command itself');
});
