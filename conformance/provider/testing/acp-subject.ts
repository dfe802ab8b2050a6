import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AcpProvider } from '../../../internal/runtime/acp/acp-provider.ts';
import { EMPTY_RUNTIME_CONFIG, type RuntimeConfig } from '../../../internal/runtime/runtime-config.ts';
import { type Ability, ALL_ABILITIES } from '../abilities.ts';
import { installAcpAgent } from '../acp-agents.ts';
import { providerParts, sourceHost } from './host-parts.ts';
import type { OpenSubject } from './subjects.ts';

/** An agent of the protocol has no terminal, no keys of its own and no start-up questions; its prompt is no argument. It is a process of this machine. */
export const ACP_LACKS: readonly Ability[] = ['arguments', 'attach', 'dialogs', 'keys', 'terminal', 'usage'];

/** Agents of the Agent Client Protocol in a session host, run from its source. */
export function acpSubject(
  title = 'acp',
  command?: string,
  env: Readonly<Record<string, string>> = {},
): OpenSubject {
  const scratch = mkdtempSync(join(tmpdir(), 'gc-conf-'));
  const opened: AcpProvider[] = [];
  const provider = (): AcpProvider => {
    const made = new AcpProvider({
      ...providerParts(scratch),
      backend: sourceHost(scratch),
      clientVersion: 'conformance',
    });
    opened.push(made);
    return made;
  };
  const first = provider();
  const idle = join(scratch, 'idle');
  mkdirSync(idle);
  const own: Partial<RuntimeConfig> =
    command === undefined
      ? atPlace(installAcpAgent({ kind: 'recorder' }, idle), idle)
      : { command, env: { PATH: process.env['PATH'] ?? '', ...env } };
  return {
    subject: {
      title,
      provider: first,
      offers: new Set(ALL_ABILITIES.filter((each) => !ACP_LACKS.includes(each))),
      scratch,
      config: () => ({ ...EMPTY_RUNTIME_CONFIG, ...own }),
      agent: installAcpAgent,
      second: async () => provider(),
    },
    close: async () => {
      for (const name of await first.listRunning('')) await first.stop(name, { graceMs: 100 });
      for (const each of opened) await each.close();
      rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

/** The program of one folder, run from any other. */
function atPlace(installed: Partial<RuntimeConfig>, folder: string): Partial<RuntimeConfig> {
  const command = (installed.command ?? '').replace(' agent.mjs ', ` '${join(folder, 'agent.mjs')}' `);
  return { ...installed, command };
}
