import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type MessageShape,
  ScalarType,
  toJson,
} from './protobuf.ts';

/**
 * `canonicalJson(protoJson(schema, message))` in one pass, for messages that need nothing unusual; `undefined` for the
 * others, which take the long way and meet its errors there. A log hashes every record that it writes or reads, and the
 * two general passes cost ten times as much as the hash.
 */
export function fastCanonical<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
): string | undefined {
  try {
    return writerOf(schema)(message as unknown as Fields);
  } catch (error) {
    if (error instanceof Unusual) return undefined;
    throw error;
  }
}

/** A string as JSON, `undefined` when it has half a character in it. */
export function jsonString(text: string): string | undefined {
  if (!NEEDS_CARE.test(text)) return `"${text}"`;
  return LONE_SURROGATE.test(text) ? undefined : JSON.stringify(text);
}

type Fields = Readonly<Record<string, unknown>>;
type Writer = (message: Fields) => string;
/** The member's value as JSON, '' when it is left out. */
type Member = (message: Fields) => string;

/** Left to the general way. One object: a stack trace costs more than what is saved. */
class Unusual extends Error {}
const UNUSUAL = new Unusual();

const NEEDS_CARE = /["\\\u0000-\u001f\ud800-\udfff]/;
const LONE_SURROGATE = /\p{Surrogate}/u;
const WRITERS = new Map<string, Writer>();

function writerOf(desc: DescMessage): Writer {
  const known = WRITERS.get(desc.typeName);
  if (known) return known;
  let compiled: Writer | undefined;
  // Messages contain each other: the table has an entry before the members are looked at.
  WRITERS.set(desc.typeName, (message) => (compiled ?? unusual)(message));
  compiled = compile(desc);
  WRITERS.set(desc.typeName, compiled);
  return compiled;
}

function unusual(): never {
  throw UNUSUAL;
}

function compile(desc: DescMessage): Writer {
  if (desc.typeName === 'google.protobuf.Struct') return jsonValue;
  if (desc.typeName.startsWith('google.protobuf.')) return (message) => generally(desc, message);
  const members = [...desc.fields]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((field) => ({ key: `"${field.name}":`, member: memberOf(field) }));
  return (message) => {
    let body = '';
    for (const { key, member } of members) {
      const value = member(message);
      if (value !== '') body += body === '' ? key + value : `,${key}${value}`;
    }
    return `{${body}}`;
  };
}

/** A known type with a JSON form of its own, all in one string. */
function generally(desc: DescMessage, message: Fields): string {
  try {
    const json = toJson(desc, message as unknown as MessageShape<DescMessage>);
    return typeof json === 'string' ? quoted(json) : unusual();
  } catch {
    return unusual();
  }
}

function memberOf(field: DescField): Member {
  const { localName } = field;
  if (field.oneof) {
    const group = field.oneof.localName;
    const write = valueWriter(field);
    return (message) => {
      const chosen = message[group] as { readonly case?: string; readonly value?: unknown };
      return chosen.case === localName ? write(chosen.value) : '';
    };
  }
  if (field.fieldKind === 'list') {
    const write = valueWriter(field);
    return (message) => {
      const items = message[localName] as readonly unknown[];
      return items.length === 0 ? '' : `[${items.map(write).join(',')}]`;
    };
  }
  if (field.fieldKind === 'map') return mapMember(field);
  const write = valueWriter(field);
  const implicit = field.fieldKind !== 'message' && field.presence === IMPLICIT_PRESENCE;
  if (implicit) {
    return (message) => {
      const value = message[localName];
      return isZero(value) ? '' : write(value);
    };
  }
  return (message) =>
    Object.hasOwn(message, localName) && message[localName] !== undefined ? write(message[localName]) : '';
}

/** `FeatureSet.FieldPresence.IMPLICIT` of the descriptors. */
const IMPLICIT_PRESENCE = 2;

function isZero(value: unknown): boolean {
  if (value instanceof Uint8Array) return value.length === 0;
  return value === '' || value === 0 || value === 0n || value === false;
}

function mapMember(field: DescField & { readonly fieldKind: 'map' }): Member {
  const write = valueWriter(field);
  const { localName } = field;
  if (field.mapKey !== ScalarType.STRING) return unusual;
  return (message) => {
    const entries = message[localName] as Fields;
    const keys = Object.keys(entries).sort();
    if (keys.length === 0) return '';
    return `{${keys.map((key) => `${quoted(key)}:${write(entries[key])}`).join(',')}}`;
  };
}

function valueWriter(field: DescField): (value: unknown) => string {
  if (field.enum) return enumWriter(field.enum);
  if (field.message) {
    const desc = field.message;
    let write: Writer | undefined;
    return (value) => {
      write ??= writerOf(desc);
      return write(value as Fields);
    };
  }
  return scalarWriter(field.scalar);
}

function enumWriter(desc: DescEnum): (value: unknown) => string {
  const names = new Map(desc.values.map(({ number, name }) => [number, `"${name}"`]));
  return (value) => (typeof value === 'number' ? names.get(value) : undefined) ?? unusual();
}

function scalarWriter(scalar: ScalarType | undefined): (value: unknown) => string {
  switch (scalar) {
    case ScalarType.STRING:
      return (value) => (typeof value === 'string' ? quoted(value) : unusual());
    case ScalarType.BOOL:
      return (value) => (typeof value === 'boolean' ? String(value) : unusual());
    case ScalarType.INT32:
      return (value) =>
        Number.isInteger(value) && value === ((value as number) | 0) ? `${value}` : unusual();
    case ScalarType.INT64:
      return (value) =>
        typeof value === 'bigint' && value === BigInt.asIntN(64, value) ? `"${value}"` : unusual();
    case ScalarType.BYTES:
      return (value) =>
        value instanceof Uint8Array
          ? `"${Buffer.from(value.buffer, value.byteOffset, value.length).toString('base64')}"`
          : unusual();
    default:
      return unusual;
  }
}

function quoted(text: string): string {
  return jsonString(text) ?? unusual();
}

function jsonValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return quoted(value);
    case 'number':
      return Number.isFinite(value) ? JSON.stringify(value) : unusual();
    case 'boolean':
      return String(value);
    case 'object':
      return value === null ? 'null' : jsonObject(value);
    default:
      return unusual();
  }
}

function jsonObject(value: object): string {
  if (Array.isArray(value)) return `[${value.map(jsonValue).join(',')}]`;
  const proto: unknown = Object.getPrototypeOf(value);
  if (proto !== Object.prototype && proto !== null) return unusual();
  if ('toJSON' in value) return unusual();
  const fields = value as Fields;
  const members = Object.keys(fields)
    .sort()
    .map((key) => `${quoted(key)}:${jsonValue(fields[key])}`);
  return `{${members.join(',')}}`;
}
