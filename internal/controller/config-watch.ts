import { basename, dirname, join, relative, sep } from 'node:path';
import { watch } from 'chokidar';
import type { City } from '../config/city.ts';

/** Editors write a file in several steps: one change is told after this much quiet. */
export const CONFIG_DEBOUNCE_MS = 200;

/** Folders of a city that count as a whole, with everything below them. */
const TREES: ReadonlySet<string> = new Set(['agents', 'prompts', 'overlay']);

/** The same for the folder of each pack in use. */
const PACK_TREES: ReadonlySet<string> = new Set([
  'agents',
  'commands',
  'doctor',
  'template-fragments',
  'prompts',
  'formulas',
  'orders',
]);

/** Files that become configuration the moment they appear. */
const CONFIG_FILES: ReadonlySet<string> = new Set([
  'city.yaml',
  'city.yml',
  'city.toml',
  'pack.toml',
  'pack.yaml',
  'packs.lock',
  'pack.lock',
]);

/** Below these nothing is configuration; the controller itself writes there. */
const IGNORED_PARTS: ReadonlySet<string> = new Set(['.gc', '.beads', '.git', 'node_modules']);

/** Deeper trees are not configuration. */
const MAX_DEPTH = 6;

export interface ConfigWatch {
  /** After a reload: other files may have become part of the config. */
  rewatch(city: City): void;
}

export interface ConfigWatchEvents {
  changed(): void;
  failed(error: unknown): void;
  /** From now on nothing is missed. */
  ready?(): void;
}

/**
 * Calls `changed` when something that the config is made of may have changed. Folders are watched, not files, because
 * editors replace files. A watcher that cannot be made only costs time: the patrol looks as well.
 */
export function watchConfig(city: City, signal: AbortSignal, events: ConfigWatchEvents): ConfigWatch {
  let timer: NodeJS.Timeout | undefined;
  const touched = () => {
    clearTimeout(timer);
    timer = setTimeout(events.changed, CONFIG_DEBOUNCE_MS);
  };
  let current = city;
  const watcher = watch(watchedFolders(city), {
    ignoreInitial: true,
    depth: MAX_DEPTH,
    ignored: (path) => !matters(path, current),
  });
  watcher.on('all', touched);
  watcher.on('ready', () => events.ready?.());
  watcher.on('error', (error) => events.failed(error));
  const end = () => {
    clearTimeout(timer);
    watcher.close().catch(events.failed);
  };
  signal.addEventListener('abort', end, { once: true });
  return {
    rewatch(next) {
      const before = new Set(watchedFolders(current));
      current = next;
      watcher.add(watchedFolders(next).filter((folder) => !before.has(folder)));
    },
  };
}

function watchedFolders(city: City): string[] {
  return [...new Set([city.root, ...city.sources.map((file) => dirname(file))])].toSorted();
}

/** Of a folder that may be a whole project, only what can be configuration is looked at. */
function matters(path: string, city: City): boolean {
  const inside = relative(city.root, path);
  const parts = inside.split(sep);
  if (parts.some((part) => IGNORED_PARTS.has(part))) return false;
  if (inside === '' || TREES.has(parts[0] ?? '')) return true;
  if (CONFIG_FILES.has(basename(path)) || isOfPack(path, city)) return true;
  return city.sources.some((file) => file === path || dirname(file) === path || isAbove(path, file));
}

/** A pack that is part of the city, however it came in, and what in it is configuration. */
function isOfPack(path: string, city: City): boolean {
  return city.packs.some(({ dir }) => {
    const inside = relative(dir, path);
    if (inside.startsWith('..')) return isAbove(path, dir);
    return inside === '' || PACK_TREES.has(inside.split(sep)[0] ?? '');
  });
}

function isAbove(folder: string, file: string): boolean {
  return file.startsWith(join(folder, sep));
}
