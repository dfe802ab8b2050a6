import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { systemClock } from '../../internal/platform/clock.ts';
import { identityOf } from '../../internal/platform/process-identity.ts';
import { readProcesses } from '../../internal/platform/process-table.ts';
import { killTree } from '../../internal/platform/process-tree.ts';
import type { World } from './program.ts';
import { GEMINI as GEMINI_OVER_ACP } from './real-acp-agents.ts';

/** A real agent program in a terminal, set up for a scripted model on loopback. */
export interface RealAgent {
  /** The preset's name, which is also the agent's in `realCity`. */
  readonly name: string;
  readonly title: string;
  readonly program: string;
  readonly installed: boolean;
  /** What the agent's provider says besides its preset, so that it asks before each command where it can. */
  readonly provider: Readonly<Record<string, unknown>>;
  env(modelUrl: string): Readonly<Record<string, string>>;
  /** Writes its settings into a home of its own. */
  settle(home: string, modelUrl: string): void;
  /** Between two lives: as if time had passed. */
  rest(home: string): void;
}

const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gas-city-agents');

function agent(
  name: string,
  title: string,
  provider: RealAgent['provider'],
  env: RealAgent['env'],
  settle: RealAgent['settle'],
  rest: RealAgent['rest'] = () => undefined,
): RealAgent {
  const variable = `GC_TEST_${name.toUpperCase()}`;
  const program = process.env[variable] ?? join(CACHE, name, 'node_modules/.bin', name);
  return { name, title, program, installed: existsSync(program), provider, env, settle, rest };
}

function put(home: string, file: string, content: string | object): void {
  const path = join(home, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
}

export const CLAUDE = agent(
  'claude',
  'Claude Code',
  { option_defaults: { permission_mode: 'default', effort: 'max' } },
  (url) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'sk-ant-scripted-scripted',
    IS_SANDBOX: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
  }),
  (home) => put(home, '.claude.json', { hasCompletedOnboarding: true, theme: 'dark' }),
);

const CODEX = agent(
  'codex',
  'Codex',
  { option_defaults: { permission_mode: 'suggest', effort: 'low' } },
  () => ({ OPENAI_API_KEY: 'scripted' }),
  (home, url) => {
    const settings = [
      'model = "scripted"',
      'model_provider = "local"',
      '[model_providers.local]',
      'name = "local"',
      `base_url = "${url}/v1"`,
      'wire_api = "responses"',
      'env_key = "OPENAI_API_KEY"',
    ];
    put(home, '.codex/config.toml', `${settings.join('\n')}\n`);
  },
);

const GEMINI = agent(
  'gemini',
  'Gemini CLI',
  // Its choice of a model asks the model for JSON, unless it is told one.
  { option_defaults: { permission_mode: 'default', model: 'gemini-2.5-pro' } },
  (url) => ({ GEMINI_API_KEY: 'scripted', GOOGLE_GEMINI_BASE_URL: url }),
  (home) =>
    put(home, '.gemini/settings.json', {
      security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
      telemetry: { enabled: false },
      privacy: { usageStatisticsEnabled: false },
      general: { disableAutoUpdate: true, disableUpdateNag: true },
    }),
  GEMINI_OVER_ACP.rest,
);

const OPENCODE = agent(
  'opencode',
  'OpenCode',
  { env: { OPENCODE_PERMISSION: '{"*":"allow","bash":"ask"}' } },
  () => ({}),
  (home, url) =>
    put(home, '.config/opencode/opencode.json', {
      autoupdate: false,
      provider: {
        local: {
          npm: '@ai-sdk/openai-compatible',
          name: 'local',
          options: { baseURL: `${url}/v1`, apiKey: 'scripted' },
          models: { scripted: { name: 'scripted' } },
        },
      },
      model: 'local/scripted',
    }),
);

const FREE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

const PI = agent(
  'pi',
  'pi',
  {},
  () => ({ PI_OFFLINE: '1' }),
  (home, url) => {
    const model = { id: 'scripted', name: 'scripted', reasoning: false, input: ['text'], cost: FREE };
    put(home, '.pi/agent/models.json', {
      providers: {
        local: {
          baseUrl: `${url}/v1`,
          apiKey: 'scripted',
          api: 'openai-completions',
          models: [{ ...model, contextWindow: 100_000, maxTokens: 8_000 }],
        },
      },
    });
    put(home, '.pi/agent/settings.json', { defaultProvider: 'local', defaultModel: 'scripted' });
  },
);

export const REAL_AGENTS: readonly RealAgent[] = [CLAUDE, CODEX, GEMINI, OPENCODE, PI];

/** The environment of a user who has these programs on the PATH. */
export function realPath(world: World, agents: readonly RealAgent[]): Readonly<Record<string, string>> {
  const dirs = agents.filter(({ installed }) => installed).map(({ program }) => dirname(program));
  return { PATH: [...dirs, world.env['PATH']].join(delimiter) };
}

/** The city file: one agent per program, of the same name. Each works in a folder of its own. */
export function realCity(
  name: string,
  agents: readonly RealAgent[],
  modelUrl: string,
  mode: 'always' | 'on_demand',
): string {
  // JSON is YAML.
  return [
    `workspace: { name: ${name} }`,
    'session: { startup_timeout: 90s }',
    'providers:',
    ...agents.map((each) => `  ${each.name}: ${JSON.stringify(each.provider)}`),
    'agents:',
    ...agents.map((each) => {
      const about = { name: each.name, provider: each.name, work_dir: each.name };
      return `  - ${JSON.stringify({ ...about, env: each.env(modelUrl) })}`;
    }),
    'named_sessions:',
    ...agents.map((each) => `  - { template: ${each.name}, mode: ${mode} }`),
    '',
  ].join('\n');
}

/** Ends, by pid, what programs leave running beside their sessions: daemons that have no more of the world than its home. */
export async function endHelpers(world: World): Promise<void> {
  for (const { pid } of readProcesses()) {
    if (!environmentOf(pid).includes(`HOME=${world.home}`)) continue;
    const identity = identityOf(pid);
    if (identity) await killTree(identity, { graceMs: 500, clock: systemClock });
  }
}

function environmentOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return []; // it ended meanwhile, or is another user's
  }
}
