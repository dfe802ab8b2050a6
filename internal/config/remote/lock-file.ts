import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileAtomic } from '../../platform/atomic-file.ts';
import { GcError } from '../../platform/errors.ts';
import type { ConfigProblem, SourcePosition } from '../city.ts';
import { ProblemList } from '../document/problems.ts';
import { pathKind, readText } from '../document/read-source.ts';
import { isMap, locate, type SourceDocument, shownPosition } from '../document/source-document.ts';
import { parseToml, stringifyToml } from '../document/toml-document.ts';
import { isCommit } from './checkout.ts';

/** One pinned repository. */
export interface LockEntry {
  readonly commit: string;
  /** A version without `v`, or `sha:<commit>`; `''`: not written. */
  readonly version: string;
  /** The tag or branch that the commit was found by; `''`: not written. */
  readonly ref: string;
  /** Only in `pack.lock`. */
  readonly source: string;
  readonly position: SourcePosition;
}

export interface LockTable {
  readonly file: string;
  /** By source as written (`packs.lock`) or by name (`pack.lock`). */
  readonly entries: ReadonlyMap<string, LockEntry>;
  /** The whole file: what is not ours is written back. */
  readonly data: Readonly<Record<string, unknown>>;
  /** As it was read; `undefined`: there is no file. */
  readonly text: string | undefined;
  readonly problems: readonly ConfigProblem[];
}

/** What a city has pinned. */
export interface Lock {
  /** `packs.lock`: imports and includes. */
  readonly packs: LockTable;
  /** `pack.lock`: `[packs.<name>]`. */
  readonly named: LockTable;
}

/** The values to write for one entry; a key that is `undefined` is taken out. */
export type LockValues = Readonly<Record<string, string | undefined>>;

const PACKS_LOCK = 'packs.lock';
const PACK_LOCK = 'pack.lock';
const LOCK_SCHEMA = 1;
const LOCK_MODE = 0o644;

/** Reads both lock files; a missing one is empty. Never throws for what is written in them. */
export async function readLock(cityRoot: string): Promise<Lock> {
  const [packs, named] = await Promise.all([
    readTable(join(cityRoot, PACKS_LOCK)),
    readTable(join(cityRoot, PACK_LOCK)),
  ]);
  return { packs, named };
}

/**
 * Writes a lock file with exactly these entries. Keys that are not ours stay, in the file and in each entry that
 * stays. Nothing is written when nothing changes. @throws GcError `lock-unreadable`
 */
export async function writeLock(table: LockTable, entries: ReadonlyMap<string, LockValues>): Promise<void> {
  const text = lockText(table, entries);
  if (text === undefined) return;
  await writeFileAtomic(table.file, text, LOCK_MODE);
}

/** Brings back what was read. */
export async function restoreLock({ file, text }: LockTable): Promise<void> {
  if (text === undefined) await rm(file, { force: true });
  else await writeFileAtomic(file, text, LOCK_MODE);
}

/** @throws GcError `lock-unreadable` when the file holds something that cannot be understood */
export function checkLock(table: LockTable, cityRoot: string): void {
  const [problem] = table.problems;
  if (!problem) return;
  const place = problem.position ? shownPosition(cityRoot, problem.position) : table.file;
  throw new GcError('lock-unreadable', `${place}: ${problem.message}`, {
    next: problem.hint ?? 'repair the file, or remove it and run: gc import install',
  });
}

/** The new text, `undefined` when the file says it all already. */
function lockText(table: LockTable, entries: ReadonlyMap<string, LockValues>): string | undefined {
  const old = isMap(table.data['packs']) ? table.data['packs'] : {};
  const packs: Record<string, unknown> = {};
  for (const key of [...entries.keys()].sort()) packs[key] = merged(old[key], entries.get(key) ?? {});
  const isSame = JSON.stringify(sortedKeys(old)) === JSON.stringify(packs);
  if (isSame) return undefined;
  const { schema, packs: _old, ...rest } = table.data;
  return `# Written by gc import and gc pack. Keep it with the city: everybody gets the same packs.\n${stringifyToml({ schema: schema ?? LOCK_SCHEMA, ...rest, packs })}`;
}

function merged(old: unknown, values: LockValues): Record<string, unknown> {
  const entry: Record<string, unknown> = isMap(old) ? { ...old } : {};
  for (const [key, value] of Object.entries(values)) {
    if (value === undefined || value === '') delete entry[key];
    else entry[key] = value;
  }
  return entry;
}

function sortedKeys(data: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function readTable(file: string): Promise<LockTable> {
  const entries = new Map<string, LockEntry>();
  const empty = { file, entries, data: {}, text: undefined };
  if ((await pathKind(file)) === 'absent') return { ...empty, problems: [] };
  const read = await readText(file);
  if (read.kind === 'unreadable') return { ...empty, problems: read.problems };
  const { text } = read;
  const parsed = await parseToml(file, text);
  if (parsed.kind === 'unreadable') return { ...empty, text, problems: parsed.problems };
  const problems = new ProblemList();
  readEntries(parsed.document, entries, problems);
  const data = isMap(parsed.document.data) ? parsed.document.data : {};
  return { file, entries, data, text, problems: problems.sorted() };
}

function readEntries(document: SourceDocument, entries: Map<string, LockEntry>, problems: ProblemList): void {
  const data = isMap(document.data) ? document.data : {};
  const schema = data['schema'];
  if (schema !== undefined && schema !== LOCK_SCHEMA) {
    problems.error(
      'lock-schema',
      `schema ${String(schema)} of this lock file is not known (this version reads ${LOCK_SCHEMA})`,
      locate(document, ['schema'], 'value'),
      'use the version of gc that wrote it',
    );
  }
  const packs = data['packs'] ?? {};
  if (!isMap(packs)) {
    problems.error('wrong-type', '"packs" must be a table of pinned packs', locate(document, ['packs']));
    return;
  }
  for (const [key, value] of Object.entries(packs)) {
    const position = locate(document, ['packs', key]);
    const text = (name: string) => (isMap(value) && typeof value[name] === 'string' ? value[name] : '');
    if (!isCommit(text('commit'))) {
      problems.error(
        'bad-lock-entry',
        `the entry "${key}" names no whole commit`,
        position,
        'remove the entry and run: gc import install',
      );
      continue;
    }
    entries.set(key, {
      commit: text('commit'),
      version: text('version'),
      ref: text('ref'),
      source: text('source'),
      position,
    });
  }
}
