import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cityRuntimeDir, raiseTurnFlag } from '../../../internal/controller/turn-flags.ts';
import { runIn } from '../testing/fake-city.ts';

let root = '';
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'gc-side-')));
  put('mayor.template.md', 'I am {{.AgentName}}, {{.Branch}} from {{.DefaultBranch}}.\n');
  put('city.yaml', CITY);
});
afterEach(() => rmSync(root, { recursive: true }));

const CITY = `workspace: { name: town }
agents:
  - { name: mayor, start_command: x, prompt_template: mayor.template.md, max_active_sessions: 1 }
  - name: dog
    provider: claude
    prompt_template: mayor.template.md
    max_active_sessions: 3
    work_query: 'cat "$GC_CITY/work"; echo "$GC_ALIAS $BEADS_DIR" >> "$GC_CITY/asked"'
  - { name: broken, start_command: x, work_query: "echo oops >&2; exit 3" }
  - { name: idle, start_command: x, prompt_template: mayor.template.md, suspended: true }
`;

function put(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

const gc = (words: readonly string[], env: Record<string, string> = {}, stdin = '') =>
  runIn(words, {
    cwd: root,
    env: {
      HOME: join(root, '.home'),
      GC_HOME: join(root, '.home/.gc'),
      PATH: process.env['PATH'] ?? '',
      ...env,
    },
    stdin,
  });

const DOG = {
  GC_SESSION_NAME: 'dog-2',
  GC_SESSION_ID: 'gc-9',
  GC_TEMPLATE: 'dog',
  GC_ALIAS: 'dog-2',
  GC_SESSION_ORIGIN: 'ephemeral',
};
const start = (source: string) =>
  JSON.stringify({ hook_event_name: 'SessionStart', session_id: 'c', source });

describe('gc prime', () => {
  it('prints the prompt of the named agent, of the session, or a general one; never fails', async () => {
    expect(await gc(['prime', 'mayor'])).toMatchObject({ code: 0, out: 'I am mayor,  from main.\n' });
    expect((await gc(['prime'], { ...DOG, GC_BRANCH: 'topic' })).out).toBe('I am dog-2, topic from main.\n');
    expect((await gc(['prime', 'dog-3'])).out).toBe('I am dog-3,  from main.\n');
    expect((await gc(['prime'], { GC_AGENT: 'mayor' })).out).toContain('I am mayor');
    for (const words of [['prime'], ['prime', 'nobody'], ['prime', 'broken']]) {
      const { code, out } = await gc(words);
      expect([code, out.split('\n')[0]]).toEqual([0, '# Gas City Agent']);
      expect(out).toMatch(/bd ready[\s\S]*bd show[\s\S]*bd close/);
    }
    expect(await gc(['prime', 'idle'])).toMatchObject({ code: 0, out: '' });
  });

  it('says who the session is and notes it when a hook calls', async () => {
    const { out } = await gc(['prime', '--hook'], { ...DOG, GC_PROMPT_BY: 'hook' }, start('startup'));
    expect(out).toMatch(/^\[town\] dog-2 • \d{4}-\d\d-\d\dT[\d:]{8}\n\nI am dog-2, {2}from main\.\n$/);
    expect(readFileSync(join(root, '.runtime/session_id'), 'utf8')).toBe('gc-9\n');
  });

  it('says the prompt once: not where the start said it, not by two hooks, not to a person', async () => {
    const said = async (words: readonly string[], env: Record<string, string>, stdin: string) =>
      (await gc(words, env, stdin)).out !== '';
    const byStart = { ...DOG, GC_PROMPT_BY: 'start' };
    expect(await said(['prime', '--hook'], byStart, start('startup'))).toBe(false);
    expect(await said(['prime', '--hook'], byStart, start('compact'))).toBe(true);
    const byHook = { ...DOG, GC_PROMPT_BY: 'hook' };
    expect(await said(['prime'], byHook, start('startup'))).toBe(false);
    expect(await said(['prime'], byHook, '')).toBe(true);
    expect(await said(['prime', '--hook'], {}, start('startup'))).toBe(false);
    expect(existsSync(join(root, '.runtime'))).toBe(true);
  });

  it('falls back to the general prompt while the config is wrong and never was right', async () => {
    put('city.yaml', 'agents: [');
    const { code, out } = await gc(['prime', 'mayor']);
    expect([code, out.split('\n')[0]]).toEqual([0, '# Gas City Agent']);
  });
});

describe('gc hook', () => {
  it('prints the work and says by its exit code whether there is any', async () => {
    put('work', '{"id":"t-1"}\n');
    expect(await gc(['hook', 'dog-2'])).toMatchObject({ code: 0, out: '[{"id":"t-1"}]\n' });
    expect(readFileSync(join(root, 'asked'), 'utf8')).toBe('dog-2 \n');
    put('work', '[]\n');
    expect(await gc(['hook'], DOG)).toMatchObject({ code: 1, out: '[]\n' });
  });

  it.each([
    [[], 'agent not specified (set $GC_AGENT or pass as argument)'],
    [['nobody'], 'agent "nobody" not found in config'],
    [['idle'], 'agent "idle" is suspended'],
    [['broken'], 'exit 3: oops'],
  ])('%j is an error, and silence with --inject', async (words, message) => {
    const plain = await gc(['hook', ...words]);
    expect([plain.code, plain.out]).toEqual([1, '']);
    expect(plain.err).toContain(message);
    expect(await gc(['hook', '--inject', ...words])).toMatchObject({ code: 0, out: '', err: '' });
  });

  it('tells a session of its work, keeps it from stopping once, and takes the flag down when there is none', async () => {
    const flag = join(cityRuntimeDir(root), 'turns', 'dog-2');
    const stop = (more: object = {}) => JSON.stringify({ hook_event_name: 'Stop', ...more });
    await raiseTurnFlag(cityRuntimeDir(root), 'dog-2');
    put('work', '[{"id":"t-1"}]');
    const inject = async (stdin: string) => (await gc(['hook', '--inject'], DOG, stdin)).out;
    expect(await inject('')).toMatch(
      /^<system-reminder>\n[\s\S]*<work-items>\n\[\{"id":"t-1"\}\]\n<\/work-items>/,
    );
    expect(await inject(stop({ stop_hook_active: true }))).toBe('');
    expect(JSON.parse(await inject(stop()))).toMatchObject({
      decision: 'block',
      reason: expect.stringContaining('t-1'),
    });
    expect(await inject(stop())).toBe('');
    put('work', '[{"id":"t-2"}]');
    expect(await inject(stop())).toContain('t-2');
    expect(existsSync(flag)).toBe(true);
    put('work', '');
    expect(await inject(stop())).toBe('');
    expect(existsSync(flag)).toBe(false);
  });
});

describe('skills', () => {
  it('are listed with their source and linked for a session', async () => {
    put('skills/plan/SKILL.md', '---\ndescription: plans\n---\n');
    put('agents/dog/skills/fetch/SKILL.md', '');
    const list = JSON.parse((await gc(['skill', 'list', '--agent', 'dog', '--json'])).out);
    expect(list).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'plan', source: 'city', description: 'plans' }),
      ]),
    );
    const linked = await gc([
      'internal',
      'materialize-skills',
      '--agent',
      'dog',
      '--workdir',
      join(root, 'w'),
    ]);
    expect(linked.out).toContain('materialized');
    expect(readlinkSync(join(root, 'w/.claude/skills/plan'))).toBe(join(root, 'skills/plan'));
    expect((await gc(['skill', 'list', '--agent', 'a', '--session', 'b'])).code).toBe(1);
  });
});
