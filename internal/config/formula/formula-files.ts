import { join } from 'node:path';
import { namesIn, pathKind } from '../document/read-source.ts';

const ENDING = /(\.formula)?\.toml$/;

/**
 * The file of each formula by its name. `layers`: folders, weakest first; a later one wins, and within one `<name>.toml`
 * goes before `<name>.formula.toml`. Source: Gas City formula layers.
 */
export async function formulaFiles(layers: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const layer of layers) {
    const names = (await namesIn(layer)).filter((name) => ENDING.test(name) && !/^[._]/.test(name));
    // The plain ending comes last, and so stays.
    names.sort(
      (a, b) => Number(a.endsWith('.formula.toml') ? 0 : 1) - Number(b.endsWith('.formula.toml') ? 0 : 1),
    );
    for (const name of names) {
      const file = join(layer, name);
      if ((await pathKind(file)) === 'file') files.set(name.replace(ENDING, ''), file);
    }
  }
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}
