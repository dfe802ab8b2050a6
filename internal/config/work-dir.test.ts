import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { slingQueryOf, workQueryOf } from './default-commands.ts';
import { loadOk, scratch } from './testing/scratch-city.ts';
import { commandFields, promptFields, resolveWorkDir, rigOf } from './work-dir.ts';

const asIs = (path: string) => path;

describe('work dirs', () => {
  it('template, else rig by name or path, else folder, else city', async () => {
    const city = await loadOk({
      'city.yaml': `workspace: {name: bright, start_command: s}
rigs: [{name: proj, path: /srv/proj, prefix: PJ}]
agents:
  - {name: a}
  - {name: b, dir: proj}
  - {name: c, dir: sub/x}
  - {name: d, dir: link}
  - {name: e, dir: proj, work_dir: "w/{{.CityName}}/{{.Rig}}/{{.AgentBase}}"}
  - {name: f, dir: proj, work_dir: "{{.RigRoot}}/../{{basename}}"}
`.replace('{{basename}}', 'y'),
    });
    const realPath = (path: string) => (path === join(city.root, 'link') ? '/srv/proj' : path);
    const dirs = city.agents.map((agent) =>
      resolveWorkDir(city, agent, { qualifiedName: `${agent.qualifiedName}-1` }, realPath),
    );
    expect(dirs).toEqual([
      city.root,
      '/srv/proj',
      join(city.root, 'sub/x'),
      '/srv/proj',
      join(city.root, 'w/bright/proj/e-1'),
      '/srv/y',
    ]);
    const [, b, c] = city.agents;
    if (!b || !c) throw new Error('agents are missing');
    expect(rigOf(city, c, asIs)).toBeUndefined();
    const session = { name: 'proj--b', workDir: '/w' };
    expect(commandFields(city, b, { qualifiedName: 'proj/b' }, session, asIs)).toEqual({
      Session: 'proj--b',
      Agent: 'proj/b',
      AgentBase: 'b',
      Rig: 'proj',
      RigRoot: '/srv/proj',
      CityRoot: city.root,
      CityName: 'bright',
      WorkDir: '/w',
      ConfigDir: city.root,
    });
    const prompt = { workDir: '/w', branch: '', defaultBranch: 'main' };
    expect(promptFields(city, b, { qualifiedName: 'proj/b' }, prompt, asIs)).toMatchObject({
      IssuePrefix: 'PJ',
      TemplateName: 'b',
    });
    expect(promptFields(city, c, { qualifiedName: 'sub/x/c' }, prompt, asIs)).toMatchObject({
      IssuePrefix: 'br',
      RigName: '',
    });
  });
});

describe('default commands', () => {
  const agent = { workQuery: '', slingQuery: '', qualifiedName: 'proj/worker' };

  it('the own ones win', () => {
    expect(workQueryOf({ ...agent, workQuery: 'mine' })).toBe('mine');
    expect(slingQueryOf({ ...agent, slingQuery: 'mine {}' })).toBe('mine {}');
    expect(slingQueryOf(agent)).toBe('bd update {} --set-metadata gc.routed_to=proj/worker');
  });

  it('the work query asks tier by tier and stops at the first answer', () => {
    const dir = scratch({});
    const run = (answers: string, env: Record<string, string>) => {
      writeFileSync(join(dir, 'bd'), `#!/bin/sh\necho "$*" >>"${dir}/calls"\n${answers}\necho '[]'\n`);
      chmodSync(join(dir, 'bd'), 0o755);
      return execFileSync('sh', ['-c', workQueryOf(agent)], {
        encoding: 'utf8',
        env: { PATH: `${dir}:/usr/bin:/bin`, ...env },
      });
    };
    expect(
      run(`case "$*" in "ready --assignee=x "*) echo '[{"id":1}]'; exit;; esac`, { GC_ALIAS: 'x' }),
    ).toBe('[{"id":1}]\n');
    const routed = `case "$*" in *gc.routed_to=proj/worker*--unassigned*) echo '[{"id":2}]'; exit;; esac`;
    expect(run(routed, { GC_SESSION_ORIGIN: 'ephemeral', GC_SESSION_ID: 's' })).toBe('[{"id":2}]\n');
    expect(run(routed, {})).toBe('[{"id":2}]\n');
    expect(run(routed, { GC_SESSION_ORIGIN: 'named' })).toBe('');
  });
});
