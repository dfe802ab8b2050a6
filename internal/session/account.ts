import { createHash } from 'node:crypto';
import { join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** Names which account an agent works with. A digest: nothing of a key can be read from it. */
export type AccountId = string;

/** The record's key: which account the session was last started with. */
export const ACCOUNT_KEY = 'account';

const ID_DIGITS = 16;

interface Selection {
  /** Where the program keeps who is logged in, unless it is told. */
  readonly folder: (env: Environment) => string;
  /** What takes the place of a login. */
  readonly keys: readonly string[];
}

const home = (env: Environment, ...parts: readonly string[]): string => join(env['HOME'] ?? '', ...parts);

/** Keys of model providers, for programs that work with any of them. */
const PROVIDER_KEYS: readonly string[] = [
  'ANTHROPIC_API_KEY',
  'OPENAI_API_KEY',
  'GEMINI_API_KEY',
  'GOOGLE_API_KEY',
  'OPENROUTER_API_KEY',
];

const SELECTIONS: Readonly<Record<string, Selection>> = {
  claude: {
    folder: (env) => env['CLAUDE_CONFIG_DIR'] || home(env, '.claude'),
    keys: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN', 'ANTHROPIC_BASE_URL'],
  },
  codex: {
    folder: (env) => env['CODEX_HOME'] || home(env, '.codex'),
    keys: ['OPENAI_API_KEY', 'CODEX_API_KEY', 'OPENAI_BASE_URL'],
  },
  gemini: {
    folder: (env) => join(env['GEMINI_CLI_HOME'] || home(env), '.gemini'),
    keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_CLOUD_PROJECT', 'GOOGLE_APPLICATION_CREDENTIALS'],
  },
  opencode: {
    folder: (env) => join(env['XDG_DATA_HOME'] || home(env, '.local', 'share'), 'opencode'),
    keys: PROVIDER_KEYS,
  },
  pi: {
    folder: (env) => env['PI_CODING_AGENT_DIR'] || home(env, '.pi', 'agent'),
    keys: PROVIDER_KEYS,
  },
};

/**
 * The account that an agent of this kind has with this environment: sessions with the same one reach the same limits.
 * `''` for programs of which nothing is known: each of their sessions stands for itself.
 */
export function accountOf(kind: string, env: Environment): AccountId {
  const selection = Object.hasOwn(SELECTIONS, kind) ? SELECTIONS[kind] : undefined;
  if (!selection) return '';
  const chosen = selection.keys.map((key) => [key, env[key] ?? '']);
  const text = JSON.stringify([kind, selection.folder(env), chosen]);
  return createHash('sha256').update(text).digest('hex').slice(0, ID_DIGITS);
}
