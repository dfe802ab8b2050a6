import { existsSync, lstatSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { writeFileAtomic } from '../platform/atomic-file.ts';
import { cityHash } from '../platform/paths.ts';

const FILE_MODE = 0o644;

/**
 * Keeps files that we put into a folder out of what git shows there, without touching a file that git tracks: a block of
 * our own in `info/exclude`. Nothing happens outside of a repository, and nothing is written when the block is right.
 * `owner`: whose block it is; `paths`: relative to `folder`; none: the block goes.
 */
export async function excludeFromGit(owner: string, folder: string, paths: readonly string[]): Promise<void> {
  const repository = repositoryOf(folder);
  if (!repository) return;
  const file = join(repository.commonDir, 'info', 'exclude');
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const prefix = relative(repository.root, folder);
  const lines = paths.map((path) => `/${escaped(prefix === '' ? path : `${prefix}/${path}`)}`);
  const after = withBlock(before, `${cityHash(owner)}-${cityHash(folder)}`, lines);
  if (after === before) return;
  mkdirSync(dirname(file), { recursive: true });
  await writeFileAtomic(file, after, FILE_MODE);
}

/** The text with our block of that name as it should be, at the end when it is new. Pure. */
export function withBlock(text: string, name: string, lines: readonly string[]): string {
  const begin = `# gas city ${name}: links, made by gc`;
  const end = `# gas city ${name}: end`;
  const old = text.split('\n');
  const from = old.indexOf(begin);
  const to = old.indexOf(end, from);
  const others = from < 0 || to < 0 ? old : [...old.slice(0, from), ...old.slice(to + 1)];
  const rest = others.join('\n');
  if (lines.length === 0) return rest;
  const block = [begin, ...lines, end];
  if (from >= 0 && to >= 0) return [...old.slice(0, from), ...block, ...old.slice(to + 1)].join('\n');
  return `${rest === '' || rest.endsWith('\n') ? rest : `${rest}\n`}${block.join('\n')}\n`;
}

interface Repository {
  /** The top of the work tree. */
  readonly root: string;
  /** Where what all work trees share is. */
  readonly commonDir: string;
}

function repositoryOf(folder: string): Repository | undefined {
  for (let root = resolve(folder); ; root = dirname(root)) {
    const path = join(root, '.git');
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) return { root, commonDir: path };
    if (found?.isFile()) {
      const named = /^gitdir: (.+)$/m.exec(readFileSync(path, 'utf8'))?.[1];
      return named === undefined ? undefined : { root, commonDir: commonDirOf(resolve(root, named.trim())) };
    }
    if (dirname(root) === root) return undefined;
  }
}

/** A linked work tree names it in a file. */
function commonDirOf(gitDir: string): string {
  const file = join(gitDir, 'commondir');
  return existsSync(file) ? resolve(gitDir, readFileSync(file, 'utf8').trim()) : gitDir;
}

const escaped = (path: string): string => path.replace(/[\\*?[\] ]/g, '\\$&');
