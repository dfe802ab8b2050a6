/** The one place where messages are made, encoded and decoded; generated code aside. */
export {
  create,
  type DescEnum,
  type DescField,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageInitShape,
  type MessageShape,
  ScalarType,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
