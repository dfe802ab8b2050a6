import { createHash } from 'node:crypto';
import {
  Mediation,
  type Message,
  type ModelCall,
  type Part,
  type ReasoningPart,
  type ToolCall,
  ToolChoice_Mode,
  type ToolDefinition,
  type ToolResult,
  ToolResult_Code,
} from './generated/agentsessions/v1/common_pb.ts';

/**
 * SHA-256, 64 lowercase hex digits, over everything that a model is asked with: model, messages, parameters and, when
 * there are any, tools. The id of the call does not count.
 *
 * The bytes are those of Go's encoding/json over the request, so that a log which another implementation wrote can be
 * resumed here. Where a request has tool fields, no published bytes exist; there the form is ours: `Tools` and `ToolChoice`
 * follow `Params`, `ToolCall` and `ToolResult` follow `Reasoning`, each only when set.
 * Source: agentsessions.v1 model input hash, with its vectors.
 */
export function modelInputHash(call: ModelCall): string {
  return createHash('sha256').update(requestJson(call), 'utf8').digest('hex');
}

type Member = readonly [name: string, json: string];

function requestJson(call: ModelCall): string {
  const members: Member[] = [
    ['Model', goString(call.model)],
    ['Messages', goSlice(call.messages, messageJson)],
    ['Params', Object.keys(call.params).length === 0 ? 'null' : goMap(call.params)],
  ];
  if (call.tools.length > 0) members.push(['Tools', goSlice(call.tools, toolJson)]);
  if (call.toolChoice) {
    const mode = goString(ToolChoice_Mode[call.toolChoice.mode] ?? String(call.toolChoice.mode));
    const name = goString(call.toolChoice.name);
    members.push([
      'ToolChoice',
      goObject([
        ['Mode', mode],
        ['Name', name],
      ]),
    ]);
  }
  return goObject(members);
}

function messageJson(message: Message): string {
  return goObject([
    ['Role', goString(message.role)],
    ['Parts', goSlice(message.parts, partJson)],
  ]);
}

function partJson({ part }: Part): string {
  const members: Member[] = [
    ['Text', part.case === 'text' ? goObject([['Text', goString(part.value.text)]]) : 'null'],
    ['File', part.case === 'file' ? fileJson(part.value) : 'null'],
    ['Data', part.case === 'data' && part.value.data ? goMap(part.value.data) : 'null'],
    ['Reasoning', part.case === 'reasoning' ? reasoningJson(part.value) : 'null'],
  ];
  if (part.case === 'toolCall') members.push(['ToolCall', toolCallJson(part.value)]);
  if (part.case === 'toolResult') members.push(['ToolResult', toolResultJson(part.value)]);
  return goObject(members);
}

function fileJson(file: Extract<Part['part'], { case: 'file' }>['value']): string {
  const { source } = file;
  return goObject([
    ['MIME', goString(file.mime)],
    ['Bytes', source.case === 'bytes' ? goBytes(source.value) : 'null'],
    ['URI', goString(source.case === 'uri' ? source.value : '')],
    ['Digest', goString(file.digest)],
    ['Name', goString(file.name)],
  ]);
}

function reasoningJson(reasoning: ReasoningPart): string {
  const { opaque } = reasoning;
  return goObject([
    ['Provider', goString(reasoning.provider)],
    ['ModelID', goString(reasoning.modelId)],
    ['Opaque', opaque.case === 'opaqueBytes' ? goBytes(opaque.value) : 'null'],
    ['OpaqueURI', goString(opaque.case === 'opaqueUri' ? opaque.value : '')],
    ['OpaqueDigest', goString(reasoning.opaqueDigest)],
    ['Summary', goSlice(reasoning.summary, partJson)],
    ['ItemID', goString(reasoning.itemId)],
    ['Ordinal', String(reasoning.ordinal)],
    ['ValidityScope', goString(reasoning.validityScope)],
  ]);
}

function toolJson(tool: ToolDefinition): string {
  return goObject([
    ['Name', goString(tool.name)],
    ['Description', goString(tool.description)],
    ['InputSchema', tool.inputSchema ? goMap(tool.inputSchema) : 'null'],
  ]);
}

function toolCallJson(call: ToolCall): string {
  return goObject([
    ['ID', goString(call.id)],
    ['Tool', goString(call.tool)],
    ['Args', call.args ? goMap(call.args) : 'null'],
    ['Mediation', goString(Mediation[call.mediation] ?? String(call.mediation))],
    ['IdempotencyKey', goString(call.idempotencyKey)],
  ]);
}

function toolResultJson(result: ToolResult): string {
  return goObject([
    ['ID', goString(result.id)],
    ['Output', result.output ? goMap(result.output) : 'null'],
    ['OutputURI', goString(result.outputUri)],
    ['OutputDigest', goString(result.outputDigest)],
    ['IsError', String(result.isError)],
    ['Error', goString(result.error)],
    ['Content', goSlice(result.content, partJson)],
    ['Code', goString(ToolResult_Code[result.code] ?? String(result.code))],
  ]);
}

const goObject = (members: readonly Member[]): string =>
  `{${members.map(([name, json]) => `"${name}":${json}`).join(',')}}`;

/** An empty list was no list before it went over the wire. */
const goSlice = <T>(items: readonly T[], json: (item: T) => string): string =>
  items.length === 0 ? 'null' : `[${items.map(json).join(',')}]`;

const goBytes = (bytes: Uint8Array): string =>
  bytes.length === 0 ? 'null' : `"${Buffer.from(bytes).toString('base64')}"`;

/** Go sorts the keys of a map by their bytes, ECMAScript compares UTF-16 units. */
function goMap(map: object): string {
  const entries = Object.entries(map).map(([key, value]) => ({ key, bytes: Buffer.from(key), value }));
  entries.sort((a, b) => Buffer.compare(a.bytes, b.bytes));
  return `{${entries.map(({ key, value }) => `${goString(key)}:${goValue(value)}`).join(',')}}`;
}

function goValue(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return goString(value);
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(goValue).join(',')}]`;
  return typeof value === 'object' ? goMap(value) : 'null';
}

const ESCAPED: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

/** Go escapes what could end a script element. */
const goString = (text: string): string =>
  JSON.stringify(text).replace(/[<>&\u2028\u2029]/g, (char) => ESCAPED[char] ?? char);
