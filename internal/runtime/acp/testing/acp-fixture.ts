import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../platform/clock.ts';
import { systemIds } from '../../../platform/ids.ts';
import type { StartResult } from '../../provider.ts';
import { runShell } from '../../run-shell.ts';
import { EMPTY_RUNTIME_CONFIG, type RuntimeConfig } from '../../runtime-config.ts';
import { HostFixture } from '../../subprocess/host-fixture.ts';
import { fileSessionLock } from '../../terminal/session-lock.ts';
import type { AcpProviderOptions } from '../acp-options.ts';
import { AcpProvider } from '../acp-provider.ts';
import { type AgentScript, scriptedAgent } from './scripted-agent.ts';

const START_LIMIT_MS = 30_000;
const FILES = 'files';

/** A provider over a host in `dir`, as every process of the city has it. */
export function acpProviderAt(
  dir: string,
  options: Partial<AcpProviderOptions> & Pick<AcpProviderOptions, 'backend'>,
): AcpProvider {
  const files = join(dir, FILES);
  return new AcpProvider({
    clock: systemClock,
    ids: systemIds,
    launcherDir: join(files, 'launch'),
    hostEnv: { PATH: process.env['PATH'] },
    runShell,
    lock: fileSessionLock(join(files, 'locks'), systemClock),
    clientVersion: '1.2.3',
    ...options,
  });
}

/** For tests: ACP providers over one real session host, with scripted agents. */
export class AcpFixture {
  readonly #host = new HostFixture();
  readonly #dir = join(this.#host.dir, FILES);
  readonly provider = this.open();

  /** The host's folder, for providers in other processes. */
  get dir(): string {
    return this.#host.dir;
  }

  open(
    options: Partial<AcpProviderOptions> = {},
    role: 'controller' | 'visitor' = 'controller',
  ): AcpProvider {
    return acpProviderAt(this.#host.dir, { backend: this.#host.backend(role), ...options });
  }

  folder(name: string): string {
    const path = join(this.#dir, 'work', name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  /** A scripted agent that writes down what it is told. */
  config(name: string, script: AgentScript = {}, changes: Partial<RuntimeConfig> = {}): RuntimeConfig {
    const { argv, env } = scriptedAgent({ record: join(this.folder(name), 'heard.jsonl'), ...script });
    const command = argv.map((word) => `'${word}'`).join(' ');
    return {
      ...EMPTY_RUNTIME_CONFIG,
      workDir: this.folder(name),
      command: `exec ${command}`,
      env: { PATH: process.env['PATH'] ?? '', ...env },
      ...changes,
    };
  }

  start(
    name: string,
    script: AgentScript = {},
    changes: Partial<RuntimeConfig> = {},
    provider = this.provider,
  ): Promise<StartResult> {
    return provider.start(name, this.config(name, script, changes), {
      signal: AbortSignal.timeout(START_LIMIT_MS),
    });
  }

  /** What the agent was told with `method`, oldest first. */
  heard(name: string, method: string): readonly Readonly<Record<string, unknown>>[] {
    const file = join(this.folder(name), 'heard.jsonl');
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    const messages = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    return messages.filter((message) => message['method'] === method);
  }

  /** The texts of the prompts that the agent got, the blocks of each joined. */
  prompts(name: string): readonly string[] {
    return this.heard(name, 'session/prompt').map((message) => {
      const { prompt } = message['params'] as { prompt: readonly Record<string, string>[] };
      return prompt.map((block) => block['text'] ?? block['uri'] ?? '').join('|');
    });
  }

  async dispose(): Promise<void> {
    await this.#host.dispose();
  }
}
