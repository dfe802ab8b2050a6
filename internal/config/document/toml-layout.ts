import type { AST, parseTOML } from 'toml-eslint-parser';
import type { MapLayout, Span, ValuePath } from './source-document.ts';

type ParseToml = typeof parseTOML;

/** Where each key and value of a TOML text sits. */
export interface TomlLayout {
  spanOf(path: ValuePath, part: 'key' | 'value'): Span | undefined;
  layoutOf(path: ValuePath): MapLayout | undefined;
  /** Where the text leaves TOML 1.0, `undefined` when it does not. */
  readonly beyondToml10: { readonly offset: number; readonly what: string } | undefined;
}

interface Place {
  key: Span | undefined;
  value: Span | undefined;
  layout: { style: 'line' | 'inline'; span: Span; entries: MapLayout['entries'][number][] } | undefined;
  /** Written in pieces (dotted keys, tables reopened elsewhere): not safe to edit. */
  scattered: boolean;
}

/** Gives the layout of texts that the TOML reader has accepted. The parser is loaded on first use. */
export async function tomlLayoutReader(): Promise<(text: string) => TomlLayout> {
  const { parseTOML } = await import('toml-eslint-parser');
  return (text) => readTomlLayout(parseTOML, text);
}

function readTomlLayout(parseTOML: ParseToml, text: string): TomlLayout {
  let beyondToml10: TomlLayout['beyondToml10'];
  let program: AST.TOMLProgram;
  try {
    program = parse(parseTOML, text, '1.0');
  } catch (error) {
    // Not valid in TOML 1.0: the reader accepted it, so it is TOML 1.1 and the place is worth a warning.
    program = parse(parseTOML, text, '1.1');
    beyondToml10 = {
      offset: offsetOf(error),
      what: error instanceof Error ? error.message : String(error),
    };
  }
  const places = new Map<string, Place>();
  for (const item of program.body[0].body) {
    if (item.type === 'TOMLTable') addTable(places, item);
    else addKeyValue(places, item, []);
  }
  return {
    beyondToml10,
    spanOf: (path, part) => {
      const place = places.get(JSON.stringify(path));
      return part === 'key' ? place?.key : place?.value;
    },
    layoutOf: (path) => {
      const place = places.get(JSON.stringify(path));
      return place && !place.scattered ? place.layout : undefined;
    },
  };
}

function parse(parseTOML: ParseToml, text: string, tomlVersion: '1.0' | '1.1'): AST.TOMLProgram {
  return parseTOML(text, { tomlVersion });
}

function offsetOf(error: unknown): number {
  return typeof error === 'object' && error !== null && 'index' in error && typeof error.index === 'number'
    ? error.index
    : 0;
}

const span = (node: { readonly range: readonly [number, number] }): Span => ({
  start: node.range[0],
  end: node.range[1],
});

function placeAt(places: Map<string, Place>, path: ValuePath): Place {
  const id = JSON.stringify(path);
  const known = places.get(id);
  if (known) return known;
  const fresh: Place = { key: undefined, value: undefined, layout: undefined, scattered: false };
  places.set(id, fresh);
  return fresh;
}

function addTable(places: Map<string, Place>, table: AST.TOMLTable): void {
  const path = table.resolvedKey;
  nameParents(places, path, table.key.keys);
  const place = placeAt(places, path);
  if (place.value) place.scattered = true;
  place.key ??= span(table.key);
  place.value ??= span(table);
  place.layout = { style: 'line', span: span(table), entries: [] };
  for (const pair of table.body) addKeyValue(places, pair, path);
}

/** Gives every step of a header or dotted key a place, unless it has one of its own. */
function nameParents(
  places: Map<string, Place>,
  path: ValuePath,
  keys: readonly AST.TOMLKey['keys'][number][],
): void {
  let used = 0;
  for (let length = 1; length < path.length; length += 1) {
    const isIndex = typeof path[length - 1] === 'number';
    const node = keys[used];
    if (!isIndex) used += 1;
    if (!node) continue;
    const place = placeAt(places, path.slice(0, length));
    place.key ??= span(node);
  }
}

function addKeyValue(places: Map<string, Place>, pair: AST.TOMLKeyValue, base: ValuePath): void {
  const names = pair.key.keys.map((key) => (key.type === 'TOMLBare' ? key.name : key.value));
  const owner = placeAt(places, base);
  const [first = ''] = names;
  if (names.length > 1) {
    for (let length = 1; length < names.length; length += 1) {
      const parent = placeAt(places, [...base, ...names.slice(0, length)]);
      const node = pair.key.keys[length - 1];
      if (node) parent.key ??= span(node);
      parent.scattered = true;
    }
  }
  const entry = { key: first, keySpan: span(pair.key), valueSpan: span(pair.value) };
  if (owner.layout) owner.layout.entries.push(entry);
  else if (base.length === 0) owner.layout = { style: 'line', span: span(pair), entries: [entry] };
  const last = pair.key.keys.at(-1);
  addValue(places, pair.value, [...base, ...names], last ? span(last) : span(pair.key));
}

function addValue(
  places: Map<string, Place>,
  node: AST.TOMLContentNode,
  path: ValuePath,
  key: Span | undefined,
): void {
  const place = placeAt(places, path);
  place.key ??= key;
  place.value ??= span(node);
  if (node.type === 'TOMLArray') {
    node.elements.forEach((element, index) => {
      addValue(places, element, [...path, index], undefined);
    });
  } else if (node.type === 'TOMLInlineTable') {
    place.layout = { style: 'inline', span: span(node), entries: [] };
    for (const pair of node.body) addKeyValue(places, pair, path);
  }
}
