import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recorder, script, sleeper } from './testing/agents.ts';
import { eventually, hasTmux, PrivateServer, TRANSPORTS, tmuxNote } from './testing/private-server.ts';
import type { TmuxBackend } from './tmux-backend.ts';

const never = new AbortController().signal;
const OPEN = '\x1b[200~';
const CLOSE = '\x1b[201~';

describe.skipIf(!hasTmux).each(TRANSPORTS)(`tmux input over %s${tmuxNote}`, (transport) => {
  let server: PrivateServer;
  let backend: TmuxBackend;

  beforeEach(async () => {
    server = new PrivateServer();
    backend = server.backend(transport);
    await backend.create('rec', server.launch(recorder(server.path('log'))), never);
    await ready('rec');
  });
  afterEach(() => server.dispose());

  const ready = (name: string) =>
    eventually(`${name} is ready`, async () => (await backend.capture(name, 0)).lines.at(-1) === 'READY>');
  const log = () => (existsSync(server.path('log')) ? readFileSync(server.path('log')) : Buffer.alloc(0));
  const received = (bytes: number) => eventually('everything arrived', () => log().length >= bytes && log());
  const pane = () => server.tmux('display-message', '-p', '-t', '=rec:', '#{@gc_pane}').trim();

  it('TMX-02 TMX-03 delivers every text as one framed paste, byte for byte', async () => {
    const texts = [
      'hello',
      'ls;',
      ';',
      'a;b',
      '-x',
      '--',
      'one\ntwo\nthree',
      'one\r\ntwo\r',
      ' outer  ',
      '\n\n',
      `quotes ' " \` $HOME $(id) \\ ~ \\n #{pid} %1 {} #S`,
      'tab\there, \x1b[31mred\x1b[0m, \x01\x7f',
      'ünï 漢字 👩‍💻 \u00a0end',
    ];
    let expected = '';
    for (const text of texts) {
      await backend.paste('rec', text);
      expected += OPEN + text + CLOSE;
    }
    const got = await received(Buffer.byteLength(expected));
    expect(got.toString('utf8')).toBe(expected);
    expect(server.tmux('list-buffers')).toBe('');
  });

  it('delivers a NUL byte, and nothing for an empty text', async () => {
    await backend.paste('rec', '');
    await backend.paste('rec', 'a\0b');
    expect((await received(15)).toString('latin1')).toBe(`${OPEN}a\0b${CLOSE}`);
  });

  it('does not frame a paste when the program did not ask for it', async () => {
    await backend.create(
      'plain',
      server.launch(script(`stty raw -echo; printf 'READY> '; cat > '${server.path('p')}'`)),
      never,
    );
    await ready('plain');
    await backend.paste('plain', 'one\ntwo');
    await eventually(
      'it arrived',
      () => existsSync(server.path('p')) && readFileSync(server.path('p'), 'utf8') === 'one\ntwo',
    );
  });

  it('TMX-04 TMX-05 delivers 100 bytes to 3 MB whole, in a time that does not grow with the size', async () => {
    let total = 0;
    for (const size of [100, 16_384, 65_536, 1_000_000, 3_000_000]) {
      const text = `${'0123456789abcde;'.repeat(size / 16 + 1)}`.slice(0, size - 1).concat('\n');
      const began = performance.now();
      await backend.paste('rec', text);
      const got = await received(total + size + 12);
      const took = performance.now() - began;
      const body = got.subarray(total + 6, total + 6 + size);
      expect(digest(body)).toBe(digest(Buffer.from(text)));
      if (size === 65_536) expect(took).toBeLessThan(2_000);
      total += size + 12;
    }
    expect(log().length).toBe(total);
  });

  it('leaves copy mode first, for text and for keys', async () => {
    server.tmux('copy-mode', '-t', pane());
    await backend.paste('rec', 'seen');
    await received(16);
    server.tmux('copy-mode', '-t', pane());
    await backend.sendKeys('rec', ['Enter']);
    expect((await received(17)).toString()).toBe(`${OPEN}seen${CLOSE}\r`);
    server.tmux('clock-mode', '-t', pane());
    await backend.interrupt('rec');
    expect((await received(18)).at(-1)).toBe(3);
  });

  it('sends named keys and single characters', async () => {
    await backend.sendKeys('rec', ['Up', 'C-u', 'x', ';', '-', '1', 'Escape', 'Enter']);
    expect((await received(10)).toString()).toBe('\x1b[A\x15x;-1\x1b\r');
    await backend.sendKeys('rec', []);
  });

  it('writes to the pane that the agent was started in, wherever a person splits', async () => {
    server.tmux('split-window', '-b', '-t', '=rec:', `stty raw -echo; exec cat > '${server.path('mine')}'`);
    server.tmux('new-window', '-t', '=rec:', 'sleep 300');
    await eventually('the split is up', () => existsSync(server.path('mine')));
    await backend.paste('rec', 'for the agent');
    await backend.sendKeys('rec', ['Enter']);
    await received(26);
    expect(readFileSync(server.path('mine'), 'utf8')).toBe('');
    expect((await backend.capture('rec', 0)).lines.at(-1)).toBe('READY>');
  });

  it('keeps parallel pastes whole', async () => {
    const texts = [...'abcdefgh'].map((letter) => letter.repeat(2_000));
    await Promise.all(texts.map((text) => backend.paste('rec', text)));
    const got = (await received(8 * 2_012)).toString();
    for (const text of texts) expect(got).toContain(OPEN + text + CLOSE);
  });

  it('refuses text for a pane whose program ended, and the server with all its sessions lives on', async () => {
    await backend.create('brief', server.launch(script('read line; exit 0')), never);
    await server.tmux('send-keys', '-t', '=brief:', 'Enter');
    await eventually('it ended', async () => {
      const found = await backend.inspect('brief');
      return found.kind === 'present' && found.session.state.kind === 'dead';
    });
    await expect(backend.paste('brief', 'too late')).rejects.toMatchObject({ code: 'session-not-found' });
    expect((await backend.inspect('rec')).kind).toBe('present');
    expect(server.tmux('list-buffers')).toBe('');
    // The end comes at any moment of a delivery.
    for (let round = 0; round < 8; round += 1) {
      const name = `racing-${round}`;
      await backend.create(name, server.launch(script('read line; exit 0')), never);
      const pastes = Promise.allSettled([1, 2, 3, 4].map(() => backend.paste(name, 'text\n')));
      await backend.sendKeys(name, ['Enter']).catch(() => undefined);
      await pastes;
    }
    expect((await backend.inspect('rec')).kind).toBe('present');
  });

  it('tells the line limit of a terminal in canonical mode, and none in raw mode', async () => {
    await backend.create('cooked', server.launch(sleeper), never);
    expect(await backend.inputLimit('cooked')).toBe(4_095);
    expect(await backend.inputLimit('rec')).toBeUndefined();
  });

  it('wakes a detached program with two size changes and leaves the size free', async () => {
    const count = `n=0; trap 'n=$((n+1)); echo "WINCH $n"' WINCH; echo READY; while :; do sleep 0.05; done`;
    await backend.create('w', server.launch(script(count)), never);
    await eventually('it is ready', async () => (await backend.capture('w', 0)).lines.includes('READY'));
    const size = server.tmux('display-message', '-p', '-t', '=w:', '#{window_width}x#{window_height}');
    await backend.wake('w');
    await eventually('it saw a size change', async () =>
      (await backend.capture('w', 0)).lines.includes('WINCH 1'),
    );
    expect(server.tmux('display-message', '-p', '-t', '=w:', '#{window_width}x#{window_height}')).toBe(size);
    expect(server.tmux('show-options', '-w', '-v', '-t', '=w:', 'window-size').trim()).toBe('latest');
  });

  it('round-trips metadata, and scripts see ordinary values as they are', async () => {
    const values = [
      'v',
      '',
      'a b',
      'x=y=z',
      ' outer ',
      'two\nlines',
      'end\n',
      'tab\t',
      `'"$\\;`,
      'gc-b64:xx',
      '漢',
      '-v',
    ];
    for (const [i, value] of values.entries()) await backend.setMeta('rec', `KEY_${i}`, value);
    for (const [i, value] of values.entries()) expect(await backend.getMeta('rec', `KEY_${i}`)).toBe(value);
    expect(server.tmux('show-environment', '-t', '=rec', 'KEY_3')).toBe('KEY_3=x=y=z\n');
    server.tmux('set-environment', '-t', '=rec', 'GC_DRAIN', '17');
    expect(await backend.getMeta('rec', 'GC_DRAIN')).toBe('17');
    const found = await backend.inspect('rec');
    expect(found.kind === 'present' && found.session.meta).toMatchObject({
      GC_DRAIN: '17',
      GC_SESSION_ID: 's-1',
    });
    await backend.removeMeta('rec', 'GC_DRAIN');
    expect(await backend.getMeta('rec', 'GC_DRAIN')).toBe('');
    expect(await backend.getMeta('rec', 'HOME')).toBe('');
    await backend.setMeta('rec', 'test-key', 'test-value');
    expect(await backend.getMeta('rec', 'test-key')).toBe('test-value');
    await expect(backend.setMeta('rec', 'a=b', 'x')).rejects.toThrow(/metadata key/);
    await backend.setMeta('rec', 'GC_DRAIN_REASON', 'two\nlines');
    const all = await backend.inspectAll();
    expect(all.kind === 'seen' && all.sessions.get('rec')?.meta['GC_DRAIN_REASON']).toBe('two\nlines');
  });
});

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
