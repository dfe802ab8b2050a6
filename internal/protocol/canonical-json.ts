import canonicalize from 'canonicalize';
import { GcError, messageOf } from '../platform/errors.ts';
import { type DescMessage, type JsonValue, type MessageShape, toJson } from './protobuf.ts';

/**
 * JSON by RFC 8785: members sorted by UTF-16 units, no blanks, ECMAScript numbers.
 * @throws GcError `not-canonical` for NaN, an infinity or a lone surrogate
 */
export function canonicalJson(value: JsonValue): string {
  try {
    const text = canonicalize(value);
    if (text !== undefined) return text;
  } catch (error) {
    throw new GcError('not-canonical', `cannot be hashed: ${messageOf(error)}`, { cause: error });
  }
  throw new GcError('not-canonical', 'nothing to hash');
}

/**
 * The proto3 JSON of a message under its proto field names, unset fields left out: what hashes of messages are over.
 * @throws GcError `not-canonical` for numbers that JSON does not have
 */
export function protoJson<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): JsonValue {
  try {
    return toJson(schema, message, { useProtoFieldName: true, alwaysEmitImplicit: false });
  } catch (error) {
    throw new GcError('not-canonical', `cannot be hashed: ${messageOf(error)}`, { cause: error });
  }
}
