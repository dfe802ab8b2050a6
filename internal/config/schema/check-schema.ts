import { didYouMean } from '../document/nearest.ts';
import type { ProblemList } from '../document/problems.ts';
import {
  isMap,
  locate,
  pathText,
  type SourceDocument,
  type ValuePath,
  valueAt,
} from '../document/source-document.ts';
import { z } from './zod.ts';

/** The value being checked and how to speak of it. */
export interface CheckedPlace {
  readonly document: SourceDocument;
  readonly path: ValuePath;
  /** What the root of the document is called: `the city file`, `agent "worker"`. */
  readonly rootLabel: string;
  /**
   * Unknown keys are left out and told, not refused: files of the original's format may hold what only newer or older
   * programs know. A `note` is for what the original passes over in silence.
   */
  readonly unknownKeys?: 'warning' | 'note';
}

/**
 * Validates `data` and reports everything that is wrong with it. The answer is the value, or what is left of it when
 * the wrong parts are left out, so that later checks can still find more; `undefined` when nothing usable is left.
 */
export function checkSchema<Schema extends z.ZodType>(
  schema: Schema,
  data: unknown,
  place: CheckedPlace,
  problems: ProblemList,
): z.infer<Schema> | undefined {
  let first = schema.safeParse(data);
  if (first.success) return first.data;
  if (place.unknownKeys) {
    const known = withoutUnknown(schema, data, first.error.issues, place, problems);
    first = schema.safeParse(known);
    if (first.success) return first.data;
    return usable(schema, known, first.error.issues, place, problems);
  }
  return usable(schema, data, first.error.issues, place, problems);
}

/** The data without the keys that the schema does not know, each told as the place wants it. */
function withoutUnknown(
  schema: z.ZodType,
  data: unknown,
  issues: readonly Issue[],
  place: CheckedPlace,
  problems: ProblemList,
): unknown {
  let rest = data;
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') continue;
    const inner = innerPath(issue);
    const known = knownKeys(schema, inner);
    for (const key of issue.keys) {
      reportUnknownKey(key, known, place, inner, problems);
      rest = without(rest, inner, key);
    }
  }
  return rest;
}

function without(data: unknown, path: ValuePath, key: string): unknown {
  const [step, ...rest] = path;
  if (step === undefined) {
    if (!isMap(data)) return data;
    const { [key]: _left, ...others } = data;
    return others;
  }
  if (Array.isArray(data))
    return data.map((item, index) => (index === step ? without(item, rest, key) : item));
  return isMap(data) ? { ...data, [step]: without(data[step], rest, key) } : data;
}

function usable<Schema extends z.ZodType>(
  schema: Schema,
  data: unknown,
  issues: readonly Issue[],
  place: CheckedPlace,
  problems: ProblemList,
): z.infer<Schema> | undefined {
  for (const issue of issues) report(schema, data, issue, place, problems);
  if (!isMap(data)) return undefined;
  const rest = { ...data };
  for (const issue of issues) {
    const [key] = issue.path;
    if (key !== undefined) delete rest[String(key)];
    else if (issue.code === 'unrecognized_keys') for (const unknown of issue.keys) delete rest[unknown];
  }
  const second = schema.safeParse(rest);
  return second.success ? second.data : undefined;
}

/** `agents[2] (worker)`, `workspace`, `the city file` */
export function placeText(place: CheckedPlace, inner: ValuePath = []): string {
  const path = [...place.path, ...inner];
  if (path.length === 0) return place.rootLabel;
  for (let length = path.length; length > 0; length -= 1) {
    const value = valueAt(place.document.data, path.slice(0, length));
    if (typeof path[length - 1] !== 'number' || !isMap(value)) continue;
    const name = typeof value['name'] === 'string' ? value['name'] : value['template'];
    if (typeof name === 'string') return `${pathText(path)} (${name})`;
  }
  return place.path.length === 0 && place.rootLabel !== 'the city file'
    ? `${pathText(path)} of ${place.rootLabel}`
    : pathText(path);
}

/** Reports a key that the schema at this place does not have. */
function reportUnknownKey(
  key: string,
  known: Iterable<string>,
  place: CheckedPlace,
  inner: ValuePath,
  problems: ProblemList,
): void {
  const severity = place.unknownKeys ?? 'error';
  problems[severity](
    'unknown-key',
    `unknown key "${key}" in ${placeText(place, inner)}${didYouMean(key, known)}`,
    locate(place.document, [...place.path, ...inner, key]),
  );
}

type Issue = z.core.$ZodIssue;

const innerPath = (issue: Issue): ValuePath =>
  issue.path.map((segment) => (typeof segment === 'number' ? segment : String(segment)));

function report(
  schema: z.ZodType,
  data: unknown,
  issue: Issue,
  place: CheckedPlace,
  problems: ProblemList,
): void {
  const inner = innerPath(issue);
  if (issue.code === 'unrecognized_keys') {
    const known = knownKeys(schema, inner);
    for (const key of issue.keys) reportUnknownKey(key, known, place, inner, problems);
    return;
  }
  const written = valueAt(data, inner);
  const position = locate(place.document, [...place.path, ...inner], 'value');
  if (written === undefined && inner.length > 0) {
    const key = String(inner.at(-1));
    const owner = placeText(place, inner.slice(0, -1));
    problems.error(
      'missing-key',
      `${owner}: ${key} is required`,
      locate(place.document, [...place.path, ...inner]),
    );
    return;
  }
  const subject = placeText(place, inner);
  if (written === null) {
    problems.error('no-value', `${subject} has no value`, position, 'write one, or remove the key');
  } else if (issue.code === 'invalid_type') {
    const hint = typeHint(issue.expected, written);
    problems.error(
      'wrong-type',
      `${subject} must be ${expectedText(issue.expected)}, not ${kindOf(written)}`,
      position,
      hint,
    );
  } else if (issue.code === 'invalid_value') {
    const words = issue.values.filter((value) => value !== '').map(String);
    const suggestion = typeof written === 'string' ? didYouMean(written, words) : '';
    problems.error(
      'bad-value',
      `${subject} must be one of ${words.join(', ')}, not ${JSON.stringify(written)}${suggestion}`,
      position,
    );
  } else {
    problems.error('bad-value', `${subject} ${issue.message}`, position);
  }
}

function expectedText(expected: string): string {
  switch (expected) {
    case 'string':
      return 'a string';
    case 'boolean':
      return 'true or false';
    case 'int':
    case 'number':
      return 'a whole number';
    case 'array':
      return 'a list';
    default:
      return 'a map of keys and values';
  }
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (value instanceof Date) return 'a date';
  switch (typeof value) {
    case 'string':
      return `the string ${shorten(JSON.stringify(value))}`;
    case 'number':
    case 'bigint':
      return `the number ${value}`;
    case 'boolean':
      return String(value);
    default:
      return 'a map';
  }
}

const SHOWN_LENGTH = 40;

function shorten(text: string): string {
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH - 4)}..."` : text;
}

function typeHint(expected: string, written: unknown): string | undefined {
  const isScalar = typeof written === 'number' || typeof written === 'boolean';
  if (expected === 'string' && isScalar) return `put it in quotes: "${written}"`;
  if (expected === 'array' && (isScalar || typeof written === 'string')) {
    return `write it as a list: [${shorten(JSON.stringify(written))}]`;
  }
  const unquoted = typeof written === 'string' ? written.toLowerCase() : '';
  if (expected === 'boolean' && (unquoted === 'true' || unquoted === 'false')) {
    return `remove the quotes: ${unquoted}`;
  }
  if ((expected === 'int' || expected === 'number') && /^-?\d+$/.test(unquoted)) {
    return `remove the quotes: ${unquoted}`;
  }
  return undefined;
}

/** The keys that the schema knows at an inner path. */
function knownKeys(schema: z.ZodType, path: ValuePath): readonly string[] {
  let current: unknown = schema;
  for (const segment of path) {
    const here = unwrapped(current);
    if (here instanceof z.ZodObject) current = here.shape[String(segment)];
    else if (here instanceof z.ZodArray) current = here.element;
    else if (here instanceof z.ZodRecord) current = here.valueType;
    else return [];
  }
  const found = unwrapped(current);
  return found instanceof z.ZodObject ? Object.keys(found.shape) : [];
}

function unwrapped(schema: unknown): unknown {
  return schema instanceof z.ZodOptional ? unwrapped(schema.unwrap()) : schema;
}
