import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { machineIdentity } from './machine.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-machine-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe('which machine it is', () => {
  const ID = '0123456789abcdef0123456789abcdef';
  const file = (name: string, text: string) => {
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };

  it('is told by its machine id, the first that is one', () => {
    const broken = file('broken', 'uninitialized\n');
    expect(machineIdentity([join(dir, 'none'), broken, file('id', `${ID}\n`)])).toBe(ID);
  });

  it('is told by its host name where there is no machine id, as in most containers', () => {
    expect(machineIdentity([join(dir, 'none'), file('empty', '')])).toBe(hostname());
  });
});
