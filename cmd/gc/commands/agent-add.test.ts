import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runIn } from '../testing/fake-city.ts';

let root = '';
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'gc-agent-add-')));
  mkdirSync(join(root, 'shop'));
  writeFileSync(
    join(root, 'city.toml'),
    '[workspace]\nname = "c"\nstart_command = "sh"\n\n[[agent]]\nname = "mayor"\n\n[[rigs]]\nname = "shop"\npath = "./shop"\n',
  );
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const gc = (argv: readonly string[]) =>
  runIn(argv, {
    cwd: root,
    env: { HOME: join(root, '.home'), GC_HOME: join(root, '.home'), GC_BEADS: 'file' },
  });

describe('gc agent add', () => {
  it('makes the folder of an agent', async () => {
    expect((await gc(['agent', 'add', '--name', 'reviewer'])).out).toBe("Scaffolded agent 'reviewer'\n");
    expect(existsSync(join(root, 'agents/reviewer/prompt.template.md'))).toBe(true);
    expect((await gc(['config', 'show'])).out).toContain('reviewer');
    writeFileSync(join(root, 'plan.md'), 'Plan.\r\n\n');
    const ran = await gc([
      'agent',
      'add',
      '--name',
      'shop/planner',
      '--prompt-template',
      'plan.md',
      '--suspended',
    ]);
    expect([ran.code, ran.err]).toEqual([0, '']);
    expect(readFileSync(join(root, 'agents/planner/prompt.template.md'), 'utf8')).toBe('Plan.\r\n\n');
    expect(readFileSync(join(root, 'agents/planner/agent.toml'), 'utf8')).toBe(
      'dir = "shop"\nsuspended = true\n',
    );
    expect((await gc(['config', 'explain', '--agent', 'planner'])).out).toContain('Agent: shop/planner');
  });

  it.each([
    [['--name', 'mayor'], 'agent "mayor" already exists'],
    [[], 'missing --name flag'],
    [['--name', 'a b'], 'cannot be the name of an agent'],
    [['--name', 'x', '--prompt-template', 'no.md'], 'there is no file'],
  ])('refuses %j', async (argv, said) => {
    const ran = await gc(['agent', 'add', ...argv]);
    expect([ran.code, ran.err.includes(said) ? said : ran.err]).toEqual([1, said]);
    expect(existsSync(join(root, 'agents'))).toBe(false);
  });
});
