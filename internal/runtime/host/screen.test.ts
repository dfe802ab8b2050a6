import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { REDRAW_BEGIN } from './attach-text.ts';
import { Screen } from './screen.ts';
import { ScrollbackFile } from './scrollback-file.ts';

let dir: string;
const screens: Screen[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-screen-'));
});
afterEach(() => {
  for (const screen of screens.splice(0)) screen.dispose();
  rmSync(dir, { recursive: true });
});

interface Made {
  readonly screen: Screen;
  readonly replies: string[];
  show(text: string | Buffer): Promise<void>;
  all(): string[];
}

function make(columns = 40, rows = 10, options: { pipe?: boolean; limitBytes?: number } = {}): Made {
  const replies: string[] = [];
  const scrollback = new ScrollbackFile(join(dir, `s${screens.length}`), options.limitBytes);
  const screen = new Screen({
    columns,
    rows,
    pipe: options.pipe ?? false,
    scrollback,
    onReply: (reply) => replies.push(reply),
    onShown: () => undefined,
  });
  screens.push(screen);
  const show = (text: string | Buffer) =>
    new Promise<void>((resolve) => {
      screen.write(Buffer.from(text));
      screen.settle(resolve);
    });
  const all = () => {
    const { history, continued, screen: rest } = screen.capture(-1);
    const older = history === '' ? [] : history.split('\n');
    if (!continued) return [...older, ...rest.lines];
    return [...older.slice(0, -1), older.at(-1) + (rest.lines[0] ?? ''), ...rest.lines.slice(1)];
  };
  return { screen, replies, show, all };
}

const numbered = (count: number, text = 'line') => Array.from({ length: count }, (_, i) => `${text} ${i}`);

describe('what is captured', () => {
  it('is the visible screen with wrapped lines joined and padding cut', async () => {
    const { screen, show } = make(10, 6);
    await show('short   \r\n0123456789abcdefghijXYZ\r\n\r\n> ');
    const { screen: seen } = screen.capture(0);
    expect(seen.lines).toEqual(['short', '0123456789abcdefghijXYZ', '', '>']);
    expect(seen.visibleRows).toBe(4);
    expect(seen.cursor).toEqual({ row: 3, column: 2 });
  });

  it('keeps every line of a long output, in order, whatever its pieces', async () => {
    const { show, all } = make(40, 10);
    const lines = numbered(5_000);
    const bytes = Buffer.from(lines.join('\r\n'));
    for (let from = 0; from < bytes.length; from += 7_777) await show(bytes.subarray(from, from + 7_777));
    expect(all()).toEqual(lines);
  });

  it('joins lines that wrap between the file and the screen', async () => {
    const { show, all } = make(10, 4);
    const long = numbered(60, 'a rather long line that wraps, number').map((line) => line.padEnd(95, '.'));
    await show(long.join('\r\n'));
    expect(all()).toEqual(long);
  });

  it('does not put a blank where a wide character did not fit', async () => {
    const { show, all } = make(5, 3);
    await show('abcd漢字efgh漢\r\nnext\r\nlast\r\n\r\n\r\n$');
    expect(all().slice(0, 3)).toEqual(['abcd漢字efgh漢', 'next', 'last']);
  });

  it('answers the last lines, from memory and from the file', async () => {
    const { screen, show } = make(40, 10);
    await show(`${numbered(1_000).join('\r\n')}\r\n`);
    const few = screen.capture(15);
    expect(few.history).toBe('');
    expect(few.screen.lines).toEqual([...numbered(1_000).slice(-14), '']);
    const many = screen.capture(600);
    expect([...many.history.split('\n'), ...many.screen.lines]).toEqual([...numbered(1_000).slice(-599), '']);
    const three = screen.capture(3).screen;
    expect(three.visibleRows).toBe(3);
    expect(three.cursor).toEqual({ row: 2, column: 0 });
  });

  it('is one line for output without line ends, longer than memory', async () => {
    const { show, all } = make(40, 10);
    const text = 'x'.repeat(60_000);
    await show(text);
    expect(all().join('')).toBe(text);
    expect(all()).toHaveLength(1);
  });

  it('saves nothing twice when the screen is cleared or goes to the alternate screen and back', async () => {
    const { screen, show, all } = make(40, 5);
    await show(`${numbered(20).join('\r\n')}\r\n`);
    await show('\x1b[2J\x1b[Hcleared\r\n');
    await show(`${numbered(20, 'more').join('\r\n')}\r\n\x1b[?1049hfull screen`);
    expect(screen.capture(0).screen.lines).toContain('full screen');
    await show('\x1b[?1049l');
    await show(`${numbered(20, 'after').join('\r\n')}\r\n`);
    const lines = all().filter((line) => line !== '');
    expect(new Set(lines).size).toBe(lines.length);
    for (const line of [...numbered(16), 'cleared', ...numbered(20, 'more'), ...numbered(20, 'after')]) {
      expect(lines).toContain(line);
    }
  });

  it('holds no line twice after the screen grew', async () => {
    const { screen, show, all } = make(40, 5);
    await show(numbered(100).join('\r\n'));
    screen.resize({ columns: 40, rows: 30 });
    expect(all()).toEqual(numbered(100));
    await show(`\r\n${numbered(100, 'more').join('\r\n')}`);
    expect(all()).toEqual([...numbered(100), ...numbered(100, 'more')]);
    screen.resize({ columns: 12, rows: 8 });
    await show('\r\nend');
    expect(all()).toEqual([...numbered(100), ...numbered(100, 'more'), 'end']);
  });

  it('forgets the scrollback when told to, and when the program clears it', async () => {
    const { screen, show, all } = make(40, 5);
    await show(numbered(500).join('\r\n'));
    screen.clearScrollback();
    await show('');
    expect(all()).toEqual(numbered(500).slice(-5));
    await show(`\r\n${numbered(500).join('\r\n')}\x1b[3J`);
    expect(all()).toEqual(numbered(500).slice(-5));
  });

  it('knows bracketed paste, and pipes need no carriage return', async () => {
    const { screen, show } = make();
    expect(screen.capture(0).screen.bracketedPaste).toBe(false);
    await show('\x1b[?2004h');
    expect(screen.capture(0).screen.bracketedPaste).toBe(true);
    const pipe = make(40, 10, { pipe: true });
    await pipe.show('a\nb\n');
    expect(pipe.all()).toEqual(['a', 'b', '']);
  });

  it('shows what was held back for completion when the program ended in the middle', async () => {
    const { screen, show, all } = make();
    await show(Buffer.concat([Buffer.from('done'), Buffer.from('€').subarray(0, 2)]));
    screen.end();
    await show('');
    expect(all()[0]).toMatch(/^done/);
  });
});

describe('the scrollback file', () => {
  it('is bounded and owner-only, and keeps the newest lines', async () => {
    const limitBytes = 200_000;
    const { show, all } = make(80, 10, { limitBytes });
    const count = 40_000;
    await show(numbered(count).join('\r\n'));
    const kept = all();
    expect(kept.slice(-1_000)).toEqual(numbered(count).slice(-1_000));
    let bytes = 0;
    for (const file of readdirSync(dir)) {
      const found = statSync(join(dir, file));
      expect(found.mode & 0o077).toBe(0);
      bytes += found.size;
    }
    expect(bytes).toBeGreaterThan(limitBytes / 3);
    expect(bytes).toBeLessThan(limitBytes * 1.2);
  });

  it('does not stop the screen when its folder is gone', async () => {
    const { screen, show } = make();
    rmSync(dir, { recursive: true });
    await show(`${numbered(3_000).join('\r\n')}\r\nstill here`);
    expect(screen.capture(0).screen.lines.at(-1)).toBe('still here');
    await show('');
    dir = mkdtempSync(join(tmpdir(), 'gc-screen-'));
  });
});

describe('questions of the program', () => {
  it('are answered: device attributes, cursor place, colours', async () => {
    const { replies, show } = make();
    await show('ab\x1b[c\x1b[6n\x1b]11;?\x07');
    expect(replies.join('')).toContain('\x1b[?1;2c');
    expect(replies.join('')).toContain('\x1b[1;3R');
    expect(replies.join('')).toContain(']11;rgb:0000/0000/0000');
  });
});

describe('a redraw', () => {
  const programs: [string, string][] = [
    ['plain lines', `${numbered(30).join('\r\n')}\r\n$ `],
    [
      'colours and styles',
      '\x1b[1;31mred\x1b[0m \x1b[48;5;20mblue\x1b[m \x1b[38;2;1;2;3;4mrgb\x1b[m\r\n\x1b[7minverse',
    ],
    ['wrapped lines', 'w'.repeat(95)],
    ['wide characters', '漢字'.repeat(15)],
    ['a full-screen program', 'shell$\r\n\x1b[?1049h\x1b[2J\x1b[5;5Hmenu\x1b[10;40H.\x1b[3;3H'],
    ['a scroll region', `\x1b[3;7r\x1b[7;1H${'scroll\r\n'.repeat(9)}`],
    ['origin mode', '\x1b[3;8r\x1b[?6h\x1b[2;4Hinside'],
    ['a cursor in the corner', '\x1b[10;40Hx'],
    [
      'hidden cursor, mouse, keys',
      '\x1b[?25l\x1b[?1003h\x1b[?1006h\x1b[?2004h\x1b[?1h\x1b=\x1b[>5u\x1b[4 q\x1b]2;the title\x07',
    ],
  ];

  it.each(programs)('shows the same on another terminal, and goes on the same: %s', async (_, output) => {
    const first = make(40, 10);
    const second = make(40, 10);
    await second.show('dirt\x1b[?1003h\x1b[?25l\x1b[4h\x1b[2;5r');
    await first.show(output);
    await second.show(REDRAW_BEGIN + first.screen.redraw());
    const view = (made: Made) => made.screen.capture(0).screen;
    expect(view(second)).toEqual(view(first));
    expect(second.screen.redraw()).toBe(first.screen.redraw());
    await first.show('more\r\ntext');
    await second.show('more\r\ntext');
    expect(view(second)).toEqual(view(first));
  });

  it('brings back the modes that the serializer loses', async () => {
    const { screen, show } = make();
    await show('\x1b[?25l\x1b[?1006h\x1b[>1u\x1b[=4;2u\x1b[6 q\x1b[2;5r\x1b]0;name\x07');
    const text = screen.redraw();
    for (const wanted of [
      '\x1b[?25l',
      '\x1b[?1006h',
      '\x1b[=5;1u',
      '\x1b[6 q',
      '\x1b[2;5r',
      '\x1b]2;name\x07',
    ]) {
      expect(text).toContain(wanted);
    }
    await show('\x1bc');
    const plain = screen.redraw();
    for (const gone of ['\x1b[?25l', '\x1b[?1006h', 'u', ' q', 'r', 'name'])
      expect(plain).not.toContain(gone);
  });

  it('fits a terminal of another size', async () => {
    const first = make(40, 10);
    const wide = make(60, 20);
    await first.show(`\x1b[31m${'w'.repeat(60)}\x1b[m\r\n漢字 \x1b[44mx  \x1b[m y\r\n> `);
    await wide.show(REDRAW_BEGIN + first.screen.redrawFor({ columns: 60, rows: 20 }));
    expect(wide.screen.capture(0).screen.lines).toEqual(['w'.repeat(40), 'w'.repeat(20), '漢字 x   y', '>']);
    expect(wide.screen.capture(0).screen.cursor).toEqual({ row: 3, column: 2 });
    const small = make(10, 3);
    await small.show(REDRAW_BEGIN + first.screen.redrawFor({ columns: 10, rows: 3 }));
    expect(small.screen.capture(0).screen.lines).toEqual(['w'.repeat(10), 'w'.repeat(10), '漢字 x   y']);
  });
});
