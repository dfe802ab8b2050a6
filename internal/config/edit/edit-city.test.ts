import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadOkAt, scratch } from '../testing/scratch-city.ts';
import { type EditIo, type EditResult, type SuspendTarget, setSuspended } from './edit-city.ts';

const io: EditIo = {
  withLock: (_file, work) => work(),
  write: async (file, text) => writeFileSync(file, text),
  remove: async (file) => rmSync(file),
};

async function edit(dir: string, target: SuspendTarget, suspended: boolean): Promise<EditResult> {
  return setSuspended(await loadOkAt(dir), target, suspended, io);
}
const agent = (qualifiedName: string): SuspendTarget => ({ kind: 'agent', qualifiedName });

async function isSuspended(dir: string, name: string): Promise<boolean | undefined> {
  return (await loadOkAt(dir)).agents.find((candidate) => candidate.qualifiedName === name)?.suspended;
}

const YAML = `# the city
workspace:   # here
  name: bright      # its name

agents:
  # the boss
  - name: mayor   # in charge
    start_command:   sh

  - { name: a, dir: r, start_command: sh }
  - start_command: |
      echo hi
      sh
    name: "late"
  -   name: wide
      start_command: sh
  - {"name": "j", "start_command": "sh",}
  - name: off
    suspended: false  # for now
    start_command: sh
  -
    name: down
    start_command: sh`;

const TOML = `# the city
[workspace]  # here
provider = "claude"   # main

[[agent]]
name   = "mayor"   # in charge
args = [ "a",  # one
  "b" ]

  [[agent]]
  name = "a"
  dir = "r"
  [agent.env]
  A = "1"

[[agent]]
name = "off"
suspended = false
`;

describe('CFG-12: suspend and resume', () => {
  it.each([
    ['yaml', 'mayor', '    suspended: true # by gc agent suspend'],
    ['yaml', 'r/a', 'start_command: sh, suspended: true }'],
    ['yaml', 'late', '    suspended: true # by gc agent suspend'],
    ['yaml', 'wide', '      suspended: true # by gc agent suspend'],
    ['yaml', 'j', '"sh", suspended: true,}'],
    ['yaml', 'off', '    suspended: true  # for now'],
    ['yaml', 'down', '    suspended: true # by gc agent suspend'],
    ['toml', 'mayor', 'suspended = true # by gc agent suspend'],
    ['toml', 'r/a', '  suspended = true # by gc agent suspend'],
    ['toml', 'off', 'suspended = true'],
  ])('%s: %s changes one place and leaves no trace', async (format, name, written) => {
    for (const eol of ['\n', '\r\n']) {
      const text = (format === 'yaml' ? YAML : TOML).replaceAll('\n', eol);
      const dir = scratch({ [`city.${format}`]: text });
      const file = join(dir, `city.${format}`);
      const before = await isSuspended(dir, name);
      expect(before).toBe(false);
      expect(await edit(dir, agent(name), true)).toEqual({ file, changed: true });
      const after = readFileSync(file, 'utf8');
      expect(after).toContain(written);
      expect(await isSuspended(dir, name)).toBe(true);
      expect(await edit(dir, agent(name), true)).toEqual({ file, changed: false });
      expect(await edit(dir, agent(name), false)).toEqual({ file, changed: true });
      expect(readFileSync(file, 'utf8')).toBe(text);
    }
  });

  it('the workspace', async () => {
    for (const [format, text] of [
      ['yaml', YAML],
      ['toml', TOML],
    ] as const) {
      const dir = scratch({ [`city.${format}`]: text });
      await edit(dir, { kind: 'workspace' }, true);
      expect((await loadOkAt(dir)).workspace.suspended).toBe(true);
      await edit(dir, { kind: 'workspace' }, false);
      expect(readFileSync(join(dir, `city.${format}`), 'utf8')).toBe(text);
    }
  });

  it('a rig', async () => {
    for (const [file, text] of [
      [
        'city.yaml',
        'workspace: {start_command: sh}\nrigs:\n  - name: a # first\n    path: ./a\n  - {name: b, path: ./b}\n',
      ],
      [
        'city.toml',
        '[workspace]\nname = "x"\n\n[[rigs]]\nname = "a" # first\npath = "./a"\n\n[[rigs]]\nname = "b"\npath = "./b"\n',
      ],
    ] as const) {
      const dir = scratch({ [file]: text });
      for (const name of ['a', 'b']) await edit(dir, { kind: 'rig', name }, true);
      expect((await loadOkAt(dir)).rigs.map((rig) => rig.suspended)).toEqual([true, true]);
      for (const name of ['b', 'a']) await edit(dir, { kind: 'rig', name }, false);
      expect(readFileSync(join(dir, file), 'utf8')).toBe(text);
    }
  });

  it("a person's own `suspended: true` becomes false and comes back", async () => {
    const text = 'agents:\n  - name: a\n    suspended: true # holiday\n    start_command: sh\n';
    const dir = scratch({ 'city.yaml': text });
    await edit(dir, agent('a'), false);
    expect(readFileSync(join(dir, 'city.yaml'), 'utf8')).toBe(text.replace('true', 'false'));
    await edit(dir, agent('a'), true);
    expect(readFileSync(join(dir, 'city.yaml'), 'utf8')).toBe(text);
  });

  it('agents of folders, with and without a manifest', async () => {
    const manifest = '# note\n\n[env]\nA = "1"\n';
    const dir = scratch({
      'city.yaml': 'workspace: {start_command: sh}\n',
      'agents/a/agent.toml': manifest,
      'agents/b/prompt.md': '',
      'agents/c/agent.yaml': '# only a comment\n',
    });
    for (const name of ['a', 'b', 'c']) {
      await edit(dir, agent(name), true);
      expect(await isSuspended(dir, name), name).toBe(true);
    }
    expect(readFileSync(join(dir, 'agents/b/agent.yaml'), 'utf8')).toBe(
      'suspended: true # by gc agent suspend\n',
    );
    for (const name of ['a', 'b', 'c']) await edit(dir, agent(name), false);
    expect(readFileSync(join(dir, 'agents/a/agent.toml'), 'utf8')).toBe(manifest);
    expect(readFileSync(join(dir, 'agents/c/agent.yaml'), 'utf8')).toBe('# only a comment\n');
    expect(existsSync(join(dir, 'agents/b/agent.yaml'))).toBe(false);
  });

  it.each([
    [
      'an anchor that another agent merges',
      'b',
      'agents:\n  - &b {name: b, start_command: sh}\n  - {<<: *b, name: x}\n',
    ],
    [
      'a value that comes by merging',
      'x',
      'agents:\n  - &b {name: b, start_command: sh, suspended: false}\n  - {<<: *b, name: x}\n',
    ],
    [
      'an explicit false that could not come back',
      'x',
      'agents: [{name: x, start_command: sh, suspended: false}]\n',
    ],
    ['a name over two lines', 'x', 'agents:\n- ? name\n  : x\n  ? start_command\n  : sh\n'],
  ])('%s is refused and the file left alone', async (_what, name, text) => {
    const dir = scratch({ 'city.yaml': text });
    await expect(edit(dir, agent(name), true)).rejects.toMatchObject({ code: 'ambiguous-edit' });
    expect(readFileSync(join(dir, 'city.yaml'), 'utf8')).toBe(text);
  });

  it('looks at the file as it is now', async () => {
    const dir = scratch({
      'city.yaml': 'agents:\n  - {name: a, start_command: sh}\n  - {name: b, start_command: sh}\n',
    });
    const city = await loadOkAt(dir);
    const moved = 'agents:\n  - {name: b, start_command: sh}\n  - {name: a, start_command: sh}\n';
    writeFileSync(city.file, moved);
    await setSuspended(city, agent('a'), true, io);
    expect(readFileSync(city.file, 'utf8')).toBe(
      moved.replace('a, start_command: sh', 'a, start_command: sh, suspended: true'),
    );
    writeFileSync(city.file, 'agents: [');
    await expect(setSuspended(city, agent('a'), false, io)).rejects.toMatchObject({
      code: 'config-unreadable',
      message: expect.stringMatching(/cannot be edited: \d+:\d+ /),
      next: 'repair the file first',
    });
    writeFileSync(city.file, 'agents: [{name: z, start_command: sh}]');
    await expect(setSuspended(city, agent('a'), true, io)).rejects.toMatchObject({ code: 'agent-not-found' });
    await expect(setSuspended(city, agent('bb'), true, io)).rejects.toThrow(
      'agent "bb" not found; did you mean "b"?'.replace('; did you mean "b"?', ''),
    );
  });

  it('holds for cities of any layout', async () => {
    const comment = fc.constantFrom('', '  # c', ' #');
    const gap = fc.constantFrom('', '\n', '  # between\n');
    const yamlAgent = fc
      .record({ dash: fc.constantFrom('- ', '-   '), comment, gap, extra: fc.boolean(), flow: fc.boolean() })
      .map(({ dash, comment: c, gap: g, extra, flow }) => (name: string) => {
        if (flow) return `  - {name: ${name}${extra ? ', nudge: "x, }"' : ''}}${c}\n${g}`;
        const pad = ' '.repeat(2 + dash.length);
        return `  ${dash}name: ${name}${c}\n${extra ? `${pad}nudge: |\n${pad}  suspended: no\n` : ''}${pad}attach: true\n${g}`;
      });
    await fc.assert(
      fc.asyncProperty(fc.array(yamlAgent, { minLength: 1, maxLength: 4 }), fc.nat(), async (parts, pick) => {
        const text = `workspace: {start_command: sh}\nagents:\n${parts.map((part, index) => part(`a${index}`)).join('')}`;
        const dir = scratch({ 'city.yaml': text });
        const name = `a${pick % parts.length}`;
        await edit(dir, agent(name), true);
        const suspended = (await loadOkAt(dir)).agents
          .filter((candidate) => candidate.suspended)
          .map(({ name: n }) => n);
        expect(suspended).toEqual([name]);
        await edit(dir, agent(name), false);
        expect(readFileSync(join(dir, 'city.yaml'), 'utf8')).toBe(text);
      }),
      { numRuns: 60 },
    );
  });
});

describe('agents that stand elsewhere', () => {
  it('are edited in the fragment or in the manifest of the city itself', async () => {
    const fragment = '# more\n[[agent]]\nname = "extra"\nstart_command = "sh"\n';
    const manifest = '[pack]\nname = "me"\nschema = 2\n\n[[agent]]\nname = "own"\nstart_command = "sh"\n';
    const dir = scratch({
      'city.toml': 'include = ["more.toml"]\n',
      'more.toml': fragment,
      'pack.toml': manifest,
    });
    for (const [name, file, text] of [
      ['extra', 'more.toml', fragment],
      ['own', 'pack.toml', manifest],
    ] as const) {
      expect(await edit(dir, agent(name), true)).toEqual({ file: join(dir, file), changed: true });
      expect(await isSuspended(dir, name)).toBe(true);
      await edit(dir, agent(name), false);
      expect(readFileSync(join(dir, file), 'utf8')).toBe(text);
    }
  });
});
