import { jsonString } from './fast-canonical.ts';
import { type Event, EventKind } from './generated/agentsessions/v1/common_pb.ts';

/**
 * JSON and bytes of a message of one text, in one go: the record that a log is mostly made of. `undefined` for all others.
 * The same as the general encoders give, which its test compares it with.
 */
export function fastText(event: Event): { readonly json: string; readonly bytes: Uint8Array } | undefined {
  const { executionId, kind, body } = event;
  if (body.case !== 'message' || body.value.parts.length !== 1 || hasMore(event)) return undefined;
  const { role, parts, $unknown } = body.value;
  const [part] = parts;
  if ($unknown || part?.part.case !== 'text' || part.$unknown || part.part.value.$unknown) return undefined;
  const { text } = part.part.value;
  const name = EventKind[kind];
  // What is empty is left out of both forms: that is for the general way.
  if (kind === 0 || name === undefined || executionId === '' || role === '' || text === '') return undefined;
  const [jsonId, jsonRole, jsonText] = [jsonString(executionId), jsonString(role), jsonString(text)];
  if (jsonId === undefined || jsonRole === undefined || jsonText === undefined) return undefined;
  return {
    json: `{"execution_id":${jsonId},"kind":"${name}","message":{"parts":[{"text":{"text":${jsonText}}}],"role":${jsonRole}}}`,
    bytes: encode(executionId, kind, role, text),
  };
}

function hasMore({ ts, actor, schemaVersion, $unknown }: Event): boolean {
  return ts !== undefined || actor !== undefined || schemaVersion !== 0 || $unknown !== undefined;
}

/** Tags: field number and wire type, one byte each. Source: agentsessions.v1 common.proto. */
const EXECUTION_ID = 0x12;
const KIND = 0x38;
const MESSAGE = 0x42;
const ROLE = 0x0a;
const PART = 0x12;
const PART_TEXT = 0x0a;
const TEXT = 0x0a;

function encode(executionId: string, kind: number, role: string, text: string): Uint8Array {
  const [idSize, roleSize, textSize] = [
    Buffer.byteLength(executionId),
    Buffer.byteLength(role),
    Buffer.byteLength(text),
  ];
  const partText = framed(textSize);
  const part = framed(partText);
  const message = framed(roleSize) + framed(part);
  const out = Buffer.allocUnsafe(framed(idSize) + 2 + framed(message));
  let at = writeText(out, 0, EXECUTION_ID, idSize, executionId);
  out[at] = KIND;
  out[at + 1] = kind;
  at = writeHead(out, at + 2, MESSAGE, message);
  at = writeText(out, at, ROLE, roleSize, role);
  at = writeHead(out, at, PART, part);
  at = writeHead(out, at, PART_TEXT, partText);
  writeText(out, at, TEXT, textSize, text);
  return out;
}

/** With one byte of tag and the length before it. */
function framed(size: number): number {
  let head = 2;
  for (let rest = size; rest >= 0x80; rest = Math.floor(rest / 0x80)) head += 1;
  return head + size;
}

function writeText(out: Buffer, at: number, tag: number, size: number, text: string): number {
  const start = writeHead(out, at, tag, size);
  out.write(text, start, size, size === text.length ? 'latin1' : 'utf8');
  return start + size;
}

function writeHead(out: Buffer, at: number, tag: number, value: number): number {
  out[at] = tag;
  let next = at + 1;
  let rest = value;
  for (; rest >= 0x80; next += 1) {
    out[next] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  out[next] = rest;
  return next + 1;
}
