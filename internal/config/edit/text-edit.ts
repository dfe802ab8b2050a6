import type { MapLayout, SourceFormat } from '../document/source-document.ts';

/** Says who wrote a line, and lets it be taken out again without a trace. */
const MARK = '# by gc agent suspend';
const RIG_MARK = '# by gc rig suspend';

export interface EditedMap {
  readonly text: string;
  readonly format: SourceFormat;
  /** The map that holds, or shall hold, `suspended`. */
  readonly layout: MapLayout | undefined;
  /** The map is the whole file. */
  readonly isRoot: boolean;
  /** The value in force there. */
  readonly current: unknown;
  readonly isRig?: boolean;
}

/** A manifest that says nothing but that the agent is suspended. */
export function newManifest(format: SourceFormat): string {
  return `${pair(format)} ${MARK}\n`;
}

function pair(format: SourceFormat): string {
  return format === 'toml' ? 'suspended = true' : 'suspended: true';
}

/**
 * The text with `suspended` set or cleared, every other byte as it was; `undefined` when that cannot be done so that
 * the opposite edit restores the text.
 */
export function suspendedText(map: EditedMap, suspended: boolean): string | undefined {
  const entry = map.layout?.entries.find(({ key }) => key === 'suspended');
  if (!entry) return suspended && map.current === undefined ? inserted(map) : undefined;
  const { text } = map;
  const isLast = map.layout?.entries.at(-1) === entry;
  const isInline = map.layout?.style === 'inline';
  if (suspended) {
    // Cleared again, an inline `suspended` in last place is taken out: the explicit false could not come back.
    return isInline && isLast ? undefined : replaced(text, entry.valueSpan, 'true');
  }
  if (isInline && isLast) return withoutLastInline(map);
  return markedLineRemoved(text, entry.keySpan.start) ?? replaced(text, entry.valueSpan, 'false');
}

function replaced(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
  value: string,
): string {
  return text.slice(0, start) + value + text.slice(end);
}

function inserted(map: EditedMap): string | undefined {
  const { text, layout, format } = map;
  if (layout?.style === 'inline') {
    const last = layout.entries.at(-1);
    if (!last) return undefined;
    return `${text.slice(0, last.valueSpan.end)}, ${pair(format)}${text.slice(last.valueSpan.end)}`;
  }
  const anchor = layout && anchorOf(text, layout, format);
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  if (anchor) {
    const line = `${eol}${anchor.indent}${pair(format)} ${map.isRig ? RIG_MARK : MARK}`;
    return text.slice(0, anchor.end) + line + text.slice(anchor.end);
  }
  if (map.isRoot) return `${pair(format)} ${MARK}${eol}${text}`;
  return undefined;
}

/** The entry after whose line a new one can stand: `name` if possible, else the first on a line of its own. */
function anchorOf(
  text: string,
  layout: MapLayout,
  format: SourceFormat,
): { readonly end: number; readonly indent: string } | undefined {
  const names = layout.entries.filter(({ key }) => key === 'name');
  for (const { keySpan, valueSpan } of [...names, ...layout.entries]) {
    const lineStart = text.lastIndexOf('\n', keySpan.start - 1) + 1;
    const newline = text.indexOf('\n', valueSpan.end);
    const lineEnd = newline === -1 ? text.length : text[newline - 1] === '\r' ? newline - 1 : newline;
    const isOneLine = !text.slice(keySpan.start, valueSpan.end).includes('\n');
    const isClean = /^[ \t]*(#.*)?$/.test(text.slice(valueSpan.end, lineEnd));
    const before = text.slice(lineStart, keySpan.start);
    if (!isOneLine || !isClean) continue;
    if (/^[ \t]*$/.test(before)) return { end: lineEnd, indent: before };
    if (format === 'yaml' && /^[ -]*$/.test(before))
      return { end: lineEnd, indent: ' '.repeat(before.length) };
  }
  return undefined;
}

/** Takes out the line that a suspend has put in, `undefined` when it is not one. */
function markedLineRemoved(text: string, offset: number): string | undefined {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const newline = text.indexOf('\n', offset);
  const end = newline === -1 ? text.length : newline;
  const line = text.slice(start, end).replace(/\r$/, '');
  const ours = [MARK, RIG_MARK].flatMap((mark) => [`suspended: true ${mark}`, `suspended = true ${mark}`]);
  if (!ours.includes(line.trim())) return undefined;
  if (start === 0) return text.slice(newline === -1 ? end : end + 1);
  const before = text[start - 2] === '\r' ? start - 2 : start - 1;
  const after = text[end - 1] === '\r' ? end - 1 : end;
  return text.slice(0, before) + text.slice(after);
}

function withoutLastInline({ text, layout }: EditedMap): string | undefined {
  const [previous, entry] = layout?.entries.slice(-2) ?? [];
  if (!previous || !entry) return undefined;
  const between = text.slice(previous.valueSpan.end, entry.keySpan.start);
  if (!/^,\s*$/.test(between)) return undefined;
  return text.slice(0, previous.valueSpan.end) + text.slice(entry.valueSpan.end);
}
