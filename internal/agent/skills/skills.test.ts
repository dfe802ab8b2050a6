import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { descriptionOf, readSkills, skillRoots, skillsAppendix } from './catalog.ts';
import { materializeCommand, skillDelivery } from './delivery.ts';
import { linkSkills } from './link-skills.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-skills-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

function put(path: string, text = ''): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
}

const skill = (description: string) => `---\nname: x\ndescription: ${description}\n---\n# X\n`;

describe('the catalog', () => {
  it('is the core pack under the city under the agent', async () => {
    for (const name of ['plan', 'gc-work', 'mail'])
      put(`core/skills/${name}/SKILL.md`, skill(`core ${name}`));
    put('core/skills/.hidden/SKILL.md');
    put('core/skills/README.md');
    put('city/skills/plan/SKILL.md', skill('"the city\'s"'));
    put('city/skills/no-skill/notes.md');
    put('own/mail/SKILL.md', skill('the agent’s'));
    put('other/skills/else/SKILL.md');
    const pack = (name: string, rig = '') => ({ name, rig, dir: join(dir, name) }) as never;
    const city = { skillsDir: join(dir, 'city/skills'), packs: [pack('core'), pack('other')] };
    const skills = await readSkills(skillRoots(city, { skillsDir: join(dir, 'own') }));
    expect(skills.map(({ name, source, description }) => [name, source, description])).toEqual([
      ['gc-work', 'core', 'core gc-work'],
      ['mail', 'agent', 'the agent’s'],
      ['plan', 'city', "the city's"],
    ]);
    expect(skillsAppendix(skills)).toBe(
      "## Skills available to this session\n\n- gc-work: core gc-work\n- mail: the agent’s\n- plan: the city's\n",
    );
    expect(skillsAppendix([])).toBe('');
  });

  it.each([
    ['---\nname: a\n---\n', ''],
    ['no head', ''],
    ['---\ndescription: >\n  folded over\n  two lines\nname: a\n---\n', 'folded over two lines'],
    ["---\ndescription: 'quoted: yes'\n---\n", 'quoted: yes'],
  ])('reads the description in %j', (text, expected) => expect(descriptionOf(text)).toBe(expected));
});

describe('links to skills', () => {
  const sink = () => join(dir, 'work/.claude/skills');
  const link = (...names: readonly string[]) =>
    linkSkills(
      sink(),
      names.map((name) => ({ name, dir: join(dir, 'skills', name) })),
      [join(dir, 'skills')],
    );

  it('are made, moved and removed; what somebody put there stays', async () => {
    put('skills/plan/SKILL.md', 'plan');
    await link('plan', 'old');
    expect(readFileSync(join(sink(), 'plan/SKILL.md'), 'utf8')).toBe('plan');
    put('work/.claude/skills/mine/SKILL.md', 'mine');
    symlinkSync('/elsewhere', join(sink(), 'foreign'));
    expect(await link('plan', 'mine', 'foreign')).toEqual({
      linked: ['plan'],
      removed: ['old'],
      blocked: ['mine', 'foreign'],
    });
    expect(readdirSync(sink()).sort()).toEqual(['foreign', 'mine', 'plan']);
    expect(readlinkSync(join(sink(), 'foreign'))).toBe('/elsewhere');
    expect(lstatSync(join(sink(), 'mine')).isDirectory()).toBe(true);
  });

  it('are not touched when they are right, and no folder is made for none', async () => {
    expect(await link()).toEqual({ linked: [], removed: [], blocked: [] });
    expect(() => lstatSync(sink())).toThrow();
    put('skills/plan/SKILL.md');
    await link('plan');
    const before = lstatSync(join(sink(), 'plan')).ino;
    await link('plan');
    expect(lstatSync(join(sink(), 'plan')).ino).toBe(before);
  });

  it('are not taken for ours because of a folder with a longer name', async () => {
    mkdirSync(sink(), { recursive: true });
    symlinkSync(join(dir, 'skills-of-mine/plan'), join(sink(), 'plan'));
    expect(await link('plan')).toMatchObject({ blocked: ['plan'] });
  });
});

describe('the way to the program', () => {
  const city = { root: '/c', rigs: [{ name: 'r', path: '/r' }] as never };
  const same = (path: string) => path;

  it('is a folder of the city or the rig, for local programs that read skills', () => {
    const of = (agent: { dir: string; session: '' | 'acp' }, kind: string, provider: string) =>
      skillDelivery(city, agent, kind, provider, same);
    expect(of({ dir: 'r', session: '' }, 'claude', 'tmux')).toEqual({
      sink: '.claude/skills',
      scopeRoot: '/r',
    });
    expect(of({ dir: '', session: '' }, 'codex', 'subprocess')).toEqual({
      sink: '.codex/skills',
      scopeRoot: '/c',
    });
    expect(of({ dir: '', session: 'acp' }, 'claude', 'tmux')).toBeUndefined();
    expect(of({ dir: '', session: '' }, 'claude', 'k8s')).toBeUndefined();
    expect(of({ dir: '', session: '' }, 'amp', 'tmux')).toBeUndefined();
  });

  it('goes through a command where a session works elsewhere', () => {
    const delivery = { sink: '.claude/skills', scopeRoot: '/c' };
    expect(materializeCommand(delivery, { qualifiedName: 'r/w' }, '/c/')).toBe('');
    expect(materializeCommand(delivery, { qualifiedName: 'r/w' }, '/c/it is')).toMatch(
      /^"\$\{GC_BIN:-gc\}" internal materialize-skills --agent '?r\/w'? --workdir '\/c\/it is'$/,
    );
  });
});
