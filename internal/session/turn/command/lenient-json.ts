import { type Fields, fieldsOf, isFields } from '../../../platform/fields.ts';
import { type Part, PartSchema } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import { create, type JsonObject, type JsonValue } from '../../../protocol/protobuf.ts';

/** The object in a line; `broken` when it begins like one and is none; `undefined` for anything else. */
export function objectIn(line: string): Fields | 'broken' | undefined {
  if (!line.trimStart().startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isFields(value) ? value : undefined;
  } catch {
    return 'broken'; // the caller says so, with what came before
  }
}

export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

export function textIn(fields: Fields, key: string): string {
  const value = fields[key];
  return typeof value === 'string' ? value : '';
}

export function countIn(fields: Fields, key: string): number {
  const value = fields[key];
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0;
}

/** What was parsed from JSON, as the log can hold it: halves of surrogate pairs become U+FFFD. */
export function loggable(value: unknown): JsonValue {
  if (typeof value === 'string') return wellFormed(value);
  if (typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (Array.isArray(value)) return value.map(loggable);
  if (isFields(value)) return loggableObject(value);
  return null;
}

export function loggableObject(value: unknown): JsonObject {
  return Object.fromEntries(
    Object.entries(fieldsOf(value)).map(([key, inner]) => [wellFormed(key), loggable(inner)]),
  );
}

export function wellFormed(text: string): string {
  return text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd');
}

export function textPart(text: string): Part {
  return create(PartSchema, { part: { case: 'text', value: { text: wellFormed(text) } } });
}

export function dataPart(data: JsonObject): Part {
  return create(PartSchema, { part: { case: 'data', value: { data } } });
}

export function filePart(mime: string, base64: string): Part {
  return create(PartSchema, {
    part: {
      case: 'file',
      value: { mime: wellFormed(mime), source: { case: 'bytes', value: Buffer.from(base64, 'base64') } },
    },
  });
}
