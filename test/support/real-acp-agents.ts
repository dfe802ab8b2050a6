import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { PROJECT_ROOT } from './program.ts';

/** A real agent program that speaks the Agent Client Protocol, set up for a scripted model on loopback. */
export interface RealAcpAgent {
  readonly title: string;
  /** Where the program is looked for when the variable is not set. */
  readonly program: string;
  readonly installed: boolean;
  /** The shell command that speaks the protocol. */
  readonly command: string;
  /** The files of its hooks in the core pack; absent where they would have it fetch packages first. */
  readonly hooks?: string;
  /** Writes its settings into a home of its own; answers what its environment must have. */
  settle(home: string, modelUrl: string): Readonly<Record<string, string>>;
  /** Between two lives: as if time had passed. */
  rest(home: string): void;
}

const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gas-city-agents');

function agent(
  title: string,
  variable: string,
  installedAs: string,
  options: string,
  settle: RealAcpAgent['settle'],
  rest: RealAcpAgent['rest'] = () => undefined,
): RealAcpAgent {
  const [folder = '', name = ''] = installedAs.split('/');
  const program = process.env[variable] ?? join(CACHE, folder, 'node_modules/.bin', name);
  const command = `exec '${program}'${options}`;
  return { title, program, installed: existsSync(program), command, settle, rest };
}

const hooksOf = (preset: string) => ({
  hooks: join(PROJECT_ROOT, 'packs/core/overlay/per-provider', preset),
});

function put(home: string, file: string, content: string | object): void {
  const path = join(home, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
}

export const OPENCODE = agent(
  'OpenCode',
  'GC_TEST_OPENCODE',
  'opencode/opencode',
  ' acp',
  (home, modelUrl) => {
    const options = { baseURL: `${modelUrl}/v1`, apiKey: 'scripted' };
    put(home, '.config/opencode/opencode.json', {
      autoupdate: false,
      permission: { bash: 'ask' },
      provider: {
        local: {
          npm: '@ai-sdk/openai-compatible',
          name: 'local',
          options,
          models: { scripted: { name: 'scripted' } },
        },
      },
      model: 'local/scripted',
    });
    return {};
  },
);

export const GEMINI: RealAcpAgent = {
  ...hooksOf('gemini'),
  ...agent(
    'Gemini CLI',
    'GC_TEST_GEMINI',
    'gemini/gemini',
    ' --experimental-acp -m gemini-2.5-pro',
    (home, modelUrl) => {
      put(home, '.gemini/settings.json', {
        security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
        telemetry: { enabled: false },
        privacy: { usageStatisticsEnabled: false },
        general: { disableAutoUpdate: true, disableUpdateNag: true },
      });
      return { GEMINI_API_KEY: 'scripted', GOOGLE_GEMINI_BASE_URL: modelUrl };
    },
    // Release 0.61 names a conversation's file by the minute and begins it anew when it is loaded within the same minute.
    (home) => {
      const root = join(home, '.gemini/tmp');
      for (const file of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
        const older = file.replace(/session-\d{4}-\d\d-\d\dT/, 'session-2020-01-01T');
        if (older !== file) renameSync(join(root, file), join(root, older));
      }
    },
  ),
};

export const CLAUDE_ACP = agent(
  'Claude Code over ACP',
  'GC_TEST_CLAUDE_ACP',
  'claude-acp/claude-code-acp',
  '',
  (home, modelUrl) => {
    put(home, '.claude.json', { hasCompletedOnboarding: true, theme: 'dark' });
    return {
      ANTHROPIC_BASE_URL: modelUrl,
      ANTHROPIC_API_KEY: 'sk-ant-scripted-scripted',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_AUTOUPDATER: '1',
    };
  },
);

export const CODEX_ACP: RealAcpAgent = {
  ...hooksOf('codex'),
  ...agent('Codex over ACP', 'GC_TEST_CODEX_ACP', 'codex-acp/codex-acp', '', (home, modelUrl) => {
    const settings = [
      'model = "scripted"',
      'model_provider = "local"',
      // Every command but a few harmless ones is asked for; a sandbox cannot be had everywhere.
      'approval_policy = "untrusted"',
      'sandbox_mode = "danger-full-access"',
      '[model_providers.local]',
      'name = "local"',
      `base_url = "${modelUrl}/v1"`,
      'wire_api = "responses"',
      'env_key = "OPENAI_API_KEY"',
    ];
    put(home, '.codex/config.toml', `${settings.join('\n')}\n`);
    return { OPENAI_API_KEY: 'scripted' };
  }),
};
