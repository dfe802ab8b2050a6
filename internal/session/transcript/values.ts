/** Values of files that other programs write: whatever is missing or of another kind reads as nothing. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

export const countOf = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.floor(value) : 0;

/** Milliseconds since the epoch; 0: none that a date can show. */
export function timeOf(value: unknown): number {
  const at = typeof value === 'string' ? Date.parse(value) : typeof value === 'number' ? value : 0;
  return Number.isNaN(new Date(at).getTime()) ? 0 : at;
}

/** The texts of a list of blocks, one below the other. */
export function blocksText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((block: unknown) =>
      typeof block === 'object' && block !== null && 'text' in block ? textOf(block.text) : '',
    )
    .filter((text) => text !== '')
    .join('\n');
}

/** Without what moves a terminal's cursor or colours its text; single control characters stay. */
export const withoutSequences = (text: string): string =>
  text.replace(/\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)/g, '');

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // the caller says what that means
  }
}
