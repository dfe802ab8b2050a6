import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** This PATH as it would be without some programs: folders that hold one are replaced by links to everything else. */
export function pathWithout(programs: readonly string[], shadow: string): string {
  const dirs = (process.env['PATH'] ?? '').split(delimiter).filter((dir) => dir !== '');
  return [...new Set(dirs)]
    .map((dir, index) => {
      if (!programs.some((program) => existsSync(join(dir, program)))) return dir;
      const links = join(shadow, String(index));
      mkdirSync(links, { recursive: true });
      for (const name of readdirSync(dir))
        if (!programs.includes(name)) symlinkSync(join(dir, name), join(links, name));
      return links;
    })
    .join(delimiter);
}
