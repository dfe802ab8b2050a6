import { mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runIn } from '../testing/fake-city.ts';

let root = '';
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'gc-dry-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const dryRun = (file: string) => {
  writeFileSync(join(root, 'city.yaml'), file);
  return runIn(['start', '--dry-run'], { cwd: root, env: { GC_HOME: join(root, 'home') } });
};

describe('gc start --dry-run', () => {
  it('lists what would start and touches nothing', async () => {
    const ran = await dryRun(`
workspace: { name: c }
agents:
  - { name: mayor, start_command: sleep 9 }
  - { name: worker, start_command: sleep 9, depends_on: [helper] }
  - { name: helper, start_command: sleep 9 }
  - { name: idle, start_command: sleep 9 }
  - { name: off, start_command: sleep 9, suspended: true }
named_sessions:
  - { template: mayor, mode: always }
  - { template: worker, mode: always }
  - { template: idle, mode: on_demand }
  - { template: off, mode: always }
`);
    expect(ran).toEqual({
      code: 0,
      out: [
        'Dry-run: 3 agent(s) would start in city "c"',
        '  helper                          session=helper',
        '  mayor                           session=mayor',
        '  worker                          session=worker',
        '1 agent(s) suspended',
        'No side effects executed (--dry-run).',
        '',
      ].join('\n'),
      err: '',
    });
    expect(readdirSync(root)).toEqual(['city.yaml']);
  });

  it('counts the floors of pools, and says what cannot start', async () => {
    const ran = await dryRun(`
workspace: { name: c, provider: claude }
agents:
  - { name: mayor }
  - { name: coder, start_command: sleep 9, min_active_sessions: 2, max_active_sessions: 5 }
  - { name: dog, start_command: sleep 9, max_active_sessions: 3 }
named_sessions: [{ template: mayor, mode: always }]
`);
    expect(ran.code).toBe(0);
    expect(ran.out).toBe(
      [
        'Dry-run: 3 agent(s) would start in city "c"',
        '  coder-1                         session=coder-1',
        '  coder-2                         session=coder-2',
        '  mayor                           session=mayor',
        '1 agent(s) cannot start: provider not found in PATH: "claude" (provider "claude")',
        'No side effects executed (--dry-run).',
        '',
      ].join('\n'),
    );
  });

  it('says when nothing would start', async () => {
    const ran = await dryRun('workspace: { name: c }\nagents: [{ name: a, start_command: sleep 9 }]\n');
    expect(ran.out).toContain('Dry-run: 0 agent(s) would start in city "c"\n  (no agents to start)\n');
  });

  it('CFG-15 shows every error of the city file with its place, and nothing else', async () => {
    const ran = await dryRun('workspace: { name: c }\nagents: [{ name: a, start_comand: x }]\nsesion: {}\n');
    expect(ran).toMatchObject({ code: 1, out: '' });
    expect(ran.err).toMatch(/^city\.yaml:2:\d+: error: .*start_comand.*did you mean "start_command"/m);
    expect(ran.err).toMatch(/^city\.yaml:3:1: error: .*sesion/m);
    expect(ran.err).toMatch(/^gc start: 2 errors\. Nothing was changed/m);
  });
});
