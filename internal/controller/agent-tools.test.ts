import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeAgentTools } from './agent-tools.ts';

let base: string;
let dir: string;
let program: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'gc-tools-'));
  dir = join(base, 'city');
  program = join(base, `it's "my" $HOME program`);
  mkdirSync(dir);
  writeFileSync(program, '#!/bin/sh\nfor word; do echo "<$word>"; done\n');
  chmodSync(program, 0o755);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const write = (hasRealBd = false) => writeAgentTools({ dir, program, hasRealBd });
const run = (tool: string, ...words: readonly string[]) => execFileSync(tool, words, { encoding: 'utf8' });

describe('the tools of agents', () => {
  it('run the program with every word as it was given', async () => {
    const folder = await write();
    expect(folder).toBe(join(dir, '.gc', 'runtime', 'bin'));
    expect(run(join(folder ?? '', 'bd'), 'create', 'two words', '$x')).toBe(
      '<bd>\n<create>\n<two words>\n<$x>\n',
    );
    expect(run(join(folder ?? '', 'gc'), 'hook', '')).toBe('<hook>\n<>\n');
  });

  it('are written once, and again when they differ or cannot be run', async () => {
    const folder = (await write()) ?? '';
    const bd = join(folder, 'bd');
    const first = statSync(bd).ino;
    await write();
    expect(statSync(bd).ino).toBe(first);
    writeFileSync(bd, 'damaged');
    await write();
    expect(readFileSync(bd, 'utf8')).toMatch(/^#!\/bin\/sh\nexec /);
    chmodSync(bd, 0o644);
    await write();
    expect(statSync(bd).mode & 0o777).toBe(0o755);
  });

  it('leave bd to a real one, and what somebody else put there alone', async () => {
    const bd = join((await write()) ?? '', 'bd');
    await write(true);
    expect(existsSync(bd)).toBe(false);
    writeFileSync(bd, '#!/bin/sh\necho mine\n');
    await write(true);
    expect(readFileSync(bd, 'utf8')).toBe('#!/bin/sh\necho mine\n');
  });

  it('are not made for a program that cannot be run', async () => {
    chmodSync(program, 0o644);
    expect(await write()).toBeUndefined();
    expect(existsSync(join(dir, '.gc'))).toBe(false);
  });
});
