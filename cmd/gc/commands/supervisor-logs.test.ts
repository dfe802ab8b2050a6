import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runIn } from '../testing/fake-city.ts';

let home = '';
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'gc-logs-')));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const logs = (...argv: string[]) => runIn(['supervisor', 'logs', ...argv], { env: { GC_HOME: home } });

describe('gc supervisor logs', () => {
  it('prints the last lines, also across blocks', async () => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `{"line":${i},"é":1}`);
    writeFileSync(join(home, 'supervisor.log'), `${lines.join('\n')}\n`);
    expect((await logs('-n', '3')).out).toBe(`${lines.slice(-3).join('\n')}\n`);
    expect((await logs('-n', '9000')).out).toBe(`${lines.slice(-9_000).join('\n')}\n`);
    expect((await logs('-n', '99999')).out).toBe(`${lines.join('\n')}\n`);
    expect((await logs('-n', '0')).out).toBe('');
    expect((await logs()).out.split('\n')).toHaveLength(51);
  });

  it('says when there is none', async () => {
    expect(await logs()).toMatchObject({ code: 1, out: '' });
    expect((await logs()).err).toContain('no supervisor has run yet');
  });
});
