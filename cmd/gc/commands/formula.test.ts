import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { installSystemPacks } from '../../../internal/controller/system-packs.ts';
import { runIn } from '../testing/fake-city.ts';

let base: string;
let root: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'gc-formula-')));
  root = join(base, 'city');
  put('city.yaml', 'workspace: {name: c, includes: [packs/a]}\n');
  put('packs/a/pack.toml', '[pack]\nname = "a"\nschema = 2\n');
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

const gc = (...argv: string[]) =>
  runIn(argv, { env: { HOME: base, GC_HOME: join(base, 'gc'), PATH: '' }, cwd: root });

const BASE = `description = "Base"
[vars.issue]
description = "Id"
required = true
[vars.how]
default = "fast"
enum = ["fast", "slow"]
[[steps]]
id = "load"
title = "Load {{issue}}"
[[steps]]
id = "do"
title = "Do it {{how}}"
needs = ["load"]
`;
const CHILD = `formula = "child"
extends = ["base"]
[vars]
extra = "x"
[[steps]]
id = "do"
title = "Do it otherwise"
description = "Take {{issue}}, \\\\n is kept, \${shell} too."
needs = ["load"]
[[steps]]
id = "end"
needs = ["do"]
`;

describe('gc formula', () => {
  beforeEach(() => {
    put('packs/a/formulas/base.toml', BASE);
    put('formulas/child.formula.toml', CHILD);
  });

  it('lists and shows, with what is extended put in', async () => {
    expect((await gc('formula', 'list')).out).toBe('base\nchild\n');
    const ran = await gc('formula', 'show', 'child');
    expect(ran).toEqual({
      code: 0,
      err: '',
      out: `Formula: child
Description: Base
Version: 1
Extends: base
Source: formulas/child.formula.toml
Variables:
  issue  Id  (required)
  how      (default "fast"; one of fast, slow)
  extra    (default "x")
Steps (3):
  1. load: Load {{issue}}
  2. do: Do it otherwise  (after load)
  3. end  (after do)
`,
    });
  });

  it('puts values in, and refuses wrong ones', async () => {
    const ran = await gc('formula', 'show', 'child', '--var', 'issue=c-1', '-v');
    expect(ran.out).toContain('1. load: Load c-1\n');
    expect(ran.out).toContain(`     Take c-1, \\n is kept, \${shell} too.\n`);
    expect((await gc('formula', 'show', 'base', '--var', 'isue=1')).err).toContain('did you mean "issue"?');
    expect((await gc('formula', 'show', 'base', '--var', 'how=fast')).err).toContain('"issue" is required');
    const wrong = await gc('formula', 'show', 'base', '--var', 'issue=1', '--var', 'how=so');
    expect(wrong.err).toContain('variable "how" must be one of fast, slow, not "so"');
  });

  it.each([
    [
      'no such formula',
      'chld',
      '',
      'formula "chld" not found; did you mean "child"?\n  next: gc formula list',
    ],
    ['a missing parent', 'x', 'extends = ["bas"]', 'x.toml:1:12: error: formula "x" extends "bas"'],
    ['a circle', 'x', 'extends = ["x"]', 'formula "x" extends itself: x -> x'],
    ['an unknown need', 'x', '[[steps]]\nid = "a"\nneeds = ["b"]', 'x.toml:2:6'],
    ['a circle of steps', 'x', '[[steps]]\nid = "a"\nneeds = ["a"]', 'steps wait for each other: a -> a'],
    ['a step twice', 'x', '[[steps]]\nid = "a"\n[[steps]]\nid = "a"', 'there are two steps "a"'],
    ['a later version', 'x', 'version = 2', 'formula "x" has version 2, which needs formula_v2'],
    ['no TOML', 'x', 'version = = 2', 'x.toml:1'],
  ])('says what is wrong: %s', async (_what, name, text, message) => {
    if (text !== '') put('formulas/x.toml', `${text}\n`);
    const ran = await gc('formula', 'show', name);
    expect(ran).toMatchObject({ code: 1, out: '' });
    expect(ran.err).toContain(message);
  });

  it('shows a later version once the city allows it, and a rig its own', async () => {
    put('packs/b/pack.toml', '[pack]\nname = "b"\nschema = 2\n');
    put('packs/b/formulas/two.toml', 'version = 2\n[[steps]]\nid = "a"\n');
    put('rig/x', '');
    put(
      'city.yaml',
      'workspace: {name: c}\ndaemon: {formula_v2: true}\nrigs: [{name: r, path: rig, includes: [packs/b]}]\n',
    );
    expect((await gc('formula', 'list')).out).toBe('child\n');
    expect((await gc('formula', 'list', '--rig', 'r')).out).toBe('child\ntwo\n');
    const shown = JSON.parse((await gc('formula', 'show', 'two', '--rig', 'r', '--json')).out);
    expect(shown).toMatchObject({ name: 'two', version: 2, steps: [{ id: 'a', line: 3 }] });
    expect((await gc('formula', 'list', '--rig', 'q')).err).toContain('rig "q" not found');
  });
});

describe('gc order', () => {
  const order = (path: string, body: string) => put(path, `[order]\n${body}\n`);

  it('lists what is in force, later layers winning', async () => {
    expect((await gc('order', 'list')).out).toBe('No orders found.\n');
    order('packs/a/orders/sweep.toml', 'exec = "true"\ngate = "cooldown"\ninterval = "90s"');
    order(
      'packs/a/orders/old.order.toml',
      'formula = "f"\ngate = "cron"\nschedule = "0 3 * * 1,2"\npool = "dog"',
    );
    order('packs/a/orders/folder/order.toml', 'exec = "x"\ngate = "manual"');
    order('packs/a/orders/off.toml', 'exec = "x"\ngate = "manual"\nenabled = false');
    order('orders/folder.toml', 'exec = "y"\ngate = "event"\non = "bead.closed"');
    expect((await gc('order', 'list')).out).toBe(`NAME    TYPE     GATE      INTERVAL/SCHED  TARGET
folder  exec     event     bead.closed     -
old     formula  cron      0 3 * * 1,2     dog
sweep   exec     cooldown  1m30s           -
`);
    expect((await gc('order', 'show', 'folder')).out).toBe(`Order:    folder
Exec:     y
Gate:     event
On:       bead.closed
Timeout:  5m
Source:   orders/folder.toml:1:2
`);
    expect((await gc('order', 'show', 'swep')).err).toContain(
      'order "swep" not found; did you mean "sweep"?',
    );
    expect((await gc('order')).err).toContain('missing subcommand (list, show)');
  });

  it('of rigs are their own, changed and skipped as the city says', async () => {
    put('rig/x', '');
    put(
      'city.yaml',
      `workspace: {name: c, includes: [packs/a]}
rigs: [{name: r, path: rig, includes: [packs/a]}]
orders:
  skip: [gone]
  max_timeout: 10s
  overrides: [{name: work, rig: r, interval: 1h}, {name: wrk}]
`,
    );
    order('packs/a/orders/work.toml', 'formula = "f"\ngate = "cooldown"\ninterval = "1m"\npool = "dog"');
    order('packs/a/orders/gone.toml', 'exec = "x"\ngate = "manual"');
    const ran = await gc('order', 'list');
    expect(ran.out).toBe(`NAME  TYPE     GATE      INTERVAL/SCHED  RIG  TARGET
work  formula  cooldown  1m              -    dog
work  formula  cooldown  1h              r    r/dog
`);
    expect(ran.err).toContain('the city has no order "wrk"; did you mean "work"?');
    const one = JSON.parse((await gc('order', 'show', 'work', '--rig', 'r', '--json')).out);
    expect(one).toMatchObject({
      scoped_name: 'work:rig:r',
      pool: 'r/dog',
      interval: '1h',
      timeout_ms: 10_000,
    });
    expect(JSON.parse((await gc('order', 'show', 'work:rig:r', '--json')).out)).toEqual(one);
  });

  it.each([
    ['exec = "x"\nformula = "f"\ngate = "manual"', 'formula and exec exclude each other'],
    ['gate = "manual"', 'it needs a formula or an exec'],
    ['exec = "x"\npool = "p"\ngate = "manual"', 'an exec runs by itself'],
    ['exec = "x"\ngate = "cooldown"', 'the gate "cooldown" needs interval'],
    ['exec = "x"\ngate = "cron"\nschedule = "* * *"', '"* * *" is no schedule'],
    ['exec = "x"\ngate = "sometimes"', 'must be one of cooldown, cron'],
    ['exec = "x"', 'gate is required'],
    ['exec = "x"\ngate = "cooldown"\ninterval = "soon"', 'is not a duration'],
  ])('says where an order is wrong: %j', async (body, message) => {
    order('orders/bad.toml', body);
    const ran = await gc('order', 'list');
    expect(ran.out).toBe('No orders found.\n');
    expect(ran.err).toMatch(/^orders\/bad\.toml:\d+:\d+/);
    expect(ran.err).toContain(message);
  });

  it('finds those of the shipped packs', async () => {
    const programRoot = join(import.meta.dirname, '../../..');
    await installSystemPacks({ cityRoot: root, programRoot });
    put('city.yaml', 'workspace: {name: c, includes: [.gc/system/packs/gastown]}\nbeads: {provider: bd}\n');
    const count = async () => JSON.parse((await gc('order', 'list', '--json')).out).length;
    expect(await count()).toBe(17);
    put('rig/x', '');
    put(
      'city.yaml',
      'workspace: {name: c, includes: [.gc/system/packs/gastown]}\nrigs: [{name: r, path: rig, includes: [.gc/system/packs/gastown]}]\n',
    );
    expect(await count()).toBe(10 + 9);
  });
});
