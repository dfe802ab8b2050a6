import { delimiter, join } from 'node:path';
import type { Environment } from '../../platform/paths.ts';
import { StartFailedError } from '../errors.ts';
import type { DoltAddress } from './k8s-settings.ts';
import { type PathMap, podStoreRoot, remapPath, WORKSPACE } from './path-map.ts';

export type EnvEntry =
  | { readonly name: string; readonly value: string }
  | {
      readonly name: string;
      readonly valueFrom: {
        readonly secretKeyRef: { readonly name: string; readonly key: string; readonly optional: boolean };
      };
    };

/** What is the controller's own: another provider, its stores, its servers, the place of its program. */
const DROPPED = new Set([
  'GC_BEADS',
  'GC_SESSION',
  'GC_EVENTS',
  'GC_BIN',
  'GC_K8S_DOLT_HOST',
  'GC_K8S_DOLT_PORT',
  'GC_DOLT_HOST',
  'GC_DOLT_PORT',
  'BEADS_DOLT_SERVER_HOST',
  'BEADS_DOLT_SERVER_PORT',
]);
const CITY = new Set(['GC_CITY', 'GC_CITY_PATH', 'GC_CITY_ROOT']);
const REMAPPED = new Set([
  'GC_RIG_ROOT',
  'BEADS_DIR',
  'GT_ROOT',
  'GC_CITY_RUNTIME_DIR',
  'GC_PACK_STATE_DIR',
  'GC_PACK_DIR',
]);
const LOOPBACK = new Set(['127.0.0.1', 'localhost', '0.0.0.0', '::1', '::']);
const VARIABLE = /^[^\s=\0]+$/;
/** The user of the published images. */
const DEFAULT_USER = 'gcagent';

/**
 * The variables of a session's pod. Empty values are left out: the session must not have them, see `unsetInPod`.
 * Source: Gas City `k8s` provider.
 * @throws StartFailedError `bad-environment`
 */
export function podEnv(
  env: Readonly<Record<string, string>>,
  map: PathMap,
  dolt: DoltAddress,
): readonly EnvEntry[] {
  const own: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === '' || DROPPED.has(name)) continue;
    if (!VARIABLE.test(name)) {
      throw new StartFailedError(
        'bad-environment',
        `${JSON.stringify(name)} cannot be the name of a variable`,
      );
    }
    if (CITY.has(name)) own[name] = WORKSPACE;
    else if (name === 'GC_DIR') own[name] = map.podWorkDir;
    else if (name === 'GC_STORE_ROOT') own[name] = podStoreRoot(map, env);
    else own[name] = REMAPPED.has(name) ? remapPath(map, value) : value;
  }
  const user = env['LINUX_USERNAME'] || DEFAULT_USER;
  const given = { CLAUDE_CONFIG_DIR: `/home/${user}/.claude`, ...own, ...doltProjection(env, dolt) };
  return [
    ...Object.entries(given)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => ({ name, value })),
    ...('GITHUB_TOKEN' in given ? [] : [GITHUB_TOKEN]),
  ];
}

const GITHUB_TOKEN: EnvEntry = {
  name: 'GITHUB_TOKEN',
  valueFrom: { secretKeyRef: { name: 'git-credentials', key: 'token', optional: true } },
};

/** Where programs and a person's files are on a machine: an image has its own. */
const OF_A_MACHINE = ['PATH', 'HOME', 'USER', 'LOGNAME', 'CLAUDE_CONFIG_DIR', 'GC_HOME'];
const IN_HOME: Readonly<Record<string, string>> = {
  XDG_CONFIG_HOME: '.config',
  XDG_STATE_HOME: join('.local', 'state'),
};

/**
 * The session's variables without what was only passed on from the controller's own machine. What the city file sets to
 * something else stays.
 */
export function withoutMachine(
  env: Readonly<Record<string, string>>,
  machine: Environment,
): Readonly<Record<string, string>> {
  const isPassedOn = (name: string, value: string): boolean => {
    const own = machine[name] || (IN_HOME[name] && join(machine['HOME'] ?? '', IN_HOME[name]));
    if (!own || !(OF_A_MACHINE.includes(name) || name in IN_HOME)) return false;
    // Folders of the city are added to the end of a PATH.
    return value === own || (name === 'PATH' && value.startsWith(`${own}${delimiter}`));
  };
  return Object.fromEntries(Object.entries(env).filter(([name, value]) => !isPassedOn(name, value)));
}

/** Variables that must not be set in the agent, whatever its image sets. */
export function unsetInPod(env: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(env)
    .filter(([name, value]) => value === '' && /^[A-Za-z_]\w*$/.test(name))
    .map(([name]) => name)
    .sort();
}

/**
 * Where a pod finds the Dolt server of its session. A server on the controller's own machine is, for a pod, the one in
 * the cluster. @throws StartFailedError `bad-environment` for a host without a port
 */
export function doltProjection(
  env: Readonly<Record<string, string>>,
  managed: DoltAddress,
): Readonly<Record<string, string>> {
  const host = (env['GC_DOLT_HOST'] ?? '').trim();
  const port = (env['GC_DOLT_PORT'] ?? '').trim();
  if (port === '') {
    if (host === '') return {};
    throw new StartFailedError(
      'bad-environment',
      'requires both GC_DOLT_HOST and GC_DOLT_PORT when GC_DOLT_HOST is set',
      { next: 'set GC_DOLT_PORT' },
    );
  }
  const local = host === '' || LOOPBACK.has(host.toLowerCase());
  const address = local ? managed : { host, port };
  return {
    GC_DOLT_HOST: address.host,
    GC_DOLT_PORT: address.port,
    BEADS_DOLT_SERVER_HOST: address.host,
    BEADS_DOLT_SERVER_PORT: address.port,
  };
}
