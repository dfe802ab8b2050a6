/** JSON that records keep as text. Somebody may have edited it, or another version written it: then it reads as absent. */

/** `undefined` for anything that is no JSON object. */
export function parseObject(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
  const value = parse(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
}

/** The string values of a JSON object. */
export function parseTexts(text: string | undefined): Readonly<Record<string, string>> | undefined {
  const value = parseObject(text);
  if (!value) return undefined;
  return Object.fromEntries(
    Object.entries(value).filter((e): e is [string, string] => typeof e[1] === 'string'),
  );
}

/** The strings of a JSON array; none for anything else. */
export function parseStrings(text: string | undefined): readonly string[] {
  const value = parse(text);
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}

function parse(text: string | undefined): unknown {
  if (!text) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // what the file's first line says
  }
}
