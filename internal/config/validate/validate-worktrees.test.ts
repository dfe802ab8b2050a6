import { describe, expect, it } from 'vitest';
import { brief, loadBad, loadOk, loadOkAt, scratch } from '../testing/scratch-city.ts';
import { resolveWorkDir } from '../work-dir.ts';

const RIG = 'rigs: [{name: proj, path: proj}]\n';
const agent = (lines: string, more = 'dir: proj') =>
  `agents:\n  - name: a\n    start_command: sh\n    ${more}\n    worktree:\n      ${lines}\n`;

describe('worktree', () => {
  it('needs a rig, and says where that is missing', async () => {
    expect(brief(await loadBad({ 'city.yaml': RIG + agent('ports: 2', 'dir: ""'), 'proj/x': '' }))).toEqual([
      '7:7 worktree-without-rig: agent "a": worktree needs a rig, and the agent has none',
    ]);
    const [problem] = await loadBad({ 'city.yaml': agent('ports: 2', 'dir: nowhere') });
    expect(problem).toMatchObject({
      message: 'agent "nowhere/a": worktree needs a rig, and "nowhere" is none',
      hint: 'declare the project under rigs and name it as dir',
    });
  });

  it('has its templates checked', async () => {
    const city = RIG + agent("{branch: 'x/{{.AgntBase}}', setup: ['true', 'echo {{.Sesion}}']}");
    expect(
      (await loadBad({ 'city.yaml': city, 'proj/x': '' })).map((p) => [p.code, p.position?.line]),
    ).toEqual([
      ['template-error', 7],
      ['template-error', 7],
    ]);
  });

  it('warns of one branch for several sessions', async () => {
    const { warnings } = await loadOk({ 'city.yaml': RIG + agent('branch: work'), 'proj/x': '' });
    expect(warnings.map((warning) => warning.code)).toContain('one-branch-for-all');
    const shared = await loadOk({
      'city.yaml': RIG + agent('ports: 1', 'dir: proj\n    work_dir: w'),
      'proj/x': '',
    });
    expect(shared.warnings.map((warning) => warning.code)).toContain('one-worktree-for-all');
    const one = agent('branch: work', 'dir: proj\n    max_active_sessions: 1');
    const fine = await loadOk({ 'city.yaml': RIG + one, 'proj/x': '' });
    expect(fine.warnings.map((warning) => warning.code)).not.toContain('one-branch-for-all');
  });

  it('is in the city, by rig and session, unless a work_dir says otherwise', async () => {
    const dir = scratch({ 'city.yaml': RIG + agent('ports: 2'), 'proj/x': '' });
    const city = await loadOkAt(dir);
    const [a] = city.agents;
    if (!a) throw new Error('no agent');
    const workDir = (found: typeof a) =>
      resolveWorkDir(city, found, { qualifiedName: 'proj/a-2' }, (path) => path);
    expect(workDir(a)).toBe(`${city.root}/.gc/worktrees/proj/a-2`);
    expect(workDir({ ...a, workDir: 'w/{{.AgentBase}}' })).toBe(`${city.root}/w/a-2`);
    expect(workDir({ ...a, worktree: undefined })).toBe(`${city.root}/proj`);
  });
});
