import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { City } from '../city.ts';
import { cityOf, type Files, imports, pack, problemsOf } from '../testing/scratch-packs.ts';

const RIG = '[[rigs]]\nname = "r"\npath = "."\n';
const patch = (lines: string) => `[[patches.agent]]\n${lines}\n`;
const override = (lines: string) => `[[rigs.overrides]]\n${lines}\n`;

/** Who has the nudge that a patch gave. */
const patched = (city: City) =>
  city.agents.filter(({ nudge }) => nudge === 'new').map(({ qualifiedName }) => qualifiedName);

/** A city with agents from everywhere: its own, of an import, of an include, of both in a rig, implicit ones. */
const CITY = `[workspace]
provider = "claude"
includes = ["inc"]
${imports('b', 'imp')}${RIG}includes = ["rinc"]
[rigs.imports.x]
source = "rimp"
[[agent]]
name = "own"
start_command = "s"
[[agent]]
name = "local"
dir = "r"
start_command = "s"
`;
const FILES: Files = {
  ...pack('inc', '', ['a']),
  ...pack('imp', '', ['i']),
  ...pack('rinc', '', ['c']),
  ...pack('rimp', '', ['d']),
};

describe('CFG-10: a patch of the city reaches', () => {
  it.each([
    ['its own agent', 'name = "own"', 'own'],
    ['its own agent in a rig', 'dir = "r"\nname = "local"', 'r/local'],
    ['the same by its whole name', 'name = "r/local"', 'r/local'],
    ['an agent of an included pack', 'name = "a"', 'a'],
    ['an agent of an import, by bare name', 'name = "i"', 'b.i'],
    ['an agent of an import, by whole name', 'name = "b.i"', 'b.i'],
    ['an agent that a rig includes', 'dir = "r"\nname = "c"', 'r/c'],
    ['the same by its whole name', 'name = "r/c"', 'r/c'],
    ['an agent that a rig imports, by bare name', 'dir = "r"\nname = "d"', 'r/x.d'],
    ['the same, bound', 'dir = "r"\nname = "x.d"', 'r/x.d'],
    ['the same by its whole name', 'name = "r/x.d"', 'r/x.d'],
    ['an implicit agent', 'name = "claude"', 'claude'],
    ['an implicit agent of a rig', 'dir = "r"\nname = "claude"', 'r/claude'],
  ])('%s: %s', async (_what, target, expected) => {
    expect(patched(await cityOf(`${CITY}${patch(`${target}\nnudge = "new"`)}`, FILES))).toEqual([expected]);
  });

  it.each([
    ['a rig include', 'agent = "c"', 'r/c'],
    ['a rig import', 'agent = "d"', 'r/x.d'],
    ['a rig import, bound', 'agent = "x.d"', 'r/x.d'],
    ['by the whole name', 'agent = "r/x.d"', 'r/x.d'],
    ['an agent of the city in the rig', 'agent = "local"', 'r/local'],
    ['an implicit agent', 'agent = "claude"', 'r/claude'],
  ])('an override of a rig reaches %s', async (_what, target, expected) => {
    const own = override(`${target}\nnudge = "new"`);
    expect(patched(await cityOf(CITY.replace('[[agent]]', `${own}[[agent]]`), FILES))).toEqual([expected]);
  });

  it('no other rig, no other scope: what is there is told, with the place', async () => {
    const city = `${CITY}${patch('name = "c"\nnudge = "new"')}${patch('name = "onw"\nnudge = "new"')}`;
    expect(await problemsOf(city, FILES)).toEqual([
      'city.toml:20:8 patch-target: patches.agent[0]: agent "c" not found in merged config; did you mean "r/c"?',
      'city.toml:23:8 patch-target: patches.agent[1]: agent "onw" not found in merged config; did you mean "own"?',
    ]);
    const wrong = CITY.replace('[[agent]]', `${override('agent = "own"')}[[agent]]`);
    expect(await problemsOf(wrong, FILES)).toEqual([
      'city.toml:13:9 patch-target: rig "r": overrides[0]: agent "own" not found in pack',
    ]);
  });

  it('the first of two of one bare name, and says so; a whole name is never in doubt', async () => {
    const two = imports('b', 'p') + imports('c', 'p');
    expect(await problemsOf(two + patch('name = "a"\nnudge = "new"'), pack('p', '', ['a']))).toEqual([
      'city.toml:6:8 ambiguous-patch: patches.agent[0]: "a" may mean b.a or c.a; the first is patched',
    ]);
    const city = await cityOf(
      `${two}${patch('name = "a"\nnudge = "new"')}[[agent]]\nname = "a"\nstart_command = "s"\n`,
      pack('p', '', ['a']),
    );
    expect(patched(city)).toEqual(['a']);
  });
});

describe('what a patch changes', () => {
  const BASE = `[[agent]]
name = "a"
start_command = "s"
pre_start = ["one"]
session_live = ["l"]
env = { A = "1", B = "2" }
process_names = ["x"]
max_active_sessions = 3
`;
  const withPatch = async (lines: string) =>
    (await cityOf(`${BASE}${patch(`name = "a"\n${lines}`)}`)).agents[0];

  it('scalars replace; lists replace unless empty; *_append adds; env merges, then loses', async () => {
    expect(
      await withPatch(
        'wake_mode = "fresh"\npre_start = []\nprocess_names = ["y"]\nsession_live_append = ["m"]\nenv = { B = "3", C = "4" }\nenv_remove = ["A"]\nmax_active_sessions = 0\nattach = false',
      ),
    ).toMatchObject({
      wakeMode: 'fresh',
      preStart: ['one'],
      processNames: ['y'],
      sessionLive: ['l', 'm'],
      env: { B: '3', C: '4' },
      maxActiveSessions: 0,
      attach: false,
    });
    expect(await withPatch('session_live = ["n"]\nsession_live_append = ["m"]')).toMatchObject({
      sessionLive: ['n', 'm'],
    });
  });

  it('the old pool table maps to the keys of today', async () => {
    expect(
      await withPatch(
        '[patches.agent.pool]\nmin = 1\nmax = 2\ncheck = "c"\ndrain_timeout = "1s"\non_death = "d"\non_boot = "b"',
      ),
    ).toMatchObject({
      minActiveSessions: 1,
      maxActiveSessions: 2,
      scaleCheck: 'c',
      drainTimeoutMs: 1_000,
      onDeath: 'd',
      onBoot: 'b',
    });
  });

  it('knows who put an agent to sleep', async () => {
    expect((await withPatch('sleep_after_idle = "5m"'))?.sleepSource).toBe('agent_patch');
    const rig = `${RIG}${override('agent = "c"\nsleep_after_idle = "5m"')}`.replace(
      '[[rigs.over',
      'includes = ["rinc"]\n[[rigs.over',
    );
    const overridden = await cityOf(rig, FILES);
    expect(overridden.agents[0]).toMatchObject({ sleepSource: 'rig_override', sleepAfterIdle: '5m' });
  });

  it('an override may move an agent; patches of the rig come after overrides, patches of the city before', async () => {
    const rig = `${RIG}includes = ["rinc"]
${override('agent = "c"\nnudge = "override"\nwake_mode = "fresh"\ndir = "elsewhere"')}`;
    const moved = await cityOf(rig, FILES);
    expect(moved.agents[0]).toMatchObject({
      qualifiedName: 'elsewhere/c',
      nudge: 'override',
      wakeMode: 'fresh',
    });
    const all = await cityOf(
      `${RIG}includes = ["rinc"]
[[rigs.patches]]
agent = "c"
nudge = "2"
${override('agent = "c"\nnudge = "1"\nstart_command = "1"')}${patch('dir = "r"\nname = "c"\nnudge = "0"\nstart_command = "0"\nwake_mode = "fresh"')}`,
      FILES,
    );
    expect(all.agents[0]).toMatchObject({ nudge: '2', startCommand: '1', wakeMode: 'fresh' });
  });

  it('paths start where the patch stands', async () => {
    const files = {
      ...pack(
        'outer',
        `${imports('in', '../inner')}${patch('name = "i"\nprompt_template = "p.md"\noverlay_dir = "//over"')}`,
      ),
      ...pack('inner', '', ['i', 'j']),
      'outer/p.md': '',
      'p.md': '',
      'over/x': '',
      'inner/p.md': '',
      'inner/agents/j/prompt.md': '',
      'sub/frag.toml': patch('name = "j"\nsession_setup_script = "s.sh"'),
      'sub/s.sh': '',
    };
    const city = await cityOf(`include = ["sub/frag.toml"]\n${imports('o', 'outer')}`, files);
    expect(city.agents[0]).toMatchObject({
      promptTemplate: join(city.root, 'outer/p.md'),
      overlayDir: join(city.root, 'over'),
    });
    expect(city.agents[1]?.sessionSetupScript).toBe(join(city.root, 'sub/s.sh'));
    const over = await cityOf(
      `${imports('o', 'outer')}${patch('name = "j"\nprompt_template = "p.md"')}`,
      files,
    );
    expect(over.agents[1]?.promptTemplate).toBe(join(over.root, 'p.md'));
  });

  it('old keys that nothing reads any more', async () => {
    const city = `${BASE}${patch('name = "a"\nskills_append = ["x"]\nmcp = ["y"]')}`;
    expect(await problemsOf(city)).toEqual([
      'city.toml:11:17 deprecated-key: agent "a": skills is read by nothing any more',
      'city.toml:12:7 deprecated-key: agent "a": mcp is read by nothing any more',
    ]);
  });
});

describe('patches inside packs', () => {
  it('reach what the pack brings by bare name, whatever it is bound as', async () => {
    const files = {
      ...pack(
        'outer',
        `${imports('in', '../inner')}${patch('name = "i"\nnudge = "new"')}${patch('name = "o"\nnudge = "new"')}`,
        ['o'],
      ),
      ...pack('inner', '', ['i']),
    };
    expect(patched(await cityOf(imports('x', 'outer'), files))).toEqual(['x.i', 'x.o']);
    expect(patched(await cityOf(`${RIG}includes = ["outer"]\n`, files))).toEqual(['r/in.i', 'r/o']);
  });

  it('leave the pack itself alone where it comes in another way', async () => {
    const files = {
      ...pack('outer', imports('in', '../inner') + patch('name = "i"\nnudge = "new"')),
      ...pack('inner', '', ['i']),
    };
    const city = await cityOf(imports('a', 'inner') + imports('b', 'outer'), files);
    expect(city.agents.map(({ qualifiedName, nudge }) => [qualifiedName, nudge])).toEqual([
      ['a.i', ''],
      ['b.i', 'new'],
    ]);
  });

  it('that find nothing are errors; of rigs and providers they do nothing', async () => {
    expect(await problemsOf(imports('p', 'p'), pack('p', patch('name = "b"\nnudge = "x"'), ['a']))).toEqual([
      'p/pack.toml:5:8 patch-target: patches.agent[0]: agent "b" not found in pack "p"',
    ]);
    const files = pack(
      'p',
      '[[patches.rigs]]\nname = "r"\n[[patches.providers]]\nname = "q"\n[agent_defaults]\nmodel = "m"\n',
    );
    const city = await cityOf(imports('p', 'p'), files);
    expect(city.notes.map(({ message }) => message)).toEqual([
      'patches.rigs in pack "p" has no effect',
      'patches.providers in pack "p" has no effect',
      'agent_defaults in pack "p" has no effect',
    ]);
  });
});

describe('patches of rigs and providers', () => {
  it('replace values; env is merged; _replace starts anew', async () => {
    const city = await cityOf(`[providers.p]
command = "c"
args = ["x"]
display_name = "P"
env = { A = "1", B = "2" }
[providers.q]
command = "c"
display_name = "Q"
${RIG}[[patches.providers]]
name = "p"
args = ["y"]
ready_delay_ms = 0
env = { B = "3" }
env_remove = ["A"]
[[patches.providers]]
name = "q"
_replace = true
command = "d"
[[patches.rigs]]
name = "r"
path = "sub"
prefix = "zz"
suspended = true
`);
    expect(city.providers).toEqual({
      p: { command: 'c', args: ['y'], displayName: 'P', readyDelayMs: 0, env: { B: '3' } },
      q: { command: 'd', env: {} },
    });
    expect(city.rigs[0]).toMatchObject({ path: join(city.root, 'sub'), prefix: 'zz', suspended: true });
  });

  it('a patched folder of a rig is the one that counts', async () => {
    const city = `${RIG}[[patches.rigs]]\nname = "r"\npath = "gone"\n`;
    expect(await problemsOf(city)).toEqual(['city.toml:2:8 rig-not-found: rig "r": there is no folder gone']);
  });

  it('a provider of a pack can be patched, a built-in one cannot', async () => {
    const files = pack('p', '[providers.mine]\ncommand = "c"\n');
    const city = await cityOf(
      `${imports('p', 'p')}[[patches.providers]]\nname = "mine"\ncommand = "d"\n`,
      files,
    );
    expect(city.providers).toEqual({ mine: { command: 'd', env: {} } });
    expect(
      await problemsOf('[[patches.providers]]\nname = "claude"\n[[patches.rigs]]\nname = "x"\n'),
    ).toEqual(
      [
        'city.toml:4:8 patch-target: patches.rigs[0]: rig "x" not found in merged config',
        'city.toml:2:8 patch-target: patches.providers[0]: provider "claude" not found in merged config',
      ].sort(),
    );
  });
});
