import { join, resolve, sep } from 'node:path';
import type { SourcePosition } from '../city.ts';
import type { Look } from '../document/look.ts';
import type { ProblemList } from '../document/problems.ts';
import type { Guard } from './guard.ts';

/** A link in a pack that leads out of it, or a value that does. */
function reportOutside(at: string | (() => SourcePosition), leadsTo: string, problems: ProblemList): void {
  problems.error(
    'outside-pack',
    `this leads out of the pack, to ${leadsTo}`,
    typeof at === 'string' ? { file: at, line: 1, column: 1 } : at(),
    'a pack may use files of its own and of the city only: copy it into the pack',
  );
}

/**
 * Whether a path stays where packs may read; else it has been reported. Without a guard everything does. The place is
 * asked for only then: to find one, a file is read as carefully as by an editor.
 */
export function isInside(
  path: string,
  guard: Guard | undefined,
  problems: ProblemList,
  at: string | (() => SourcePosition) = path,
): boolean {
  const leadsTo = guard?.outside(path);
  if (leadsTo === undefined) return true;
  reportOutside(at, leadsTo, problems);
  return false;
}

/** The path of a script or text that a pack names, which must be a relative one inside the pack, links followed. */
export function packFile(
  dir: string,
  what: {
    readonly key: string;
    readonly written: string;
    readonly from: string;
    readonly at: SourcePosition;
  },
  guard: Guard | undefined,
  problems: ProblemList,
): string | undefined {
  const { key, written, from, at } = what;
  const path = resolve(from, written);
  if (written.startsWith('/') || (path !== dir && !path.startsWith(dir + sep))) {
    const hint = 'a relative path inside the pack, such as ../script.sh';
    problems.error('outside-pack', `${key} "${written}" is outside of the pack`, at, hint);
    return undefined;
  }
  return isInside(path, guard, problems, () => at) ? path : undefined;
}

/** Whether all prompt fragments in some folders of a pack are its own; else it has been reported. */
export function areFragmentsInside(
  dir: string,
  folders: readonly string[],
  guard: Guard,
  look: Look,
  problems: ProblemList,
): boolean {
  for (const name of folders) {
    const folder = join(dir, name);
    if (!isInside(folder, guard, problems)) return false;
    for (const file of look.names(folder)) {
      if (!isInside(join(folder, file), guard, problems)) return false;
    }
  }
  return true;
}
