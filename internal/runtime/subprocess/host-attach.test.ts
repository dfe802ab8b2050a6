import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ATTACH_RESET } from '../host/attach-text.ts';
import { Screen } from '../host/screen.ts';
import { ScrollbackFile } from '../host/scrollback-file.ts';
import type { AttachStream, RuntimeEvent, TerminalSize } from '../provider.ts';
import type { HostBackend } from './host-backend.ts';
import { HostFixture, NEVER, node, screenHas, sessionOf, shell, until } from './host-fixture.ts';

const SIZE = { columns: 80, rows: 24 };

/** A person's terminal: another emulator, fed with what the attach stream brings. */
class Person {
  readonly screen: Screen;
  readonly replies: string[] = [];
  bytes = '';
  ended = false;
  readonly #stream: AttachStream;

  constructor(stream: AttachStream, size: TerminalSize, scratch: string) {
    this.#stream = stream;
    this.screen = new Screen({
      ...size,
      pipe: false,
      scrollback: new ScrollbackFile(join(scratch, `p-${Math.random()}`)),
      onReply: (reply) => this.replies.push(reply),
      onShown: () => undefined,
    });
    void this.#follow();
  }

  get lines(): readonly string[] {
    return this.screen.capture(0).screen.lines;
  }

  type(text: string): void {
    this.#stream.write(Buffer.from(text));
  }

  resize(size: TerminalSize): void {
    this.screen.resize(size);
    this.#stream.resize(size);
  }

  leave(): void {
    this.#stream.close();
  }

  async #follow(): Promise<void> {
    for await (const piece of this.#stream.output) {
      this.bytes += Buffer.from(piece).toString('latin1');
      this.screen.write(Buffer.from(piece));
    }
    this.ended = true;
  }
}

describe('attach', () => {
  const fixture = new HostFixture();
  const scratch = mkdtempSync(join(tmpdir(), 'gc-attach-'));
  let backend: HostBackend;
  beforeAll(() => {
    backend = fixture.backend();
  });
  afterAll(async () => {
    await fixture.dispose();
    rmSync(scratch, { recursive: true });
  });

  const open = async (name: string, size: TerminalSize = SIZE): Promise<AttachStream> => {
    const plan = await backend.attach(name);
    if (plan.kind !== 'stream') throw new Error(plan.kind);
    expect(plan.leave).toBe('Ctrl-Q');
    return plan.open(size);
  };
  const attach = async (name: string, size: TerminalSize = SIZE) =>
    new Person(await open(name, size), size, scratch);
  const same = (name: string, person: Person) =>
    until(`the person sees ${name}`, async () => {
      const host = await backend.capture(name, 0);
      const seen = person.screen.capture(0).screen;
      return JSON.stringify([host.lines, host.cursor]) === JSON.stringify([seen.lines, seen.cursor]);
    });

  it('shows the screen as it is, then what comes, and takes what is typed', async () => {
    const script = `printf '\\033[1;32mgreen\\033[m\n'; seq 50; printf 'wrap%.0s' $(seq 40); echo; while read x; do echo "got $x"; done`;
    await backend.create('shell', shell(script), NEVER);
    await screenHas(backend, 'shell', 'wrapwrap');
    const person = await attach('shell');
    await same('shell', person);
    person.type('hello\r');
    await until('the answer is seen', () => person.lines.includes('got hello'));
    await same('shell', person);
    expect((await sessionOf(backend, 'shell')).attached).toBe(1);
    person.leave();
    await until('the person has left', async () => (await sessionOf(backend, 'shell')).attached === 0);
    await until('the terminal was reset', () => person.ended);
    expect(person.bytes.endsWith(ATTACH_RESET)).toBe(true);
    expect((await sessionOf(backend, 'shell')).state.kind).toBe('alive');
    await backend.kill('shell', 0);
  });

  it('brings back a full-screen program with its modes, and leaves the terminal plain', async () => {
    const draw = `process.stdin.setRawMode(true);
      process.stdout.write('before\\r\\n\\x1b[?1049h\\x1b[2J\\x1b[5;10Hmenu\\x1b[?25l\\x1b[?1003h\\x1b[?1006h\\x1b[?2004h\\x1b[3;9r\\x1b[7;7H\\x1b]2;agent\\x07');
      process.stdin.on('data', (b) => process.stdout.write('<' + b + '>'));`;
    await backend.create('full', node(draw), NEVER);
    await screenHas(backend, 'full', 'menu');
    const person = await attach('full');
    await same('full', person);
    for (const wanted of [
      '\x1b[?1049h',
      '\x1b[?25l',
      '\x1b[?1003h',
      '\x1b[?1006h',
      '\x1b[?2004h',
      '\x1b[3;9r',
      '\x1b]2;agent\x07',
    ]) {
      expect(person.bytes).toContain(wanted);
    }
    expect(person.screen.alternate).toBe(true);
    person.type('x');
    await until('the key is shown', () => person.lines.some((line) => line.includes('<x>')));
    await same('full', person);
    person.leave();
    await until('it has ended', () => person.ended);
    await until('the last bytes are shown', () => person.screen.pendingBytes === 0);
    expect(person.screen.alternate).toBe(false);
    expect(person.screen.bracketedPaste).toBe(false);
    await backend.kill('full', 0);
  });

  it('lets the person size the session, and the smallest of several decides', async () => {
    const script = `const say = () => console.log('size ' + process.stdout.columns + 'x' + process.stdout.rows); process.stdout.on('resize', say); say(); setInterval(() => {}, 1e6)`;
    await backend.create('sizes', node(script), NEVER);
    const one = await attach('sizes', { columns: 100, rows: 30 });
    await screenHas(backend, 'sizes', 'size 100x30');
    const two = await attach('sizes', { columns: 60, rows: 40 });
    await screenHas(backend, 'sizes', 'size 60x30');
    expect((await sessionOf(backend, 'sizes')).attached).toBe(2);
    await until('both see it', () => [one, two].every((p) => p.lines.some((line) => line === 'size 60x30')));
    two.resize({ columns: 90, rows: 20 });
    await until('both see the new size', () =>
      [one, two].every((p) => p.lines.some((line) => line === 'size 90x20')),
    );
    two.leave();
    await screenHas(backend, 'sizes', /size 100x30[\s\S]*size 100x30/);
    await same('sizes', one);
    one.leave();
    await backend.kill('sizes', 0);
  });

  it("mutes the emulator: the person's terminal answers", async () => {
    const ask = `process.stdin.setRawMode(true); let n = 0; process.stdin.on('data', (b) => { const t = String(b); if (t === 'q') process.stdout.write('\\x1b[c'); else console.log('answer ' + ++n + JSON.stringify(t)); }); console.log('up')`;
    await backend.create('ask', node(ask), NEVER);
    await screenHas(backend, 'ask', 'up');
    const person = await attach('ask');
    person.type('q');
    await until("the person's terminal was asked", () => person.replies.length > 0);
    expect(person.lines.join('\n')).not.toContain('answer');
    person.type('\x1b[?62c');
    await screenHas(backend, 'ask', 'answer 1"\\u001b[?62c"');
    person.leave();
    await until('the person has left', async () => (await sessionOf(backend, 'ask')).attached === 0);
    await backend.sendKeys('ask', ['q']);
    await screenHas(backend, 'ask', 'answer 2"\\u001b[?1;2c"');
    await backend.kill('ask', 0);
  });

  it('a terminal that takes nothing costs no memory and no other person, and catches up by a redraw', async () => {
    await backend.create(
      'flood',
      shell(`yes 'output that nobody reads' | head -c 12000000; echo; echo the end; exec sleep 300`),
      NEVER,
    );
    const stuck = await open('flood');
    const person = await attach('flood');
    await until('the person sees the end', () => person.lines.includes('the end'), 30_000);
    let bytes = 0;
    const late = new Screen({
      ...SIZE,
      pipe: false,
      scrollback: new ScrollbackFile(join(scratch, 'late')),
      onReply: () => undefined,
      onShown: () => undefined,
    });
    await Promise.race([
      (async () => {
        for await (const piece of stuck.output) {
          bytes += piece.length;
          late.write(Buffer.from(piece));
        }
      })(),
      until('the late one sees the end', () => late.capture(0).screen.lines.includes('the end'), 20_000),
    ]);
    expect(bytes).toBeLessThan(8_000_000);
    stuck.close();
    person.leave();
    await backend.kill('flood', 0);
  }, 60_000);

  it('ends with the session, and is told as events', async () => {
    const events: RuntimeEvent[] = [];
    const lifetime = new AbortController();
    const watched = (async () => {
      for await (const event of backend.watch(lifetime.signal))
        if (event.kind !== 'activity') events.push(event);
    })();
    await backend.create('ends', shell('read x; echo last words; exit 2'), NEVER);
    await until('the watch runs', async () => {
      await backend.create('probe', shell('exit 0'), NEVER);
      await until('the probe ended', async () => (await sessionOf(backend, 'probe')).state.kind === 'dead');
      await backend.kill('probe', 0);
      return events.some((event) => event.kind === 'exited' && event.name === 'probe');
    });
    const one = await attach('ends');
    const two = await attach('ends');
    two.leave();
    one.type('\r');
    await until('it has ended', () => one.ended);
    expect(one.bytes).toContain('last words');
    expect(one.bytes.endsWith(ATTACH_RESET)).toBe(true);
    await until('the exit is told', () =>
      events.some((event) => event.kind === 'exited' && event.name === 'ends'),
    );
    const own = events.filter((event) => 'name' in event && event.name === 'ends').map((event) => event.kind);
    expect(own.filter((kind) => kind === 'attached')).toHaveLength(2);
    expect(own).toContain('detached');
    expect(own.at(-1)).toBe('exited');
    lifetime.abort();
    await watched;
    await backend.kill('ends', 0);
  });

  it('ends when the session is killed', async () => {
    await backend.create('gone', shell('exec sleep 300'), NEVER);
    const person = await attach('gone');
    await backend.kill('gone', 0);
    await until('it has ended', () => person.ended);
    await expect(backend.attach('gone')).rejects.toMatchObject({ code: 'session-not-found' });
  });
});
