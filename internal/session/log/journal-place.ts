import { statSync } from 'node:fs';
import { resolve } from 'node:path';

/** `database`: one SQLite file. `folder`: JSON lines, one file per log. */
export interface JournalPlace {
  readonly kind: 'database' | 'folder';
  /** Absolute, without a slash at its end. */
  readonly path: string;
}

/** What a person means by a path: a folder when there is one or the path ends in a slash, else a database. Nothing is made. */
export function journalAt(cwd: string, typed: string): JournalPlace {
  const path = resolve(cwd, typed);
  const isFolder = typed.endsWith('/') || (statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false);
  return { kind: isFolder ? 'folder' : 'database', path };
}
