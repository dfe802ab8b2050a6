import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import type { HostBackend } from './host-backend.ts';
import { deathOf, HostFixture, NEVER, node, screenHas, sessionOf, shell, until } from './host-fixture.ts';

/** A host that answers within this time is awake, on a machine that is busy with other tests. */
const AWAKE_MS = 1_000;

/** Reads slowly, byte for byte, and prints the digest of the first `count` bytes. */
const slowReader = (count: number, raw: boolean) => `
  const { createHash } = require('node:crypto');
  if (${raw}) process.stdin.setRawMode(true);
  const hash = createHash('sha256');
  let seen = 0;
  process.stdin.on('data', (bytes) => {
    hash.update(bytes.subarray(0, ${count} - seen));
    seen += bytes.length;
    if (seen >= ${count}) { console.log('digest ' + hash.digest('hex') + ' of ' + seen); return; }
    process.stdin.pause();
    setTimeout(() => process.stdin.resume(), 1);
  });
  console.log('reading');`;

/** Shows every byte that arrives, as JSON. */
const RECORDER = `
  process.stdin.setRawMode?.(true);
  process.stdin.on('data', (bytes) => console.log(JSON.stringify(bytes.toString('utf8'))));
  console.log('ready');`;

const digest = (text: string) => createHash('sha256').update(text).digest('hex');

describe('output', () => {
  const fixture = new HostFixture();
  let backend: HostBackend;
  beforeAll(() => {
    backend = fixture.backend();
  });
  afterAll(() => fixture.dispose());

  it.each([true, false])(
    'SUB-06 is whole when the program prints 20,000 characters and exits (terminal: %s)',
    async (pty) => {
      for (let i = 0; i < 40; i += 1) {
        await backend.create('fast', shell(`printf 'x%.0s' $(seq 20000)`, { pty }), NEVER);
        expect(await deathOf(backend, 'fast')).toMatchObject({ exit: { code: 0 } });
        expect((await backend.capture('fast', -1)).lines.join('').length).toBe(20_000);
        await backend.kill('fast', 0);
      }
    },
  );

  it('SUB-08 of 200 short-lived sessions leaves no error behind', async () => {
    const host = fixture.hostPid;
    for (let round = 0; round < 10; round += 1) {
      const names = Array.from({ length: 20 }, (_, i) => `short-${round}-${i}`);
      await Promise.all(names.map((name) => backend.create(name, shell('echo done'), NEVER)));
      await Promise.all(names.map((name) => deathOf(backend, name)));
      for (const name of names) expect((await backend.capture(name, 0)).lines).toEqual(['done', '']);
      await Promise.all(names.map((name) => backend.kill(name, 0)));
    }
    expect(fixture.hostPid).toBe(host);
    expect(fixture.log()).not.toMatch(/error/i);
  });

  it('SUB-02 ends with the program although a helper holds the terminal', async () => {
    for (const pty of [true, false]) {
      await backend.create('holder', shell(`echo said; trap '' HUP; sleep 300 & exit 3`, { pty }), NEVER);
      const since = performance.now();
      expect(await deathOf(backend, 'holder')).toMatchObject({ exit: { code: 3 }, lastLines: 'said' });
      expect(performance.now() - since).toBeLessThan(2_000);
      await backend.kill('holder', 1_000);
    }
  });

  it('30 MB are taken without growing the host, and a peek of everything is bounded', async () => {
    const line = 'a line of output that is as long as lines usually are';
    await backend.create('flood', shell(`yes '${line}' | head -c 30000000; echo; echo the end`), NEVER);
    const started = performance.now();
    let slowest = 0;
    for (;;) {
      const asked = performance.now();
      const { state } = await sessionOf(backend, 'flood');
      slowest = Math.max(slowest, performance.now() - asked);
      if (state.kind === 'dead') break;
      if (performance.now() - started > 60_000) throw new Error('still flooding');
      await systemClock.sleep(20);
    }
    expect(slowest).toBeLessThan(AWAKE_MS);
    const { lines } = await backend.capture('flood', -1);
    const bytes = lines.reduce((sum, text) => sum + text.length + 1, 0);
    expect(bytes).toBeGreaterThan(1_500_000);
    expect(bytes).toBeLessThan(5_000_000);
    expect(lines.at(-2)).toBe('the end');
    expect(lines.slice(1_000, 11_000).every((text) => text === line)).toBe(true);
    expect((await backend.capture('flood', 5_000)).lines).toEqual(lines.slice(-5_000));
    await backend.kill('flood', 0);
  }, 90_000);

  it('answers the questions of a program that nobody watches', async () => {
    const ask = `process.stdin.setRawMode(true); process.stdin.on('data', (b) => console.log(JSON.stringify(String(b)))); process.stdout.write('\\x1b[c\\x1b[6n')`;
    await backend.create('asks', node(ask), NEVER);
    await screenHas(backend, 'asks', '[?1;2c');
    await screenHas(backend, 'asks', '[1;1R');
    await backend.kill('asks', 0);
  });

  it('tells its activity, and clears its scrollback', async () => {
    const script = 'seq 300; while read x; do echo "got $x"; done';
    await backend.create('active', shell(script), NEVER);
    await screenHas(backend, 'active', '300');
    const before = (await sessionOf(backend, 'active')).lastActivity ?? 0;
    await backend.clearScrollback('active');
    expect((await backend.capture('active', -1)).lines).not.toContain('1');
    await until('the clock moved', () => Date.now() > before + 5);
    await backend.sendKeys('active', ['h', 'i', 'Enter']);
    await screenHas(backend, 'active', 'got hi');
    expect((await sessionOf(backend, 'active')).lastActivity).toBeGreaterThan(before);
    await backend.kill('active', 0);
  });

  it('a program is told of a wake by two changes of size', async () => {
    const script = `process.stdout.on('resize', () => console.log('rows ' + process.stdout.rows)); setInterval(() => {}, 1e6); console.log('up')`;
    await backend.create('woken', node(script), NEVER);
    await screenHas(backend, 'woken', 'up');
    await backend.wake('woken');
    await screenHas(backend, 'woken', /rows 23\nrows 24/);
    await backend.kill('woken', 0);
  });

  it('goes on for a program that closes its terminal and lives', async () => {
    await backend.create(
      'closes',
      shell(`exec 0<&- 1>&- 2>&-; sleep 1; echo back >/dev/tty; exec sleep 300`),
      NEVER,
    );
    await screenHas(backend, 'closes', 'back');
    expect((await sessionOf(backend, 'closes')).state.kind).toBe('alive');
    await backend.kill('closes', 0);
  });
});

describe('input', () => {
  const fixture = new HostFixture();
  let backend: HostBackend;
  beforeAll(() => {
    backend = fixture.backend();
  });
  afterAll(() => fixture.dispose());

  it('SUB-07 of 1 MB reaches a slow reader whole, and the host stays awake', async () => {
    const text = Array.from({ length: 20_000 }, (_, i) => `line ${i} with an umlaut ö and more text\n`)
      .join('')
      .slice(0, 1_000_000);
    const size = Buffer.byteLength(text);
    await backend.create('slow', node(slowReader(size, true)), NEVER);
    await screenHas(backend, 'slow', 'reading');
    const pasted = backend.paste('slow', text);
    let slowest = 0;
    let done = false;
    const finished = pasted.then(() => {
      done = true;
    });
    while (!done) {
      const asked = performance.now();
      await sessionOf(backend, 'slow');
      slowest = Math.max(slowest, performance.now() - asked);
    }
    await finished;
    await screenHas(backend, 'slow', `digest ${digest(text)} of ${size}`);
    expect(slowest).toBeLessThan(AWAKE_MS);
    await backend.kill('slow', 0);
  }, 60_000);

  it('of any size reaches a pipe whole', async () => {
    const text = 'pipe\n'.repeat(200_000);
    await backend.create('pipe', node(slowReader(text.length, false), { pty: false }), NEVER);
    await screenHas(backend, 'pipe', 'reading');
    await backend.paste('pipe', text);
    await screenHas(backend, 'pipe', `digest ${digest(text)} of ${text.length}`);
    await backend.kill('pipe', 0);
  });

  it('is framed when the program asked for it, and cannot end its own frame', async () => {
    await backend.create('frame', node(`process.stdout.write('\\x1b[?2004h');${RECORDER}`), NEVER);
    await screenHas(backend, 'frame', 'ready');
    expect((await backend.capture('frame', 0)).bracketedPaste).toBe(true);
    await backend.paste('frame', 'two\nlines \u001b[201~rm -rf');
    await screenHas(backend, 'frame', String.raw`"\u001b[200~two\nlines  rm -rf\u001b[201~"`);
    await backend.kill('frame', 0);
  });

  it('is typed as it is otherwise: leading dashes, semicolons, empty', async () => {
    await backend.create('raw', node(RECORDER), NEVER);
    await screenHas(backend, 'raw', 'ready');
    for (const text of ['-x', 'a;', ';', 'tab\tand ü 😀']) {
      await backend.paste('raw', text);
      await screenHas(backend, 'raw', JSON.stringify(text));
    }
    await backend.paste('raw', '');
    await backend.sendKeys('raw', ['C-u', 'Up', 'F5', 'M-x', 'Escape']);
    for (const bytes of ['\u0015', '\u001b[A', '\u001b[15~', '\u001bx', '\u001b']) {
      await screenHas(backend, 'raw', JSON.stringify(bytes).slice(1, -1));
    }
    await backend.kill('raw', 0);
  });

  it('follows application cursor keys', async () => {
    await backend.create('app', node(`process.stdout.write('\\x1b[?1h');${RECORDER}`), NEVER);
    await screenHas(backend, 'app', 'ready');
    await backend.sendKeys('app', ['Up']);
    await screenHas(backend, 'app', String.raw`"\u001bOA"`);
    await backend.kill('app', 0);
  });

  it('refuses a line that the terminal would cut, and takes it when the program reads raw', async () => {
    await backend.create('cooked', shell('cat >/dev/null'), NEVER);
    await until('the terminal reads lines', async () => (await backend.inputLimit('cooked')) === 4_095);
    await expect(backend.paste('cooked', `ok\n${'x'.repeat(4_096)}`)).rejects.toMatchObject({
      code: 'line-too-long',
    });
    await backend.paste('cooked', `${'x'.repeat(4_095)}\n`.repeat(10));
    await backend.kill('cooked', 0);
    await backend.create('uncooked', node(slowReader(5_000, true)), NEVER);
    await screenHas(backend, 'uncooked', 'reading');
    expect(await backend.inputLimit('uncooked')).toBeUndefined();
    await backend.paste('uncooked', 'x'.repeat(5_000));
    await screenHas(backend, 'uncooked', digest('x'.repeat(5_000)));
    await backend.kill('uncooked', 0);
  });

  it('interrupts: Ctrl-C at a terminal, SIGINT to the group without one', async () => {
    for (const pty of [true, false]) {
      const script = `trap 'echo interrupted' INT; (trap 'echo helper; exit' INT; sleep 300 & wait) & echo up; while :; do sleep 1 & wait $!; done`;
      await backend.create('busy', shell(script, { pty }), NEVER);
      await screenHas(backend, 'busy', 'up');
      await backend.interrupt('busy');
      await screenHas(backend, 'busy', 'interrupted');
      expect((await sessionOf(backend, 'busy')).state.kind).toBe('alive');
      await backend.kill('busy', 0);
    }
  });

  it('keys of a pipe: Enter is a line feed, C-c an interrupt', async () => {
    await backend.create(
      'keys',
      shell('read line; echo "read $line"; exec sleep 300', { pty: false }),
      NEVER,
    );
    await backend.sendKeys('keys', ['h', 'i', 'Enter']);
    await screenHas(backend, 'keys', 'read hi');
    await backend.sendKeys('keys', ['C-c']);
    expect(await deathOf(backend, 'keys')).toMatchObject({ exit: { signal: 'SIGINT' } });
    await backend.kill('keys', 0);
  });
});
