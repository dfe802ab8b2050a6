import serializer from '@xterm/addon-serialize';
import xterm from '@xterm/headless';
import type { TerminalSize } from '../provider.ts';
import type { WireScreen } from './protocol.ts';
import { renderRows } from './render-rows.ts';
import { ScreenModes } from './screen-modes.ts';
import { type CapturedRows, joinRows, rowText } from './screen-text.ts';
import type { ScrollbackFile } from './scrollback-file.ts';
import { incompleteTail, pieces } from './vt-boundary.ts';

/** Rows kept in memory above the screen; what scrolls further up is in the file alone. */
export const MEMORY_SCROLLBACK_ROWS = 100;
/** A piece may scroll at most this many rows, so that none passes through memory unsaved. */
const PIECE_ROWS = MEMORY_SCROLLBACK_ROWS / 2;

export interface ScreenOptions extends TerminalSize {
  /** A line feed also returns, as no terminal driver stands before a pipe's output. */
  readonly pipe: boolean;
  readonly scrollback: ScrollbackFile;
  /** The emulator answers a question of the program (device attributes, cursor place, colours). */
  readonly onReply: (bytes: string) => void;
  /** A piece of output is on the screen now. */
  readonly onShown: (piece: Buffer) => void;
}

/** The terminal emulator of one session: what a person would see, a short scrollback, and the rest in a file. */
export class Screen {
  readonly #terminal: xterm.Terminal;
  readonly #serializer: serializer.SerializeAddon;
  readonly #modes: ScreenModes;
  readonly #options: ScreenOptions;
  #held = Buffer.alloc(0);
  #pendingBytes = 0;
  /** The last row that is in the file already. */
  #saved: xterm.IMarker | undefined;
  /** Rows after the marker that are saved too: the alternate screen allows no new marker. */
  #savedBeyond = 0;
  #disposed = false;

  constructor(options: ScreenOptions) {
    this.#options = options;
    this.#terminal = new xterm.Terminal({
      cols: options.columns,
      rows: options.rows,
      scrollback: MEMORY_SCROLLBACK_ROWS,
      convertEol: options.pipe,
      allowProposedApi: true,
      logLevel: 'off',
    });
    this.#serializer = new serializer.SerializeAddon();
    // The add-on is typed for the browser's terminal; it uses the buffer and the modes, which both have.
    this.#terminal.loadAddon(this.#serializer as unknown as xterm.ITerminalAddon);
    this.#modes = new ScreenModes(this.#terminal.parser, () => this.alternate);
    this.#terminal.onTitleChange((title) => {
      this.#modes.title = title;
    });
    this.#terminal.onData((reply) => options.onReply(reply));
    this.#answerColours();
    this.#terminal.parser.registerCsiHandler({ final: 'J' }, ([what]) => {
      if (what === 3) this.#options.scrollback.clear();
      return false;
    });
  }

  get columns(): number {
    return this.#terminal.cols;
  }

  get rows(): number {
    return this.#terminal.rows;
  }

  get alternate(): boolean {
    return this.#terminal.buffer.active.type === 'alternate';
  }

  get bracketedPaste(): boolean {
    return this.#terminal.modes.bracketedPasteMode;
  }

  get applicationCursorKeys(): boolean {
    return this.#terminal.modes.applicationCursorKeysMode;
  }

  /** Bytes given to `write` that are not on the screen yet. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  write(bytes: Buffer): void {
    const all = this.#held.length > 0 ? Buffer.concat([this.#held, bytes]) : bytes;
    const held = incompleteTail(all);
    this.#held = held > 0 ? Buffer.from(all.subarray(all.length - held)) : Buffer.alloc(0);
    this.#enqueue(all.subarray(0, all.length - held));
  }

  /** Calls back once everything written so far, an incomplete end included, is on the screen. */
  settle(done: () => void): void {
    this.#terminal.write('', done);
  }

  /** The program ended: what was held back for its completion is shown as it is. */
  end(): void {
    this.#enqueue(this.#held);
    this.#held = Buffer.alloc(0);
  }

  resize(size: TerminalSize): void {
    if (size.columns === this.columns && size.rows === this.rows) return;
    this.#terminal.resize(size.columns, size.rows);
    this.#modes.resized();
    this.#takeBackRows();
    this.#saveRows();
  }

  /**
   * The last `lines` lines, 0: the visible ones, -1: everything. `history` is older text, oldest first, that belongs
   * before them; `continued` when its last line goes on in the first of them.
   */
  capture(lines: number): { history: string; continued: boolean; screen: WireScreen } {
    const inMemory = this.#joined(lines === 0 ? 'visible' : 'memory');
    const bracketedPaste = this.bracketedPaste;
    const shape = (rows: CapturedRows, last: number): WireScreen => {
      const visibleRows = Math.min(rows.visibleRows, last);
      const row = Math.max(0, rows.cursor.row - (rows.visibleRows - visibleRows));
      const cursor = { row, column: rows.cursor.column };
      return { lines: rows.lines.slice(-last), cursor, visibleRows, bracketedPaste };
    };
    if (lines === 0) {
      return { history: '', continued: false, screen: shape(inMemory, inMemory.lines.length || 1) };
    }
    if (lines > 0 && inMemory.lines.length > lines) {
      return { history: '', continued: false, screen: shape(inMemory, lines) };
    }
    const unsaved = this.#joined('unsaved');
    const older = this.#options.scrollback.read();
    const wanted = lines < 0 ? Number.POSITIVE_INFINITY : Math.max(0, lines - unsaved.lines.length);
    return {
      history: lastLinesOf(older, wanted + (unsaved.continued ? 1 : 0)),
      continued: unsaved.continued && older !== '',
      screen: shape(unsaved, unsaved.lines.length || 1),
    };
  }

  /** The last lines that say something, for a record of how a session ended. */
  lastLines(count: number, maxChars: number): string {
    const spoken = this.#joined('memory').lines.filter((line) => line !== '');
    return spoken.slice(-count).join('\n').slice(-maxChars);
  }

  /** Everything that a cleared terminal of the same size needs in order to show and behave as this one. */
  redraw(): string {
    const content = this.#serializer.serialize({ scrollback: 0 });
    return content + this.#modes.restore({ margins: true }) + this.#placeCursor();
  }

  /** The same for a terminal of another size: rows at their places, cut where it ends. */
  redrawFor(size: TerminalSize): string {
    const { modes, rows, buffer } = this.#terminal;
    return (
      inputModes(modes) + renderRows(buffer.active, rows, size) + this.#modes.restore({ margins: false })
    );
  }

  clearScrollback(): void {
    this.#terminal.write('\x1b[3J');
  }

  dispose(): void {
    this.#disposed = true;
    this.#saved?.dispose();
    this.#terminal.dispose();
  }

  #enqueue(bytes: Buffer): void {
    if (bytes.length === 0) return;
    for (const piece of pieces(bytes, PIECE_ROWS * this.columns, PIECE_ROWS)) {
      this.#pendingBytes += piece.length;
      this.#terminal.write(piece, () => {
        if (this.#disposed) return;
        this.#pendingBytes -= piece.length;
        this.#saveRows();
        this.#options.onShown(piece);
      });
    }
  }

  /** The first row of the main screen's buffer that is not in the file. */
  get #firstUnsaved(): number {
    if (!this.#saved || this.#saved.isDisposed || this.#saved.line < 0) return 0;
    return this.#saved.line + 1 + this.#savedBeyond;
  }

  #saveRows(): void {
    const buffer = this.#terminal.buffer.normal;
    const from = this.#firstUnsaved;
    if (from >= buffer.baseY) return;
    for (let y = from; y < buffer.baseY; y += 1) {
      this.#options.scrollback.append(rowText(buffer, y), buffer.getLine(y)?.isWrapped ?? false);
    }
    this.#savedBeyond += buffer.baseY - from;
    this.#markSaved();
  }

  #markSaved(): void {
    const buffer = this.#terminal.buffer.active;
    if (buffer.type === 'alternate') return;
    this.#saved?.dispose();
    this.#savedBeyond = 0;
    this.#saved = buffer.baseY > 0 ? this.#terminal.registerMarker(-1 - buffer.cursorY) : undefined;
  }

  /** A taller or wider screen shows rows again that had scrolled off: they leave the file. */
  #takeBackRows(): void {
    const buffer = this.#terminal.buffer.normal;
    const { baseY } = buffer;
    const end = this.#firstUnsaved;
    if (end <= baseY || this.alternate) return;
    let text = '';
    for (let y = baseY; y < end; y += 1) {
      text += (buffer.getLine(y)?.isWrapped || (y === 0 && baseY === 0) ? '' : '\n') + rowText(buffer, y);
    }
    this.#options.scrollback.takeBack(text);
    this.#markSaved();
  }

  #joined(which: 'visible' | 'memory' | 'unsaved'): CapturedRows {
    const { normal, active } = this.#terminal.buffer;
    const from = which === 'visible' ? normal.baseY : which === 'memory' ? 0 : this.#firstUnsaved;
    return joinRows({ normal, active, from, rows: this.#terminal.rows });
  }

  /**
   * Restoring the scroll region or origin mode moves the cursor home, and the serializer is one column off after a
   * full row. A cursor that waits to wrap cannot be placed, only reached by writing: that the serializer did.
   */
  #placeCursor(): string {
    const { cursorX, cursorY } = this.#terminal.buffer.active;
    const margins = this.#modes.margins;
    const { originMode } = this.#terminal.modes;
    if (cursorX >= this.columns && !margins && !originMode) return '';
    const row = originMode && margins ? cursorY + 2 - margins.top : cursorY + 1;
    return `\x1b[${row};${Math.min(cursorX + 1, this.columns)}H`;
  }

  /** Programs ask for the colours in order to choose a theme, and some wait for the answer. */
  #answerColours(): void {
    const answer = (code: number, colour: string) =>
      this.#terminal.parser.registerOscHandler(code, (data) => {
        if (data === '?') this.#options.onReply(`\x1b]${code};${colour}\x1b\\`);
        return false;
      });
    answer(10, 'rgb:e5e5/e5e5/e5e5');
    answer(11, 'rgb:0000/0000/0000');
  }
}

/** What decides the bytes that a person's terminal sends. */
function inputModes(modes: xterm.IModes): string {
  const mouse = { none: '', x10: '\x1b[?9h', vt200: '\x1b[?1000h', drag: '\x1b[?1002h', any: '\x1b[?1003h' };
  return [
    modes.applicationCursorKeysMode ? '\x1b[?1h' : '',
    modes.applicationKeypadMode ? '\x1b=' : '',
    modes.bracketedPasteMode ? '\x1b[?2004h' : '',
    modes.sendFocusMode ? '\x1b[?1004h' : '',
    mouse[modes.mouseTrackingMode],
  ].join('');
}

function lastLinesOf(text: string, count: number): string {
  if (count === 0 || text === '') return '';
  let from = text.length;
  for (let seen = 0; seen < count; seen += 1) {
    from = text.lastIndexOf('\n', from - 1);
    if (from < 0) return text;
    if (from === 0) return text.slice(1);
  }
  return text.slice(from + 1);
}
