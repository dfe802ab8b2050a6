import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemIds } from '../platform/ids.ts';
import { copiedProgram } from './supervisor-bundle.ts';
import { scratch } from './testing/supervising.ts';

const PROGRAM = `
import Database from 'better-sqlite3';
import pty from 'node-pty';
import { word } from './chunks/word.js';
const row = new Database(':memory:').prepare('select 1 as one').get();
const child = pty.spawn('/bin/echo', ['from a terminal'], {});
let seen = '';
child.onData((data) => { seen += data; });
child.onExit(() => { console.log(word, row.one, seen.trim()); process.exit(0); });
`;

let place: ReturnType<typeof scratch>;
let installed: string;

beforeEach(() => {
  place = scratch();
  installed = join(place.dir, 'installed');
  mkdirSync(join(installed, 'dist', 'chunks'), { recursive: true });
  symlinkSync(join(import.meta.dirname, '../../node_modules'), join(installed, 'node_modules'));
  writeFileSync(join(installed, 'dist', 'main.js'), PROGRAM);
  writeFileSync(join(installed, 'dist', 'chunks', 'word.js'), "export const word = 'hello';");
});
afterEach(() => place.dispose());

const copy = (main = join(installed, 'dist', 'main.js'), now = 1_800_000_000_000) =>
  copiedProgram({
    home: join(place.dir, 'gc'),
    self: [process.execPath, '--no-warnings', main],
    version: '1.2.3',
    now,
    ids: systemIds,
  });
const versions = () => readdirSync(join(place.dir, 'gc', 'versions'));

it('a copy runs after the installed program, its chunks and its native modules are gone', () => {
  const self = copy();
  expect(self.slice(0, 2)).toEqual([process.execPath, '--no-warnings']);
  const main = self.at(-1) ?? '';
  expect(main).toContain(join(place.dir, 'gc', 'versions', '1.2.3-'));
  rmSync(installed, { recursive: true });
  expect(execFileSync(process.execPath, [main], { encoding: 'utf8' })).toBe('hello 1 from a terminal\n');
  expect(statSync(join(place.dir, 'gc', 'versions')).mode & 0o777).toBe(0o700);
  expect(sizeOf(dirname(main))).toBeLessThan(8 * 1024 * 1024);
});

it('is made once per content, and a copy is not copied again', () => {
  const first = copy();
  expect(copy()).toEqual(first);
  expect(versions().length).toBe(1);
  writeFileSync(join(installed, 'dist', 'chunks', 'word.js'), "export const word = 'bye';");
  const second = copy();
  expect(second).not.toEqual(first);
  expect(copy(second.at(-1))).toEqual([process.execPath, '--no-warnings', second.at(-1)]);
  expect(versions().length).toBe(2);
});

it('leaves unbundled sources where they are', () => {
  expect(copy('/src/cmd/gc/main.ts')).toEqual([process.execPath, '--no-warnings', '/src/cmd/gc/main.ts']);
  expect(existsSync(join(place.dir, 'gc'))).toBe(false);
});

it('drops old copies, but never one that a process runs from', async () => {
  mkdirSync(join(place.dir, 'gc', 'versions'), { recursive: true });
  const old = Array.from({ length: 8 }, (_, n) => join(place.dir, 'gc', 'versions', `0.0.${n}-old`));
  old.forEach((path, n) => {
    mkdirSync(path);
    writeFileSync(join(path, 'main.js'), "process.stdout.write('up\\n'); setInterval(() => {}, 1000);");
    utimesSync(path, 1_000 + n, 1_000 + n);
  });
  const child = spawn(process.execPath, [join(old[0] ?? '', 'main.js')], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    await once(child.stdout, 'data');
    const current = dirname(copy().at(-1) ?? '');
    const left = versions().map((name) => join(place.dir, 'gc', 'versions', name));
    expect(left.toSorted()).toEqual([current, old[0], ...old.slice(4)].toSorted());
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

function sizeOf(dir: string): number {
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}
