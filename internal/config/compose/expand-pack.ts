import type { PackUse, SourcePosition } from '../city.ts';
import type { ProblemList } from '../document/problems.ts';
import { locate, shownPath } from '../document/source-document.ts';
import type { RawImport } from '../schema/schema-import.ts';
import { type Bundle, bound, joined, ownOnly, type Requirement, type Stamp } from './bundle.ts';
import type { AgentEntry } from './draft.ts';
import { type Entry, placeOf } from './entry.ts';
import type { PackManifest } from './pack-manifest.ts';
import type { PackShelf, ShelfPack } from './pack-shelf.ts';
import { patchAgent } from './patch-agent.ts';

/** Where a written source leads. The loader never fetches. */
export type LocatedPack =
  | { readonly kind: 'dir'; readonly dir: string }
  | { readonly kind: 'missing'; readonly message: string; readonly next?: string };

export interface PackRequest {
  /** As written: a path, the name of a named source, or a remote source. */
  readonly source: string;
  readonly version?: string | undefined;
  /** Absolute: where relative paths start. */
  readonly baseDir: string;
}

export interface ExpandContext {
  readonly shelf: PackShelf;
  readonly problems: ProblemList;
  readonly root: string;
  locatePack(request: PackRequest): Promise<LocatedPack>;
}

/** Packs within packs deeper than this are a mistake. */
const MAX_DEPTH = 64;

/** A pack with all that it includes and imports, patched by its own patches. Each folder is expanded once per load. */
export class PackExpander {
  readonly #context: ExpandContext;
  readonly #done = new Map<string, Bundle>();

  constructor(context: ExpandContext) {
    this.#context = context;
  }

  /**
   * @param source where it is asked for: problems of finding it are told there.
   * @param stack folders of the packs that are being expanded.
   */
  async expand(
    dir: string,
    source: SourcePosition,
    stack: readonly string[] = [],
  ): Promise<Bundle | undefined> {
    const { problems, root, shelf } = this.#context;
    if (stack.length > MAX_DEPTH) {
      problems.error('pack-depth', `packs within packs, more than ${MAX_DEPTH} deep`, source);
      return undefined;
    }
    if (stack.includes(dir)) {
      const way = [...stack.slice(stack.indexOf(dir)), dir].map((path) => shownPath(root, path));
      problems.error(
        'pack-cycle',
        `cycle detected: pack "${shownPath(root, dir)}" already visited (${way.join(' -> ')})`,
        source,
        'a pack cannot contain itself: remove one of these imports',
      );
      return undefined;
    }
    const known = this.#done.get(dir);
    if (known) return known;
    const pack = await shelf.take(dir, source);
    if (!pack) return undefined;
    const bundle = await this.#expandNew(pack, [...stack, dir]);
    this.#done.set(dir, bundle);
    return bundle;
  }

  async #expandNew(pack: ShelfPack, stack: readonly string[]): Promise<Bundle> {
    const { manifest, dir } = pack;
    const parts: Bundle[] = [];
    let isPartial = false;
    for (const [index, source] of (manifest.meta.value.includes ?? []).entries()) {
      const place = locate(manifest.document, ['pack', 'includes', index], 'value');
      const label = `[pack] includes "${source}"`;
      const inner = await this.follow({ source, baseDir: dir }, label, place, stack);
      if (inner) parts.push(withUse(inner.bundle, useOf(inner, source, 'include', '', dir)));
      else isPartial = true;
    }
    for (const [name, entry] of [...manifest.imports].sort(byName)) {
      const inner = await this.#import(pack, name, entry, stack);
      if (inner) parts.push(inner);
      else isPartial = true;
    }
    const all = joined([...parts, { ...ownBundle(pack), isPartial }]);
    const providers = new Map([...all.providers, ...manifest.providers]);
    return { ...all, agents: this.#patched(pack, all), providers };
  }

  async #import(
    pack: ShelfPack,
    name: string,
    entry: Entry<RawImport>,
    stack: readonly string[],
  ): Promise<Bundle | undefined> {
    const { source, version } = entry.value;
    const place = placeOf(entry, ['source'], 'value');
    const request = { source, version, baseDir: pack.dir };
    const inner = await this.follow(request, `import "${name}"`, place, stack);
    if (!inner) return undefined;
    const stamp = { binding: name, overwrite: entry.value.export ?? false };
    return importedBundle(inner, stamp, entry.value, useOf(inner, source, 'import', name, pack.dir));
  }

  /** The pack that a source leads to. Where there is none, the problem is told at the place, by the label. */
  async follow(
    request: PackRequest,
    label: string,
    place: SourcePosition,
    stack: readonly string[] = [],
  ): Promise<Followed | undefined> {
    const located = await this.#context.locatePack(request);
    if (located.kind === 'dir') return this.take(located.dir, place, stack);
    this.#context.problems.error('pack-not-found', `${label}: ${located.message}`, place, located.next);
    return undefined;
  }

  /** The pack in a folder with all that it brings. */
  async take(
    dir: string,
    place: SourcePosition,
    stack: readonly string[] = [],
  ): Promise<Followed | undefined> {
    const bundle = await this.expand(dir, place, stack);
    const pack = await this.#context.shelf.take(dir);
    return bundle && pack && { bundle, dir, pack };
  }

  /** Source: Gas City pack-level patches: by bare name among all that the pack has. */
  #patched(pack: ShelfPack, all: Bundle): readonly AgentEntry[] {
    const result = [...all.agents];
    pack.manifest.patches.agents.forEach((patch, index) => {
      const { name, dir = '' } = patch.value;
      const at = result.findIndex(({ value }) => value.name === name && (dir === '' || value.dir === dir));
      const found = result[at];
      if (!found) {
        if (all.isPartial || all.brokenAgents.has(name)) return;
        this.#context.problems.error(
          'patch-target',
          `patches.agent[${index}]: agent "${name}" not found in pack "${pack.manifest.name}"`,
          placeOf(patch, ['name'], 'value'),
          `it has: ${result.map(({ value }) => value.name).join(', ') || 'no agents'}`,
        );
        return;
      }
      const label = `patch in pack ${pack.manifest.name}`;
      result[at] = patchAgent(found, patch, this.#context.root, {
        label,
        kind: 'agent_patch',
        ofPack: true,
      });
    });
    return result;
  }
}

export interface Followed {
  readonly bundle: Bundle;
  readonly dir: string;
  readonly pack: ShelfPack;
}

export const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) =>
  a < b ? -1 : a > b ? 1 : 0;

/** What an import makes of a pack: own parts only when it is not transitive, and its name on all. */
export function importedBundle(
  { bundle, dir }: Followed,
  stamp: Stamp,
  { transitive, export: isExported = false }: RawImport,
  use: PackUse,
): Bundle {
  const kept = transitive === false ? ownOnly(bundle, dir) : bundle;
  return withUse(bound(kept, stamp, isExported), use);
}

export function withUse(bundle: Bundle, use: PackUse): Bundle {
  return { ...bundle, uses: [...bundle.uses, use] };
}

export function useOf(
  { dir, pack }: Pick<Followed, 'dir' | 'pack'>,
  source: string,
  via: PackUse['via'],
  binding: string,
  parent: string,
): PackUse {
  const { name, meta } = pack.manifest;
  return { name, version: meta.value.version ?? '', dir, via, binding, rig: '', source, parent };
}

function ownBundle(pack: ShelfPack): Bundle {
  const { manifest, dir } = pack;
  return {
    agents: pack.agents,
    namedSessions: manifest.namedSessions,
    providers: manifest.providers,
    services: manifest.services,
    commands: pack.commands,
    doctors: pack.doctors,
    sessionLive: manifest.sessionLive.map((line, index) => ({
      line: withConfigDir(line, dir),
      origin: {
        document: manifest.document,
        path: ['global', 'session_live', index],
        layer: `global of pack ${manifest.name}`,
      },
    })),
    packDirs: [dir],
    requires: requirementsOf(manifest),
    uses: [],
    brokenAgents: pack.brokenAgents,
    isPartial: false,
  };
}

/** Only the folder is put in: everything else is known when a session starts. Source: Gas City pack globals. */
export function withConfigDir(line: string, dir: string): string {
  return line.replace(/\{\{\s*\.ConfigDir\s*\}\}/g, () => dir);
}

export function requirementsOf(manifest: PackManifest): readonly Requirement[] {
  return (manifest.meta.value.requires ?? []).flatMap(({ scope, agent }, index) =>
    agent && (scope === 'city' || scope === 'rig')
      ? [{ scope, agent, source: locate(manifest.document, ['pack', 'requires', index]) }]
      : [],
  );
}
