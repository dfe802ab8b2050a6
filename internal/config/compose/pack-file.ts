import { join } from 'node:path';
import type { ProblemList } from '../document/problems.ts';
import { pathKind, readDocument } from '../document/read-source.ts';
import { isMap, locate } from '../document/source-document.ts';

const PACK_FILES = ['pack.toml', 'pack.yaml', 'pack.yml'] as const;
/** Keys of `[pack]` that only describe. Source: Gas City pack manifest. */
const DESCRIPTIVE = new Set(['name', 'version', 'schema', 'description', 'requires_gc']);

/**
 * A pack file beside the city file. One that only names the pack changes nothing and is let through; anything else in it
 * would be silently without effect, so it is an error.
 */
export async function checkPackFile(root: string, sources: string[], problems: ProblemList): Promise<void> {
  for (const name of PACK_FILES) {
    const file = join(root, name);
    if ((await pathKind(file)) !== 'file') continue;
    sources.push(file);
    const { parsed } = await readDocument(file);
    if (parsed.kind === 'unreadable') {
      problems.add(parsed.problems);
      continue;
    }
    const { document } = parsed;
    const data = isMap(document.data) ? document.data : {};
    const pack = isMap(data['pack']) ? data['pack'] : {};
    const paths = [
      ...Object.keys(data)
        .filter((key) => key !== 'pack')
        .map((key) => [key]),
      ...Object.keys(pack)
        .filter((key) => !DESCRIPTIVE.has(key))
        .map((key) => ['pack', key]),
    ];
    for (const path of paths) {
      problems.error(
        'unsupported-key',
        `"${path.join('.')}" in ${name} is not supported yet`,
        locate(document, path),
        'packs are not supported yet by this version: write it into the city file, or agents into agents/<name>/',
      );
    }
  }
}
