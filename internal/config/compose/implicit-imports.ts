import type { SourcePosition } from '../city.ts';
import type { ProblemList } from '../document/problems.ts';
import type { SourceDocument } from '../document/source-document.ts';
import { readImplicitImports, resolveImplicit } from '../remote/implicit-imports.ts';
import type { RawImport } from '../schema/schema-import.ts';
import { type Entry, placeOf } from './entry.ts';
import type { ReadLog } from './pack-shelf.ts';

/** Packs that come with the program: no city may give their names to others. Source: Gas City bootstrap packs. */
const BOOTSTRAP: ReadonlySet<string> = new Set(['registry', 'core']);

/** Who speaks in what they say. */
export const IMPLICIT_LAYER = 'implicit import';

type Imports = ReadonlyMap<string, Entry<RawImport>>;

/** The city's imports and those that every city of this machine has; one that the city declares itself wins. */
export async function withImplicitImports(
  declared: Imports,
  gcHome: string,
  /** Learns the repository that a pack's folder is in, by folder. */
  repositories: Map<string, string>,
  log: ReadLog,
  problems: ProblemList,
): Promise<Imports> {
  const implicit = await readImplicitImports(gcHome);
  problems.add(implicit.problems);
  const added: (readonly [string, Entry<RawImport>])[] = [];
  for (const entry of implicit.imports) {
    const own = declared.get(entry.binding);
    if (own) {
      if (!BOOTSTRAP.has(entry.binding)) continue;
      problems.error(
        'implicit-collision',
        `city pack declares [imports.${entry.binding}] which shadows the bootstrap implicit import(s) with the same name`,
        placeOf(own, []),
        'rename one side',
      );
      continue;
    }
    const found = await resolveImplicit(entry, gcHome);
    if (found.kind === 'missing') problems.error('pack-not-found', found.message, entry.position, found.next);
    else {
      added.push([entry.binding, importEntry(found.dir, entry.position)]);
      if (found.root !== undefined) repositories.set(found.dir, found.root);
    }
  }
  if (added.length > 0) log.sources.add(implicit.file);
  return new Map([...added, ...declared]);
}

function importEntry(dir: string, position: SourcePosition): Entry<RawImport> {
  return {
    document: placeOnly(position),
    path: [],
    rootLabel: 'the implicit imports',
    layer: IMPLICIT_LAYER,
    value: { source: dir },
  };
}

/** A document of which only one place matters. */
function placeOnly({ file, line, column }: SourcePosition): SourceDocument {
  const text = `${'\n'.repeat(line - 1)}${' '.repeat(column - 1)}`;
  const span = { start: text.length, end: text.length };
  return { file, format: 'toml', text, data: {}, spanOf: () => span, layoutOf: () => undefined };
}
