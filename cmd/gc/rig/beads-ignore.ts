/** What of a rig's beads is not for git. Source: Gas City rig .gitignore entries. */
export const BEADS_IGNORED = ['.beads/*', '!.beads/config.yaml', '!.beads/metadata.json'] as const;

const WHOLE_FOLDER = /^\/?\.beads\/?$/;

/** The text with all lines in it, in order at its end; a line that ignores all of `.beads` gives way. The same text when nothing is missing. */
export function withIgnored(
  text: string,
  lines: readonly string[] = BEADS_IGNORED,
  heading = '# Gas City',
): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const had = text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/);
  const isReplaced = (line: string) => lines.includes('.beads/*') && WHOLE_FOLDER.test(line.trim());
  const kept = had.filter((line) => !isReplaced(line));
  const trimmed = new Set(kept.map((line) => line.trim()));
  const missing = lines.filter((line) => !trimmed.has(line));
  if (missing.length === 0 && kept.length === had.length) return text;
  if (missing.length === 0) return kept.join(eol) + eol;
  const head = trimmed.has(heading) ? [] : [...(kept.length > 0 ? [''] : []), heading];
  return [...kept, ...head, ...missing].join(eol) + eol;
}
