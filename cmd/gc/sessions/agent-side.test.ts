import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { readProcesses } from '../../../internal/platform/process-table.ts';
import { refuseAgents } from './agent-side.ts';

const HAS_PROC = process.platform === 'linux';
const REASON = HAS_PROC ? '' : ' (skipped: only Linux shows the environment of another process)';

describe('an agent cannot answer its own question', () => {
  it('which its environment says', () => {
    expect(() => refuseAgents({ GC_SESSION_ID: 'gc-1' }, process.pid, 'approving')).toThrow(
      'approving is for a person: an agent cannot answer its own question',
    );
  });

  it.runIf(HAS_PROC)(`nor after it has cleared its environment${REASON}`, async () => {
    const agent = spawn('sh', ['-c', 'env -i sleep 30 & echo $!; wait'], {
      env: { PATH: process.env['PATH'], GC_INSTANCE_TOKEN: 'x' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [said] = await once(agent.stdout, 'data');
    const cleared = Number(String(said).trim());
    try {
      expect(() => refuseAgents({}, cleared, 'denying')).toThrow('GC_INSTANCE_TOKEN is set');
    } finally {
      for (const { pid } of readProcesses().filter(({ pid, ppid }) => pid === cleared && ppid === agent.pid))
        process.kill(pid, 'SIGKILL');
      await once(agent, 'exit');
    }
  });
});
