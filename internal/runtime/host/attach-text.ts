/**
 * Brings a terminal back to plain behaviour, whatever a program asked of it: main screen, no mouse reports, no
 * paste or focus marks, usual keys, whole screen as scroll region, visible cursor.
 */
const PLAIN =
  '\x1b[?1049l\x1b[!p\x1b[?1l\x1b>\x1b[4l\x1b[?6l\x1b[?7h\x1b[?45l' +
  '\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l' +
  '\x1b[?1004l\x1b[?2004l\x1b[?2026l\x1b[>4;0m\x1b[=0;1u\x1b[r\x1b[0 q\x1b[?25h\x1b[m\x1b(B\x0f';

/** Terminals that know it show a redraw at once, without the empty screen in between. */
const HOLD_PICTURE = '\x1b[?2026h';
const CLEAR = '\x1b[H\x1b[2J';

/** Before the first redraw: what the person had on screen moves up into the scrollback; title and key mode are put aside. */
export function attachBegin(rows: number): string {
  return `\x1b[22;0t\x1b[>0u${'\r\n'.repeat(rows)}${PLAIN}${HOLD_PICTURE}${CLEAR}`;
}

/** Before every further redraw. */
export const REDRAW_BEGIN = `${PLAIN}${HOLD_PICTURE}${CLEAR}`;

/** After every redraw. */
export const REDRAW_END = '\x1b[?2026l';

/** Printed when a person leaves, however the connection ended. */
export const ATTACH_RESET = `${PLAIN}\x1b[<u\x1b[23;0t\x1b[9999;1H\r\n`;
