import { describe, expect, it } from 'vitest';
import { resolvePreset } from '../config/preset/resolve-preset.ts';
import { loadOk } from '../config/testing/scratch-city.ts';
import { commandFields } from '../config/work-dir.ts';
import { expandCommand, startupHints } from './hints.ts';

describe('startup hints', () => {
  it('carry preset and agent, with commands expanded', async () => {
    const city = await loadOk({
      'city.yaml': `workspace: {provider: claude, install_agent_hooks: [claude]}
session: {setup_timeout: 3s}
agents:
  - name: a
    nudge: hi
    pty: false
    pre_start: ["mk {{.WorkDir}}"]
    session_setup: ["set {{.Session}} {{.ConfigDir}}"]
    session_live: ["live {{.AgentBase}}"]
    process_names: [x]
  - {name: b, start_command: "run {{.Agent}}", install_agent_hooks: []}
`,
    });
    const [a, b] = city.agents;
    if (!a || !b) throw new Error('agents are missing');
    const same = (path: string) => path;
    const fields = commandFields(city, a, { qualifiedName: 'a' }, { name: 'a', workDir: '/w' }, same);
    const hints = startupHints(city, a, resolvePreset(city, a, same), fields);
    expect(hints).toEqual({
      readyPromptPrefix: '❯ ',
      readyDelayMs: 10_000,
      processNames: ['x'],
      emitsPermissionWarning: true,
      nudge: 'hi',
      preStart: ['mk /w'],
      sessionSetup: [`set a ${city.root}`],
      sessionSetupScript: '',
      sessionLive: ['live a'],
      providerName: 'claude',
      installAgentHooks: ['claude'],
      packOverlayDirs: [],
      overlayDir: '',
      copyFiles: [],
      pty: false,
      setupTimeoutMs: 3_000,
    });
    const own = resolvePreset(city, b, same);
    expect(startupHints(city, b, own, fields)).toMatchObject({
      providerName: '',
      installAgentHooks: [],
      pty: true,
    });
    expect(expandCommand(own.command, b, { ...fields, Agent: 'b' })).toBe('run b');
    expect(() => startupHints(city, { ...a, preStart: ['{{.Nope}}'] }, own, fields)).toThrow(
      'pre_start[0] of agent "a":1:3: unknown variable ".Nope"',
    );
  });
});
