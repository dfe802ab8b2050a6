import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openLog } from './log.ts';

let dir: string;
let file: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-log-'));
  file = join(dir, 'sub', 'supervisor.log');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const lines = (path = file): Record<string, unknown>[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

it('writes one object per line, at once, owner-only, and appends', () => {
  const log = openLog(file);
  log.info('first', { n: 1 });
  log.debug('not written');
  log.child({ city: 'c' }).warn('second');
  expect(lines()).toMatchObject([
    { level: 'info', pid: process.pid, n: 1, msg: 'first' },
    { level: 'warn', city: 'c', msg: 'second' },
  ]);
  expect(String(lines()[0]?.['time'])).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  log.close();
  log.info('after the end');
  openLog(file).error('third');
  expect(lines().map((line) => line['msg'])).toEqual(['first', 'second', 'third']);
});

it('hides what must not be read there', () => {
  const log = openLog(file);
  const secret = 'hunter2';
  log.info('a', {
    token: secret,
    env: { X: secret },
    request: { authorization: secret, body: { text: secret } },
  });
  log.child({ password: secret }).info('b', { options: { prompt: secret } });
  expect(readFileSync(file, 'utf8')).not.toContain(secret);
  expect(lines()[0]).toMatchObject({ token: '[hidden]', request: { authorization: '[hidden]' } });
});

it('keeps one full file and starts anew', () => {
  const log = openLog(file, { maxBytes: 2_000 });
  for (let n = 0; n < 40; n += 1) log.info(`line ${n}`);
  expect(statSync(file).size).toBeLessThan(2_200);
  expect(existsSync(`${file}.1`)).toBe(true);
  expect(existsSync(`${file}.2`)).toBe(false);
  const kept = [...lines(`${file}.1`), ...lines()].map((line) => line['msg']);
  expect(kept.at(-1)).toBe('line 39');
  expect(kept).toEqual(Array.from({ length: kept.length }, (_, n) => `line ${40 - kept.length + n}`));
});

it.skipIf(!existsSync('/dev/full'))('survives a disk that takes nothing (needs /dev/full)', () => {
  const log = openLog('/dev/full');
  expect(() => log.info('lost')).not.toThrow();
});

it('says which file it cannot write', () => {
  writeFileSync(join(dir, 'sub'), 'in the way');
  expect(() => openLog(file)).toThrow(file);
});
