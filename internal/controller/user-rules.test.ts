import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../platform/clock.ts';
import { systemIds } from '../platform/ids.ts';
import { addUserRule, readUserRules, removeUserRule, userRulesFile } from './user-rules.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gcrules-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const env = () => ({ HOME: root, GC_HOME: join(root, 'gc') });
const place = () => ({ env: env(), clock: systemClock, ids: systemIds });
const file = () => userRulesFile(env());
const RULE = {
  effect: 'allow',
  scope: 'always',
  tool: 'Bash',
  by: 'human',
  at: '2026-01-01T00:00:00Z',
} as const;
const pipe = () => execFileSync('mkfifo', ['-m', '600', file()]);
const instead = (make: () => unknown): void => {
  rmSync(file());
  make();
};
const unreadable = (text: string) =>
  expect.objectContaining({ code: 'rules-unreadable', message: expect.stringContaining(text) });

describe("the user's rules", () => {
  it('are there for all, each under a number that is not used again', async () => {
    expect(readUserRules(env())).toEqual([]);
    expect(await addUserRule(place(), RULE)).toMatchObject({ id: 'u1' });
    expect(await addUserRule(place(), RULE)).toMatchObject({ id: 'u1' });
    expect(await removeUserRule(place(), 'u1')).toMatchObject({ id: 'u1', tool: 'Bash' });
    expect(await removeUserRule(place(), 'u1')).toBeUndefined();
    const made = ['a', 'b', 'c'].map((input) => addUserRule(place(), { ...RULE, input }));
    expect((await Promise.all(made)).map(({ id }) => id).sort()).toEqual(['u2', 'u3', 'u4']);
    expect(readUserRules(env()).map(({ id }) => id)).toEqual(['u2', 'u3', 'u4']);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  it.each<[string, string, () => void]>([
    ['damaged', 'JSON', () => writeFileSync(file(), '{"version": 1, "rul')],
    ['binary', 'JSON', () => writeFileSync(file(), Buffer.from([0, 255, 1, 254]))],
    [
      'of another version',
      'of this version',
      () => writeFileSync(file(), '{"version":2,"next":1,"rules":[]}'),
    ],
    [
      'with a rule that is none',
      'its rule 1 is none',
      () => writeFileSync(file(), '{"version":1,"next":2,"rules":[{"id":"u1","effect":"maybe"}]}'),
    ],
    ['writable by others', 'somebody else', () => chmodSync(file(), 0o622)],
    ['in a folder that others may write', 'somebody else', () => chmodSync(env().GC_HOME, 0o777)],
    ['a folder', 'no file', () => instead(() => mkdirSync(file()))],
    ['a pipe', 'no file', () => instead(pipe)],
    ['a device', 'no file', () => instead(() => symlinkSync('/dev/zero', file()))],
    ['huge', 'MiB', () => truncateSync(file(), 200 * 1024 * 1024)],
    [
      'a link to what others may write',
      'somebody else',
      () => {
        rmSync(file());
        writeFileSync(join(root, 'theirs'), '{"version":1,"next":1,"rules":[]}');
        chmodSync(join(root, 'theirs'), 0o666);
        symlinkSync(join(root, 'theirs'), file());
      },
    ],
  ])('that are %s are not used', async (_, why, spoil) => {
    await addUserRule(place(), RULE);
    spoil();
    expect(() => readUserRules(env())).toThrowError(unreadable(why));
  });

  it('are not written over while they cannot be read', async () => {
    await addUserRule(place(), RULE);
    writeFileSync(file(), '{');
    await expect(addUserRule(place(), { ...RULE, input: 'x' })).rejects.toEqual(unreadable('JSON'));
    expect(readFileSync(file(), 'utf8')).toBe('{');
    instead(pipe);
    await expect(addUserRule(place(), RULE)).rejects.toEqual(unreadable('no file'));
  });
});
