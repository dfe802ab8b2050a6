/** Where a city and a session's folder are in a pod. Source: Gas City `k8s` provider. */
export interface PathMap {
  /** The city's folder on the controller's machine; `''`: not known. */
  readonly cityPath: string;
  /** The session's folder on the controller's machine. */
  readonly workDir: string;
  /** The session's folder in the pod. */
  readonly podWorkDir: string;
}

export const WORKSPACE = '/workspace';

export function pathMapOf(config: {
  readonly workDir: string;
  readonly env: Readonly<Record<string, string>>;
}): PathMap {
  const cityPath = cityPathOf(config.env);
  const workDir = stripSlash(config.workDir);
  const below = cityPath !== '' && workDir.startsWith(`${cityPath}/`);
  const podWorkDir = below ? WORKSPACE + workDir.slice(cityPath.length) : WORKSPACE;
  return { cityPath, workDir, podWorkDir };
}

/** The first of three variables that is set. */
export function cityPathOf(env: Readonly<Record<string, string>>): string {
  const found = ['GC_CITY', 'GC_CITY_PATH', 'GC_CITY_ROOT'].map((key) => (env[key] ?? '').trim());
  return stripSlash(found.find((path) => path !== '') ?? '');
}

/** A path in the city, or in the session's folder, as it is in the pod; any other text is unchanged. */
export function remapPath(map: PathMap, value: string): string {
  if (map.workDir !== '' && isWithin(map.workDir, value)) {
    return map.podWorkDir + value.slice(map.workDir.length);
  }
  if (map.cityPath !== '' && isWithin(map.cityPath, value))
    return WORKSPACE + value.slice(map.cityPath.length);
  return value;
}

/** Every mention of the city's or the session's folder in a command. A longer name that begins with one is another folder. */
export function remapCommand(map: PathMap, command: string): string {
  const folders = [
    { from: map.workDir, to: map.podWorkDir },
    { from: map.cityPath, to: WORKSPACE },
  ];
  return folders
    .filter(({ from }) => from !== '' && from !== '/')
    .reduce((text, { from, to }) => replaceFolder(text, from, to), command);
}

/** Where the session's store of work is. */
export function podStoreRoot(map: PathMap, env: Readonly<Record<string, string>>): string {
  const root = [(env['GC_STORE_ROOT'] ?? '').trim(), map.workDir, map.cityPath].find((path) => path !== '');
  return root === undefined ? map.podWorkDir : remapPath(map, root);
}

function replaceFolder(text: string, from: string, to: string): string {
  const escaped = from.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return text.replace(new RegExp(`(?<![A-Za-z0-9._/-])${escaped}(?![A-Za-z0-9._-])`, 'g'), () => to);
}

const isWithin = (folder: string, path: string): boolean => path === folder || path.startsWith(`${folder}/`);

const stripSlash = (path: string): string => path.replace(/(?<=.)\/+$/, '');
