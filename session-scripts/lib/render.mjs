// What a terminal shows of the bytes that a program wrote, wrapped lines joined, blank rows at the end left out.
// Usage: render.mjs FILE COLUMNS ROWS LINES     LINES 0: everything.     exit 3: there is no emulator to do it
import { readFileSync } from 'node:fs';

const [file, columns, rows, lines] = [process.argv[2], ...process.argv.slice(3).map(Number)];
const loaded = await import('@xterm/headless').catch(() => undefined);
if (!loaded) process.exit(3);
const { Terminal } = loaded.default ?? loaded;
const terminal = new Terminal({ cols: columns, rows, scrollback: 5_000, allowProposedApi: true });
await new Promise((resolve) => terminal.write(readFileSync(file), resolve));
const buffer = terminal.buffer.active;
const text = [];
for (let index = 0; index < buffer.length; index += 1) {
  const line = buffer.getLine(index);
  const next = buffer.getLine(index + 1);
  const part = line?.translateToString(!next?.isWrapped) ?? '';
  if (line?.isWrapped && text.length > 0) text.push(text.pop() + part);
  else text.push(part);
}
while (text.length > 0 && text.at(-1).trim() === '') text.pop();
const wanted = lines > 0 ? text.slice(-lines) : text;
process.stdout.write(wanted.map((line) => `${line.trimEnd()}\n`).join(''));
