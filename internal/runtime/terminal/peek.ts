import type { ScreenText, TerminalBackend } from './backend.ts';

/**
 * The last `lines` lines of a session, exactly that many when it has them; 0 or less: everything kept. Blank rows
 * below the last text do not count.
 */
export async function lastLines(backend: TerminalBackend, name: string, lines: number): Promise<string> {
  if (lines <= 0) return trimmed(await backend.capture(name, -1)).join('\n');
  const first = await backend.capture(name, lines);
  const found = trimmed(first);
  const missing = lines - found.length;
  if (missing <= 0 || first.lines.length < lines) return found.slice(-lines).join('\n');
  // Blank rows at the bottom took the place of lines above.
  return trimmed(await backend.capture(name, lines + missing))
    .slice(-lines)
    .join('\n');
}

function trimmed(screen: ScreenText): readonly string[] {
  let end = screen.lines.length;
  while (end > 0 && (screen.lines[end - 1] ?? '').trim() === '') end -= 1;
  return screen.lines.slice(0, end);
}
