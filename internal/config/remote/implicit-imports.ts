import { join, resolve } from 'node:path';
import { GcError } from '../../platform/errors.ts';
import type { ConfigProblem, SourcePosition } from '../city.ts';
import { ProblemList } from '../document/problems.ts';
import { pathKind, readDocument } from '../document/read-source.ts';
import { isMap, locate, type SourceDocument } from '../document/source-document.ts';
import { checkSchema } from '../schema/check-schema.ts';
import { text } from '../schema/schema-common.ts';
import { z } from '../schema/zod.ts';
import { implicitCacheDir } from './cache-paths.ts';
import { headOf, insideOf, isCommit } from './checkout.ts';
import type { ResolvedSource } from './resolve-source.ts';
import { parseSource, type Source } from './source.ts';

/** An import that every city of this machine has. */
export interface ImplicitImport {
  readonly binding: string;
  readonly source: string;
  readonly version: string;
  /** Of a repository, or the digest of a pack that came with the program. */
  readonly commit: string;
  readonly position: SourcePosition;
}

export interface ImplicitImports {
  readonly file: string;
  /** Sorted by binding. */
  readonly imports: readonly ImplicitImport[];
  readonly problems: readonly ConfigProblem[];
}

const FILE_NAME = 'implicit-import.toml';
const SCHEMA = 1;

const entrySchema = z.object({
  source: text().min(1, { error: 'must not be empty' }),
  version: text().optional(),
  commit: text().refine(isCommit, { error: 'is no whole commit' }),
});

/** Reads `$GC_HOME/implicit-import.toml`; a missing file is empty. Source: Gas City implicit imports. */
export async function readImplicitImports(gcHome: string): Promise<ImplicitImports> {
  const file = join(gcHome, FILE_NAME);
  if ((await pathKind(file)) === 'absent') return { file, imports: [], problems: [] };
  const { parsed } = await readDocument(file);
  if (parsed.kind === 'unreadable') return { file, imports: [], problems: parsed.problems };
  const problems = new ProblemList();
  const imports = entriesOf(parsed.document, problems);
  return { file, imports, problems: problems.sorted() };
}

/** The folder of an implicit import in the cache of this machine. */
export async function resolveImplicit(entry: ImplicitImport, gcHome: string): Promise<ResolvedSource> {
  const next = `take it out of ${join(gcHome, FILE_NAME)}, or restore the folder`;
  const what = `implicit import "${entry.binding}" (${entry.source})`;
  let source: Source;
  try {
    source = parseSource(entry.source);
  } catch (error) {
    if (!(error instanceof GcError)) throw error;
    return { kind: 'missing', code: error.code, message: `${what}: ${error.message}`, next };
  }
  if (source.kind === 'local') {
    const own = resolve(gcHome, source.path);
    if ((await pathKind(own)) === 'folder') return { kind: 'dir', dir: own, root: undefined };
    return { kind: 'missing', code: 'no-folder', message: `${what}: there is no folder ${own}`, next };
  }
  const root = implicitCacheDir(gcHome, source.url, entry.commit);
  const dir = join(root, source.subpath);
  const where = await insideOf(root, dir);
  // A pack that came with the program is no repository: its folder is named after its digest.
  const head = await headOf(root);
  if (where === 'inside' && (head === undefined || head === entry.commit)) return { kind: 'dir', dir, root };
  const code = where === 'outside' ? 'leaves-repository' : 'not-cached';
  return { kind: 'missing', code, message: `${what} is not in the cache: ${root}`, next };
}

function entriesOf(document: SourceDocument, problems: ProblemList): readonly ImplicitImport[] {
  const data = isMap(document.data) ? document.data : {};
  if (data['schema'] !== SCHEMA) {
    problems.error(
      'bad-value',
      `schema of ${FILE_NAME} must be ${SCHEMA}`,
      locate(document, ['schema'], 'value'),
      'correct the file, or remove it',
    );
    return [];
  }
  const imports = isMap(data['imports']) ? data['imports'] : {};
  return Object.keys(imports)
    .sort()
    .flatMap((binding) => {
      const path = ['imports', binding];
      const place = { document, path, rootLabel: FILE_NAME };
      const value = checkSchema(entrySchema, imports[binding], place, problems);
      if (!value) return [];
      const { source, version = '', commit } = value;
      return [{ binding, source, version, commit, position: locate(document, path) }];
    });
}
