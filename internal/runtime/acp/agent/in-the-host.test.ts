import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import { leadersStartedWith } from '../../host/process-evidence.ts';
import { RESULTS } from '../../host/protocol.ts';
import { reapLedger } from '../../host/reap.ts';
import { conversationFile } from '../../host/runtime-files.ts';
import type { HostBackend } from '../../subprocess/host-backend.ts';
import { HostFixture, isAlive, NEVER, screenHas, until } from '../../subprocess/host-fixture.ts';
import { scriptedAgent } from '../testing/scripted-agent.ts';

const SLEEPER = 'echo pid=$$; exec sleep 300';

describe('an agent in the session host', () => {
  let fixture: HostFixture;
  let backend: HostBackend;
  beforeAll(() => {
    fixture = new HostFixture();
    backend = fixture.backend();
  });
  afterAll(() => fixture.dispose());

  /** Starts an agent that runs a command through its client, and answers that command's number. */
  async function runningCommand(name: string): Promise<number> {
    const script = {
      prompts: [{ steps: [{ terminal: { command: SLEEPER, steps: ['output', 'wait'] as const } }] }],
    };
    const { argv, env } = scriptedAgent(script);
    await backend.open(
      name,
      {
        argv,
        cwd: fixture.dir,
        env: { PATH: '/usr/bin:/bin', GC_INSTANCE_TOKEN: `token-of-${name}`, ...env },
        pty: false,
        columns: 200,
        rows: 24,
        acp: { conversation: '', handshakeMs: 10_000, clientVersion: '1.0.0' },
      },
      NEVER,
    );
    const state = await backend.ask(
      { op: 'acpWait', name, until: 'ready', timeoutMs: 8_000 },
      RESULTS.acpWait,
    );
    expect(state.phase).toBe('ready');
    await backend.ask({ op: 'acpPrompt', name, blocks: [{ type: 'text', text: 'go' }] }, RESULTS.acpPrompt);
    await screenHas(backend, name, `* ${SLEEPER}`);
    return until('the command runs', () => numberOf(name));
  }

  /** The command of this session, found by its mark. */
  function numberOf(name: string): number | undefined {
    return leadersStartedWith('GC_ACP_TERMINAL_OF', `token-of-${name}`)[0];
  }

  it('takes the commands that it runs for the agent along when the session is ended', async () => {
    const command = await runningCommand('one');
    await backend.kill('one', 2_000);
    expect(isAlive(command)).toBe(false);
    expect(existsSync(conversationFile(fixture.dir, 'one'))).toBe(true);
    expect(existsSync(join(fixture.dir, 'ledger', 'one.json'))).toBe(false);
  });

  it('leaves no command behind when the host itself is killed', async () => {
    const command = await runningCommand('two');
    process.kill(fixture.hostPid, 'SIGKILL');
    await until('the lock is free', () => reapLedger(fixture.dir, systemClock));
    expect(isAlive(command)).toBe(false);
  });
});
