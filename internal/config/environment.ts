import { join } from 'node:path';
import type { Environment } from '../platform/paths.ts';

/** Variables of the controller's environment that every session gets. Source: Gas City environment reference. */
const PASSED = ['PATH', 'HOME', 'USER', 'LOGNAME', 'CLAUDE_CONFIG_DIR', 'CLAUDE_CODE_OAUTH_TOKEN'] as const;
const PASSED_PREFIXES = ['GC_', 'ANTHROPIC_', 'OTEL_'] as const;

/** Marks of an enclosing Claude Code: emptied, so that an agent does not think it runs inside another. */
const EMPTIED = ['CLAUDECODE', 'CLAUDE_CODE_ENTRYPOINT'] as const;

/** Identity of the session in which `gc start` happened to be typed: never another session's. */
const OF_ONE_SESSION: ReadonlySet<string> = new Set([
  'GC_SESSION_ID',
  'GC_SESSION_NAME',
  'GC_SESSION_ORIGIN',
  'GC_ALIAS',
  'GC_AGENT',
  'GC_TEMPLATE',
  'GC_PROVIDER',
  'GC_DIR',
  'GC_RIG',
  'GC_RIG_ROOT',
  'GC_RUNTIME_EPOCH',
  'GC_CONTINUATION_EPOCH',
  'GC_INSTANCE_TOKEN',
  'GC_WORKTREE',
  'GC_BRANCH',
  'GC_PORT',
  'GC_PORT_COUNT',
]);

/** Secrets of the controller: in no session, whoever sets them. */
const SECRETS: ReadonlySet<string> = new Set(['GC_CONTROLLER_TOKEN', 'GC_CONVERGENCE_TOKEN']);

export interface EnvironmentLayers {
  /** The controller's own environment. */
  readonly env: Environment;
  /** `env` of the preset; `$NAME` is expanded. */
  readonly provider: Readonly<Record<string, string>>;
  /** `env` of the agent; `$NAME` is expanded. */
  readonly agent: Readonly<Record<string, string>>;
  /** What the controller says about the session. An empty value means: unset there. */
  readonly computed: Readonly<Record<string, string>>;
}

/** The environment of a session; later layers win. */
export function sessionEnvironment(layers: EnvironmentLayers): Readonly<Record<string, string>> {
  const merged: Record<string, string> = {
    ...passedEnvironment(layers.env),
    ...expandAll(layers.provider, layers.env),
    ...expandAll(layers.agent, layers.env),
    ...layers.computed,
  };
  for (const name of SECRETS) delete merged[name];
  return merged;
}

/** What a session gets from the controller's environment without asking. */
export function passedEnvironment(env: Environment): Readonly<Record<string, string>> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (!value || OF_ONE_SESSION.has(name) || SECRETS.has(name)) continue;
    const isNamed = PASSED.some((wanted) => wanted === name);
    if (isNamed || PASSED_PREFIXES.some((prefix) => name.startsWith(prefix))) passed[name] = value;
  }
  const home = env['HOME'];
  const config = env['XDG_CONFIG_HOME'] || (home && join(home, '.config'));
  const state = env['XDG_STATE_HOME'] || (home && join(home, '.local', 'state'));
  if (config) passed['XDG_CONFIG_HOME'] = config;
  if (state) passed['XDG_STATE_HOME'] = state;
  for (const name of EMPTIED) passed[name] = '';
  return passed;
}

function expandAll(values: Readonly<Record<string, string>>, env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, expandVariables(value, env)]),
  );
}

/** `$NAME` and `${NAME}` from the environment, nothing where it is not set; `$$` is one `$`. Source: Go `os.Expand`. */
export function expandVariables(text: string, env: Environment): string {
  return text.replace(
    /\$(?:\$|\{([^}]*)\}|([A-Za-z_][A-Za-z0-9_]*))/g,
    (whole: string, braced: string | undefined, bare: string | undefined) => {
      const name = braced ?? bare;
      return name === undefined ? whole.slice(1) : (env[name] ?? '');
    },
  );
}
