import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** A terminal in canonical mode keeps at most this many bytes of one line, and drops the rest without a word. */
export const CANONICAL_LINE_BYTES = 4_095;
const STTY_TIMEOUT_MS = 2_000;

const run = promisify(execFile);

/** Whether the terminal collects whole lines for its program now; `undefined` when it cannot be told. */
export async function isCanonical(terminalPath: string): Promise<boolean | undefined> {
  const file = process.platform === 'linux' ? '-F' : '-f';
  try {
    const { stdout } = await run('stty', [file, terminalPath, '-a'], {
      timeout: STTY_TIMEOUT_MS,
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    });
    const found = /(?:^|\s)(-?)icanon(?:\s|;|$)/.exec(stdout);
    return found ? found[1] === '' : undefined;
  } catch {
    return undefined; // no stty, or the terminal closed meanwhile
  }
}

/** The longest line of `text` in bytes, without its end. */
export function longestLineBytes(text: string): number {
  let longest = 0;
  for (const line of text.split(/[\r\n]/)) {
    // Three bytes per unit at most: a short line needs no counting.
    if (line.length * 3 > longest) longest = Math.max(longest, Buffer.byteLength(line));
  }
  return longest;
}
