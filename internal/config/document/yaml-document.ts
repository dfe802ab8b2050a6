import {
  type Document,
  isAlias,
  isMap as isMapNode,
  isPair,
  isScalar,
  isSeq,
  type Node,
  parseDocument,
  stringify,
} from 'yaml';
import type { ConfigProblem } from '../city.ts';
import {
  type MapLayout,
  type ParseResult,
  positionAt,
  type SourceDocument,
  type Span,
  type ValuePath,
} from './source-document.ts';

/** More alias expansions than this are an attack or an accident, never a city. */
const MAX_ALIAS_COUNT = 1_000;
const MERGE_RULE = '"<<" takes a map, an alias of one, or a list of those';

/** Reads YAML 1.2 (core schema, with `<<` merge keys). Every syntax error of the file is reported. */
export function parseYaml(file: string, text: string): ParseResult {
  const problem = (code: string, message: string, offset: number, hint?: string): ConfigProblem => ({
    severity: 'error',
    code,
    message,
    position: positionAt(file, text, offset),
    hint,
  });
  const document = parseDocument(text, {
    version: '1.2',
    merge: true,
    uniqueKeys: true,
    prettyErrors: false,
    strict: true,
    logLevel: 'error',
  });
  const problems = [...document.errors, ...document.warnings].map((error) =>
    problem(
      error.code === 'DUPLICATE_KEY' ? 'duplicate-key' : 'yaml-syntax',
      sentence(error.code, error.message, text.slice(error.pos[0], error.pos[1])),
      error.pos[0],
    ),
  );
  if (problems.length === 0) problems.push(...structureProblems(document, problem));
  if (problems.length > 0) return { kind: 'unreadable', problems };
  try {
    const data: unknown = document.toJS({ maxAliasCount: MAX_ALIAS_COUNT });
    return { kind: 'parsed', document: yamlSource(file, text, document, data), warnings: [] };
  } catch (error) {
    // The library's own words for a merge whose source turns out to be none only when it is followed.
    if (error instanceof Error && error.message.startsWith('Merge sources')) {
      const at = Math.max(0, text.indexOf('<<'));
      return { kind: 'unreadable', problems: [problem('bad-merge', MERGE_RULE, at)] };
    }
    if (!(error instanceof ReferenceError)) throw error;
    return {
      kind: 'unreadable',
      problems: [
        problem('yaml-aliases', `too many aliases (more than ${MAX_ALIAS_COUNT} after expansion)`, 0),
      ],
    };
  }
}

/** YAML text of plain data. */
export function stringifyYaml(data: unknown): string {
  return stringify(data, { lineWidth: 0, aliasDuplicateObjects: false });
}

function sentence(code: string, message: string, source: string): string {
  switch (code) {
    case 'DUPLICATE_KEY':
      return `duplicate key "${source.trim()}"`;
    case 'MULTIPLE_DOCS':
      return 'a second YAML document starts here; a city file holds one';
    case 'TAG_RESOLVE_FAILED':
      return `unknown tag "${source.trim()}"`;
    default:
      return message.split('\n')[0] ?? message;
  }
}

/** What parses as YAML but can be no configuration: cycles, keys that are not plain texts. */
function structureProblems(
  document: Document,
  problem: (code: string, message: string, offset: number, hint?: string) => ConfigProblem,
): ConfigProblem[] {
  const found: ConfigProblem[] = [];
  const open = new Set<unknown>();
  const done = new Set<unknown>();
  const visit = (node: unknown): void => {
    if (isAlias(node)) {
      const target = node.resolve(document);
      if (target && open.has(target)) {
        found.push(
          problem(
            'yaml-cycle',
            `"*${node.source}" contains itself`,
            node.range?.[0] ?? 0,
            'remove the alias',
          ),
        );
      } else if (target) visit(target);
      return;
    }
    if (!(isMapNode(node) || isSeq(node)) || done.has(node)) return;
    open.add(node);
    for (const item of node.items) {
      if (!isPair(item)) {
        visit(item);
        continue;
      }
      const key = item.key;
      const name = isScalar(key) ? String(key.value) : undefined;
      const offset = rangeOf(key)?.start ?? 0;
      if (name === undefined) found.push(problem('bad-key', 'a key must be a plain text', offset));
      else if (name === '__proto__')
        found.push(problem('bad-key', 'a key cannot be named "__proto__"', offset));
      else if (name === '<<' && !isMergeable(item.value, document))
        found.push(problem('bad-merge', MERGE_RULE, offset));
      visit(item.value);
    }
    open.delete(node);
    done.add(node);
  };
  visit(document.contents);
  return found;
}

/** What a `<<` key can take in. */
function isMergeable(value: unknown, document: Document): boolean {
  const map = (node: unknown) => isMapNode(isAlias(node) ? node.resolve(document) : node);
  const target = isAlias(value) ? value.resolve(document) : value;
  return isSeq(target) ? target.items.every(map) : map(target);
}

function yamlSource(file: string, text: string, document: Document, data: unknown): SourceDocument {
  const through = (node: unknown): unknown => (isAlias(node) ? node.resolve(document) : node);
  const find = (path: ValuePath): { key: unknown; value: unknown; aliased: boolean } | undefined => {
    let at: { key: unknown; value: unknown; aliased: boolean } = {
      key: undefined,
      value: document.contents,
      aliased: false,
    };
    for (const segment of path) {
      const node = through(at.value);
      const aliased = at.aliased || isAlias(at.value);
      if (isSeq(node) && typeof segment === 'number' && segment < node.items.length) {
        at = { key: undefined, value: node.items[segment], aliased };
      } else if (isMapNode(node)) {
        const pair = node.items.find(
          (item) => isScalar(item.key) && String(item.key.value) === String(segment),
        );
        if (!pair) return undefined;
        at = { key: pair.key, value: pair.value, aliased };
      } else return undefined;
    }
    return at;
  };
  return {
    file,
    format: 'yaml',
    text,
    data,
    spanOf(path, part) {
      const found = find(path);
      return found && rangeOf(part === 'key' ? found.key : found.value);
    },
    layoutOf(path) {
      const found = find(path);
      return found && !found.aliased ? mapLayout(found.value) : undefined;
    },
  };
}

function mapLayout(node: unknown): MapLayout | undefined {
  const span = rangeOf(node);
  if (!isMapNode(node) || !span) return undefined;
  const entries: MapLayout['entries'][number][] = [];
  for (const pair of node.items) {
    const keySpan = rangeOf(pair.key);
    const valueSpan = rangeOf(pair.value);
    if (!isScalar(pair.key) || !keySpan || !valueSpan) return undefined;
    entries.push({ key: String(pair.key.value), keySpan, valueSpan });
  }
  return { style: node.flow ? 'inline' : 'line', span, entries };
}

function rangeOf(node: unknown): Span | undefined {
  const range = (node as Node | null | undefined)?.range;
  return range ? { start: range[0], end: range[1] } : undefined;
}
