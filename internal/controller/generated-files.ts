import { basename } from 'node:path';

/** What programs leave beside scripts when they run or are edited. It is copied with them and is no change of the city. */
const GENERATED = /^(?:__pycache__|\.(?:pytest|mypy|ruff)_cache|\.DS_Store|.*\.(?:pyc|swp)|.*~)$/;

export async function isGenerated(path: string): Promise<boolean> {
  return GENERATED.test(basename(path));
}
