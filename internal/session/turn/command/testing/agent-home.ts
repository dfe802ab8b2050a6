import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../../../../platform/paths.ts';

const KEY = 'sk-ant-scripted-scripted';

/** Where a real agent program is, outside of the checkout; `undefined` when it is not installed. */
export function agentProgram(name: 'claude' | 'codex', variable: string): string | undefined {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const file = process.env[variable] ?? join(cache, 'gas-city-agents', name, 'node_modules/.bin', name);
  return existsSync(file) ? file : undefined;
}

/** A home in which Claude Code and Codex run offline, without questions, against a model on loopback. */
export function agentHome(home: string, work: string, modelUrl: string): Environment {
  mkdirSync(join(home, '.claude'), { recursive: true });
  mkdirSync(join(home, '.codex'), { recursive: true });
  const trusted = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true };
  const claude = {
    hasCompletedOnboarding: true,
    theme: 'dark',
    bypassPermissionsModeAccepted: true,
    customApiKeyResponses: { approved: [KEY.slice(-20)], rejected: [] },
    projects: { [realpathSync(work)]: trusted },
  };
  writeFileSync(join(home, '.claude.json'), JSON.stringify(claude));
  const codex = [
    'model = "scripted"',
    'model_provider = "local"',
    '[model_providers.local]',
    'name = "local"',
    `base_url = "${modelUrl}/v1"`,
    'wire_api = "responses"',
    'env_key = "OPENAI_API_KEY"',
  ];
  writeFileSync(join(home, '.codex/config.toml'), `${codex.join('\n')}\n`);
  return {
    HOME: home,
    PATH: process.env['PATH'],
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: KEY,
    OPENAI_API_KEY: 'scripted-key',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
    IS_SANDBOX: '1',
  };
}
