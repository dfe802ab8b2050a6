import { isMap } from '../document/source-document.ts';
import { stringifyToml } from '../document/toml-document.ts';
import { stringifyYaml } from '../document/yaml-document.ts';

/** How the lines of a YAML file are indented. */
export interface YamlStyle {
  readonly step: number;
  /** Whether the dashes of a list stand further right than its key. */
  readonly indentLists: boolean;
}

/** Entries of a map that are written: `undefined` is left out. */
export function entriesOf(
  values: Readonly<Record<string, unknown>>,
): readonly (readonly [string, unknown])[] {
  return Object.entries(values).filter(([, value]) => value !== undefined);
}

export function tomlKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : tomlString(key);
}

function tomlString(value: string): string {
  // TOML forbids DEL in a string; JSON does not write it as an escape.
  return JSON.stringify(value).replaceAll('\u007f', '\\u007f');
}

/** A value on one line. */
export function tomlValue(value: unknown): string {
  if (typeof value === 'string') return tomlString(value);
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(', ')}]`;
  if (isMap(value) && !(value instanceof Date)) {
    const inner = entriesOf(value).map(([key, item]) => `${tomlKey(key)} = ${tomlValue(item)}`);
    return inner.length === 0 ? '{}' : `{ ${inner.join(', ')} }`;
  }
  return stringifyToml({ k: value }).replace(/^k = /, '').trimEnd();
}

/** A table with its header; maps in it become tables of their own below. */
export function tomlTable(
  name: readonly string[],
  brackets: readonly [string, string],
  values: Readonly<Record<string, unknown>>,
  indent = '',
): readonly string[] {
  const entries = entriesOf(values);
  const tables = entries.filter(([, value]) => isMap(value) && entriesOf(value).length > 0);
  const lines = entries
    .filter((entry) => !tables.includes(entry))
    .map(([key, value]) => `${indent}${tomlKey(key)} = ${tomlValue(value)}`);
  const head = `${indent}${brackets[0]}${name.map(tomlKey).join('.')}${brackets[1]}`;
  const below = tables.flatMap(([key, value]) =>
    isMap(value) ? ['', ...tomlTable([...name, key], ['[', ']'], value, indent)] : [],
  );
  // A header that says nothing is left out where the ones below it say it all.
  if (lines.length === 0 && below.length > 0 && brackets[0] === '[') return below.slice(1);
  return [head, ...lines, ...below];
}

/** A scalar; `flow`: inside brackets, where more characters have a meaning. */
export function yamlScalar(value: unknown, flow: boolean): string {
  if (typeof value !== 'string') return stringifyYaml(value).trimEnd();
  const plain = stringifyYaml(value).trimEnd();
  const isSafe = flow ? /^[\w./@+-]+$/.test(plain) : plain === value;
  return isSafe && !/[\n\r]/.test(plain) ? plain : JSON.stringify(value);
}

/** A value on one line. */
export function yamlFlow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(yamlFlow).join(', ')}]`;
  if (isMap(value)) {
    return `{${entriesOf(value)
      .map(([key, item]) => `${yamlScalar(key, true)}: ${yamlFlow(item)}`)
      .join(', ')}}`;
  }
  return yamlScalar(value, true);
}

/** `key: value`, maps and lists of maps in block style. */
export function yamlEntry(key: string, value: unknown, indent: string, style: YamlStyle): readonly string[] {
  const head = `${indent}${yamlScalar(key, false)}:`;
  const deeper = indent + ' '.repeat(style.step);
  if (isMap(value) && entriesOf(value).length > 0) return [head, ...yamlMap(value, deeper, style)];
  if (Array.isArray(value) && value.length > 0 && value.every(isMap)) {
    const dash = style.indentLists ? deeper : indent;
    return [head, ...value.flatMap((item: unknown) => (isMap(item) ? yamlItem(item, dash, ' ', style) : []))];
  }
  if (isMap(value) || Array.isArray(value)) return [`${head} ${yamlFlow(value)}`];
  return [`${head} ${yamlScalar(value, false)}`];
}

export function yamlMap(
  values: Readonly<Record<string, unknown>>,
  indent: string,
  style: YamlStyle,
): readonly string[] {
  return entriesOf(values).flatMap(([key, value]) => yamlEntry(key, value, indent, style));
}

/** An item of a list; `gap` is what stands between the dash and the first key. */
export function yamlItem(
  values: Readonly<Record<string, unknown>>,
  indent: string,
  gap: string,
  style: YamlStyle,
): readonly string[] {
  const inner = `${indent} ${gap.replaceAll('\t', ' ')}`;
  const lines = yamlMap(values, inner, style);
  const [first = `${inner}{}`, ...rest] = lines;
  return [`${indent}-${gap}${first.slice(inner.length)}`, ...rest];
}
