import { GcError } from '../../platform/errors.ts';
import { shownPosition } from '../document/source-document.ts';
import { cacheDirOf, namedPackDir } from './cache-paths.ts';
import { headOf } from './checkout.ts';
import type { CityPacks, DeclaredPack } from './declared-packs.ts';
import { askRemote, type FetchContext, fetchInto } from './fetch.ts';
import { checkLock, type Lock, type LockEntry, type LockValues } from './lock-file.ts';
import { type PackNode, walkPacks } from './pack-tree.ts';
import { choosePin, meets, type Pin, type RemoteRefs, type Wanted } from './pin.ts';
import { namedSource, type ResolvedSource, resolveNamedPack, resolveSource } from './resolve-source.ts';
import { parseSource, type RemoteSource } from './source.ts';

export interface InstallContext extends FetchContext {
  readonly cityRoot: string;
  readonly home: string;
  readonly lock: Lock;
  /** Told before something is fetched. */
  readonly onFetch?: (source: string, pin: Pin) => void;
}

export interface InstallOptions {
  /** Which pins are chosen anew, by the source as written. Default: none. */
  readonly renew?: (source: string) => boolean;
}

export interface Installed {
  /** By source as written: everything that the city reaches, and nothing else. */
  readonly pins: ReadonlyMap<string, Pin>;
  readonly tree: readonly PackNode[];
  /** How many repositories were fetched; the rest were there. */
  readonly fetched: number;
}

/** Each pass can change pins and thereby what is asked for; versions that never agree end here. */
const MAX_PASSES = 10;

/**
 * Fetches every repository that a city reaches through imports and includes, at its pinned commit, pinning what is
 * not pinned yet. Writes into the caches only: the pins are for the caller to write.
 * @throws GcError of the first pack that cannot be had
 */
export async function installPacks(
  city: CityPacks,
  context: InstallContext,
  options: InstallOptions = {},
): Promise<Installed> {
  checkLock(context.lock.packs, context.cityRoot);
  const installing = new Installing(city, context, options.renew ?? (() => false));
  for (let pass = 1; pass <= MAX_PASSES; pass += 1) {
    const done = await installing.pass();
    if (done) return done;
  }
  throw new GcError('version-conflict', 'the packs do not come to rest on one set of versions', {
    next: 'gc import list --tree',
  });
}

/** The entries for `packs.lock`. */
export function lockValuesOf(pins: ReadonlyMap<string, Pin>): ReadonlyMap<string, LockValues> {
  return new Map([...pins].map(([source, { commit, version, ref }]) => [source, { version, commit, ref }]));
}

class Installing {
  readonly #city: CityPacks;
  readonly #context: InstallContext;
  readonly #renew: (source: string) => boolean;
  readonly #refs = new Map<string, RemoteRefs>();
  readonly #pins = new Map<string, Pin>();
  #wanted = new Map<string, Wanted[]>();
  #reached = new Set<string>();
  #changed = false;
  #fetched = 0;

  constructor(city: CityPacks, context: InstallContext, renew: (source: string) => boolean) {
    this.#city = city;
    this.#context = context;
    this.#renew = renew;
  }

  /** `undefined`: what is asked for has changed on the way. */
  async pass(): Promise<Installed | undefined> {
    this.#changed = false;
    this.#wanted = new Map();
    this.#reached = new Set();
    const { cityRoot } = this.#context;
    const tree = await walkPacks(cityRoot, this.#city, (declared, root) => this.#install(declared, root));
    if (this.#changed) return undefined;
    const pins = new Map([...this.#pins].filter(([source]) => this.#reached.has(source)));
    return { pins, tree, fetched: this.#fetched };
  }

  async #install(declared: DeclaredPack, root: string | undefined): Promise<ResolvedSource> {
    const { cityRoot, home, lock } = this.#context;
    const base = { cityRoot, home, baseDir: declared.baseDir, root };
    const named = this.#city.named.get(declared.source);
    if (named) return resolveNamedPack(declared.source, named, { ...base, lock });
    const place = `${declared.kind} ${JSON.stringify(declared.name || declared.source)} of ${declared.owner}`;
    try {
      const source = parseSource(declared.source);
      if (source.kind === 'remote') await this.#ensure(source, declared.version, place);
      const resolved = await resolveSource(declared.source, { ...base, lock: this.#lockNow() });
      if (resolved.kind === 'missing' && source.kind === 'remote') {
        throw new GcError(resolved.code, resolved.message, { next: resolved.next });
      }
      return resolved;
    } catch (error) {
      if (!(error instanceof GcError)) throw error;
      const at = declared.isNew ? '' : `${shownPosition(cityRoot, declared.position)}: `;
      throw new GcError(error.code, `${at}${place}: ${error.message}`, {
        cause: error,
        ...(error.next === undefined ? {} : { next: error.next }),
      });
    }
  }

  async #ensure(source: RemoteSource, version: string, by: string): Promise<void> {
    const key = source.original;
    this.#reached.add(key);
    if (version !== '') addWanted(this.#wanted, key, { version, by });
    const wanted = this.#wanted.get(key) ?? [];
    const pin = this.#pins.get(key) ?? this.#lockedPin(key);
    const isMet = pin !== undefined && wanted.every((each) => meets(pin, each.version));
    const chosen = isMet ? pin : await this.#choose(source, wanted);
    if (this.#pins.has(key) && this.#pins.get(key)?.commit !== chosen.commit) this.#changed = true;
    this.#pins.set(key, chosen);
    const dir = cacheDirOf(this.#context.home, source.url, chosen.commit);
    this.#context.signal.throwIfAborted();
    if ((await headOf(dir)) === chosen.commit) return;
    this.#context.onFetch?.(key, chosen);
    await fetchInto(dir, source.url, chosen, this.#context);
    this.#fetched += 1;
  }

  #lockedPin(key: string): Pin | undefined {
    const entry = this.#context.lock.packs.entries.get(key);
    return entry && !this.#renew(key) ? pinOf(entry) : undefined;
  }

  async #choose(source: RemoteSource, wanted: readonly Wanted[]): Promise<Pin> {
    let refs = this.#refs.get(source.url);
    if (!refs) {
      refs = await askRemote(source.url, this.#context);
      this.#refs.set(source.url, refs);
    }
    return choosePin(source, refs, wanted);
  }

  #lockNow(): Lock {
    const { lock } = this.#context;
    const position = { file: lock.packs.file, line: 1, column: 1 };
    const entries = new Map<string, LockEntry>(
      [...this.#pins].map(([key, pin]) => [key, { ...pin, source: '', position }]),
    );
    return { ...lock, packs: { ...lock.packs, entries } };
  }
}

function addWanted(wanted: Map<string, Wanted[]>, key: string, one: Wanted): void {
  const list = wanted.get(key) ?? [];
  if (!list.some(({ version }) => version === one.version)) list.push(one);
  wanted.set(key, list);
}

function pinOf({ commit, version, ref }: LockEntry): Pin {
  return { commit, version, ref };
}

/** Fetches `[packs.<name>]` into the city's own cache. `renew`: at the newest commit of its ref, not the locked one. */
export async function fetchNamedPack(
  name: string,
  declared: Parameters<typeof namedSource>[0],
  context: InstallContext,
  renew: boolean,
): Promise<{ readonly pin: Pin; readonly values: LockValues } | undefined> {
  checkLock(context.lock.named, context.cityRoot);
  const source = namedSource(declared);
  if (source.kind === 'local') return undefined;
  const entry = context.lock.named.entries.get(name);
  const isLocked = entry?.source === declared.source && (entry.ref || '') === (declared.ref ?? '') && !renew;
  const pin = entry && isLocked ? pinOf(entry) : choosePin(source, await askRemote(source.url, context), []);
  await fetchInto(namedPackDir(context.cityRoot, name), source.url, pin, context);
  const hash = entry?.commit === pin.commit ? {} : { hash: undefined };
  return { pin, values: { source: declared.source, ref: declared.ref, commit: pin.commit, ...hash } };
}
