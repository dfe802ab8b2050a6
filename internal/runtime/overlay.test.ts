import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StartFailedError } from './errors.ts';
import { applyOverlay } from './overlay.ts';
import { isMergeable, mergeSettings } from './overlay-merge.ts';
import { EMPTY_RUNTIME_CONFIG } from './runtime-config.ts';
import { copyInto, stageFiles } from './staging.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gc-overlay-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const { signal } = new AbortController();

function put(path: string, content: string, mode = 0o644): string {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  chmodSync(file, mode);
  return file;
}
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const modeOf = (path: string) => statSync(join(root, path)).mode & 0o777;
const apply = (slots: readonly string[] = [], source = 'overlay') =>
  applyOverlay(join(root, source), join(root, 'work'), slots, signal);

describe('applyOverlay', () => {
  it('lays the universal part, then each slot on top, later ones winning', async () => {
    put('overlay/a.txt', 'universal');
    put('overlay/sub/b.txt', 'universal');
    put('overlay/per-provider/claude/a.txt', 'claude');
    put('overlay/per-provider/extra/a.txt', 'extra');
    put('overlay/per-provider/codex/c.txt', 'codex');
    await apply(['claude', '', 'extra', 'claude', 'missing']);
    expect(read('work/a.txt')).toBe('extra');
    expect(read('work/sub/b.txt')).toBe('universal');
    expect(existsSync(join(root, 'work/per-provider'))).toBe(false);
    expect(existsSync(join(root, 'work/c.txt'))).toBe(false);
  });

  it('replaces files, new ones with the mode of the source, old ones with their own', async () => {
    put('overlay/run.sh', 'new', 0o755);
    put('overlay/secret', 'new', 0o644);
    put('work/secret', 'old', 0o600);
    await apply();
    expect([read('work/run.sh'), modeOf('work/run.sh')]).toEqual(['new', 0o755]);
    expect([read('work/secret'), modeOf('work/secret')]).toEqual(['new', 0o600]);
  });

  it('is fine without the folder, and refuses a file in its place', async () => {
    await apply();
    put('overlay', 'a file');
    await expect(apply()).rejects.toThrow('is not a folder');
  });

  it('follows links to folders and files, recreates dangling ones, notices loops', async () => {
    put('shared/x.txt', 'shared');
    mkdirSync(join(root, 'overlay'));
    symlinkSync(join(root, 'shared'), join(root, 'overlay/dir'));
    symlinkSync(join(root, 'shared/x.txt'), join(root, 'overlay/file'));
    symlinkSync('nowhere', join(root, 'overlay/dangling'));
    await apply();
    await apply();
    expect([read('work/dir/x.txt'), read('work/file')]).toEqual(['shared', 'shared']);
    expect(readlinkSync(join(root, 'work/dangling'))).toBe('nowhere');
    symlinkSync('..', join(root, 'overlay/loop'));
    await expect(apply()).rejects.toThrow('leads back');
  });

  it("does not follow links out of a pack; the city's own overlay may lead anywhere", async () => {
    put('pack/overlay/a', 'a');
    const secret = put('elsewhere/secret', 's');
    put('pack/shared/b', 'b');
    symlinkSync('../shared/b', join(root, 'pack/overlay/b'));
    const staged = (overlay: 'pack' | 'agent') =>
      stageFiles(
        {
          ...EMPTY_RUNTIME_CONFIG,
          workDir: join(root, overlay),
          packOverlayDirs: overlay === 'pack' ? [join(root, 'pack/overlay')] : [],
          overlayDir: overlay === 'agent' ? join(root, 'pack/overlay') : '',
        },
        signal,
      );
    await staged('pack');
    symlinkSync(secret, join(root, 'pack/overlay/c'));
    await expect(staged('pack')).rejects.toThrow(/leads out of its pack/);
    expect(existsSync(join(root, 'pack/c'))).toBe(false);
    await staged('agent');
    expect(read('agent/c')).toBe('s');
    rmSync(join(root, 'pack/overlay/c'));
    symlinkSync(dirname(secret), join(root, 'pack/overlay/d'));
    await expect(staged('pack')).rejects.toThrow(StartFailedError);
  });

  it('never writes through a link in the work dir to a file outside of it', async () => {
    put('home/precious', 'mine');
    put('home/settings.json', '{"mine": true}');
    put('overlay/notes', 'theirs');
    put('overlay/.claude/settings.json', '{"theirs": true}');
    mkdirSync(join(root, 'work/.claude'), { recursive: true });
    symlinkSync(join(root, 'home/precious'), join(root, 'work/notes'));
    symlinkSync(join(root, 'home/settings.json'), join(root, 'work/.claude/settings.json'));
    await apply();
    expect([read('home/precious'), read('home/settings.json')]).toEqual(['mine', '{"mine": true}']);
    expect(read('work/notes')).toBe('theirs');
    expect(JSON.parse(read('work/.claude/settings.json'))).toEqual({ mine: true, theirs: true });
    expect(lstatSync(join(root, 'work/notes')).isSymbolicLink()).toBe(false);
  });

  it('merges settings that are there, keeping their mode; twice gives the same bytes', async () => {
    put('overlay/.claude/settings.json', '{"hooks":{"Stop":[{"hooks":[{"command":"gc"}]}]},"b":2}');
    put('work/.claude/settings.json', '{"a":1,"hooks":{"Stop":[{"hooks":[{"command":"mine"}]}]}}', 0o600);
    await apply();
    const once = read('work/.claude/settings.json');
    expect(JSON.parse(once)).toEqual({
      a: 1,
      b: 2,
      hooks: { Stop: [{ hooks: [{ command: 'mine' }] }, { hooks: [{ command: 'gc' }] }] },
    });
    const before = statSync(join(root, 'work/.claude/settings.json')).mtimeMs;
    await apply();
    expect(read('work/.claude/settings.json')).toBe(once);
    expect(statSync(join(root, 'work/.claude/settings.json')).mtimeMs).toBe(before);
    expect(modeOf('work/.claude/settings.json')).toBe(0o600);
  });

  it('copies settings byte by byte when there are none, and replaces what is not JSON', async () => {
    put('overlay/.claude/settings.json', '{ "odd":   "spacing" }');
    await apply();
    expect(read('work/.claude/settings.json')).toBe('{ "odd":   "spacing" }');
    put('work/.claude/settings.json', 'not json');
    await apply();
    expect(read('work/.claude/settings.json')).toBe('{ "odd":   "spacing" }');
  });

  it('stops when it is aborted', async () => {
    put('overlay/a', '1');
    const aborted = AbortSignal.abort(new Error('stop'));
    await expect(applyOverlay(join(root, 'overlay'), join(root, 'work'), [], aborted)).rejects.toThrow(
      'stop',
    );
  });
});

describe('mergeSettings', () => {
  const merge = (base: unknown, overlay: unknown) =>
    JSON.parse(mergeSettings(JSON.stringify(base), JSON.stringify(overlay)));

  it('merges the five files and nothing else', () => {
    for (const path of [
      '.claude/settings.json',
      '.gemini/settings.json',
      '.codex/hooks.json',
      '.cursor/hooks.json',
      '.github/hooks/gascity.json',
    ])
      expect(isMergeable(path)).toBe(true);
    for (const path of [
      '.claude/settings.local.json',
      '.claude/hooks.json',
      'settings.json',
      '.opencode/config.js',
    ])
      expect(isMergeable(path)).toBe(false);
  });

  it("merges objects key by key outside of hooks; anything else is the overlay's", () => {
    expect(merge({ a: { x: 1, z: 1 }, keep: 1 }, { a: { y: 2, z: 2 } })).toEqual({
      a: { x: 1, y: 2, z: 2 },
      keep: 1,
    });
    expect(merge({ a: [1], b: { x: 1 }, toString: 1 }, { a: [2], b: 3 })).toEqual({
      a: [2],
      b: 3,
      toString: 1,
    });
  });

  it.each([
    [
      [
        { matcher: 'Bash', v: 1 },
        { matcher: '', v: 1 },
      ],
      [{ matcher: '', v: 2 }],
      [
        { matcher: 'Bash', v: 1 },
        { matcher: '', v: 2 },
      ],
    ],
    [
      [{ command: 'a', v: 1 }],
      [{ command: 'a', v: 2 }, { command: 'b' }],
      [{ command: 'a', v: 2 }, { command: 'b' }],
    ],
    [[{ bash: 'a', v: 1 }], [{ bash: 'a', v: 2 }], [{ bash: 'a', v: 2 }]],
    [[{ command: 'a' }], [{ bash: 'a' }], [{ command: 'a' }, { bash: 'a' }]],
    [
      [{ matcher: 1, command: 'a' }],
      [{ matcher: 2, command: 'a' }],
      [
        { matcher: 1, command: 'a' },
        { matcher: 2, command: 'a' },
      ],
    ],
    [
      [
        { matcher: 'x', v: 1 },
        { matcher: 'x', v: 2 },
      ],
      [{ matcher: 'x', v: 3 }],
      [
        { matcher: 'x', v: 1 },
        { matcher: 'x', v: 3 },
      ],
    ],
    [['text'], ['text', 'other'], ['text', 'other']],
    [[{ hooks: [1] }], [{ hooks: [1] }, { hooks: [2] }], [{ hooks: [1] }, { hooks: [2] }]],
    [[{ a: 1 }], [], [{ a: 1 }]],
  ])('entries %j with %j', (base, overlay, expected) => {
    expect(merge({ hooks: { Stop: base } }, { hooks: { Stop: overlay } })).toEqual({
      hooks: { Stop: expected },
    });
  });

  it('unites categories, and keeps the hooks of the base when the overlay has none', () => {
    expect(merge({ hooks: { A: [1] } }, { hooks: { B: [2] } })).toEqual({ hooks: { A: [1], B: [2] } });
    expect(merge({ hooks: { A: [1] } }, { hooks: { A: 'x' } })).toEqual({ hooks: { A: 'x' } });
    expect(merge({ hooks: { A: [1] } }, { hooks: null })).toEqual({ hooks: { A: [1] } });
    expect(merge({ hooks: { A: [1] } }, { hooks: [] })).toEqual({ hooks: { A: [1] } });
    expect(merge(null, { hooks: { A: [1] } })).toEqual({ hooks: { A: [1] } });
  });

  it('writes sorted, indented, escaped JSON with a newline', () => {
    expect(mergeSettings('{"z":[],"10":1,"9":{}}', '{"a":"<&>\u2028"}')).toBe(
      '{\n  "10": 1,\n  "9": {},\n  "a": "\\u003c\\u0026\\u003e\\u2028",\n  "z": []\n}\n',
    );
  });

  it('says which side is not an object', () => {
    expect(() => mergeSettings('[]', '{}')).toThrow('merge: parsing base');
    expect(() => mergeSettings('{}', '3')).toThrow('merge: parsing overlay');
    expect(() => mergeSettings('{}', '{')).toThrow('merge: parsing overlay');
  });
});

describe('stageFiles', () => {
  const staged = (over: object) => ({ ...EMPTY_RUNTIME_CONFIG, workDir: join(root, 'work'), ...over });
  const entry = (src: string, relDst: string) => ({
    src: join(root, src),
    relDst,
    probed: false,
    contentHash: '',
  });

  it('goes pack overlays, agent overlay, copied files; later ones win', async () => {
    put('p1/f', 'p1');
    put('p1/only1', 'p1');
    put('p2/f', 'p2');
    put('p2/per-provider/claude/slot', 'p2');
    put('agent/f', 'agent');
    put('agent/per-provider/hooked/slot', 'agent');
    put('single', 'copied');
    const config = staged({
      providerName: 'claude',
      installAgentHooks: ['hooked'],
      packOverlayDirs: [join(root, 'p1'), join(root, 'p2')],
      overlayDir: join(root, 'agent'),
      copyFiles: [entry('single', 'only1'), entry('single', '')],
    });
    expect(await stageFiles(config, signal)).toEqual([]);
    expect([read('work/f'), read('work/only1'), read('work/slot'), read('work/single')]).toEqual([
      'agent',
      'copied',
      'agent',
      'copied',
    ]);
  });

  it('fails the start for an overlay, warns for a file, stays inside of the work dir', async () => {
    put('bad', 'a file');
    await expect(stageFiles(staged({ overlayDir: join(root, 'bad') }), signal)).rejects.toBeInstanceOf(
      StartFailedError,
    );
    put('work/dir/x', '1');
    const warnings = await stageFiles(
      staged({ copyFiles: [entry('bad', 'dir'), entry('bad', '../out')] }),
      signal,
    );
    expect(warnings[0]).toContain('is a folder');
    expect(warnings[1]).toContain('outside of the work dir');
    expect(existsSync(join(root, 'out'))).toBe(false);
    expect(await copyInto(join(root, 'work'), join(root, 'bad'), '..out', signal)).toBeUndefined();
  });

  it('leaves a source that is in place, and a missing one', async () => {
    put('work/here', 'x', 0o600);
    expect(
      await stageFiles(staged({ copyFiles: [entry('work/here', 'here'), entry('gone', 'gone')] }), signal),
    ).toEqual([]);
    expect(read('work/here')).toBe('x');
    expect(await stageFiles({ ...staged({}), workDir: '' }, signal)).toEqual([]);
  });
});
