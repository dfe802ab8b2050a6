import { canonicalJson, protoJson } from '../../../protocol/canonical-json.ts';
import {
  type Event,
  type FilePart,
  type Message,
  type Part,
  type ToolResult,
  ToolResultSchema,
} from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import { create } from '../../../protocol/protobuf.ts';
import type { BlobStore } from './blob-store.ts';

/** What is larger goes out of the log: the bytes of a file, the output of a tool. */
export const BLOB_THRESHOLD_BYTES = 65_536;
const PREVIEW_BYTES = 2_048;

/**
 * The event as it goes into a log: large files and outputs are blobs, named by uri and digest, with the beginning of
 * an output left where it was. To be called before the event is hashed. Text of people and models is never cut.
 *
 * The blob of an output is the canonical JSON of a ToolResult with its `content` and `output`.
 */
export async function externalizeEvent(event: Event, blobs: Pick<BlobStore, 'put'>): Promise<Event> {
  const { body } = event;
  switch (body.case) {
    case 'message': {
      const value = await ofMessage(body.value, blobs);
      return value === body.value ? event : { ...event, body: { case: 'message', value } };
    }
    case 'result': {
      const value = await ofResult(body.value, blobs);
      return value === body.value ? event : { ...event, body: { case: 'result', value } };
    }
    default:
      return event;
  }
}

async function ofMessage(message: Message, blobs: Pick<BlobStore, 'put'>): Promise<Message> {
  const parts = await ofParts(message.parts, blobs);
  return parts === message.parts ? message : { ...message, parts };
}

async function ofParts(parts: Part[], blobs: Pick<BlobStore, 'put'>): Promise<Part[]> {
  const kept = await Promise.all(parts.map((part) => ofPart(part, blobs)));
  return kept.every((part, index) => part === parts[index]) ? parts : kept;
}

async function ofPart(part: Part, blobs: Pick<BlobStore, 'put'>): Promise<Part> {
  switch (part.part.case) {
    case 'file': {
      const value = await ofFile(part.part.value, blobs);
      return value === part.part.value ? part : { ...part, part: { case: 'file', value } };
    }
    case 'toolResult': {
      const value = await ofResult(part.part.value, blobs);
      return value === part.part.value ? part : { ...part, part: { case: 'toolResult', value } };
    }
    default:
      return part;
  }
}

async function ofFile(file: FilePart, blobs: Pick<BlobStore, 'put'>): Promise<FilePart> {
  if (file.source.case !== 'bytes' || file.source.value.length <= BLOB_THRESHOLD_BYTES) return file;
  const { uri, digest } = await blobs.put(file.source.value);
  return { ...file, source: { case: 'uri', value: uri }, digest };
}

async function ofResult(result: ToolResult, blobs: Pick<BlobStore, 'put'>): Promise<ToolResult> {
  const content = await ofParts(result.content, blobs);
  const kept = content === result.content ? result : { ...result, content };
  if (result.outputUri !== '') return kept;
  const text = content.map(({ part }) => (part.case === 'text' ? part.value.text : '')).join('');
  const output = result.output === undefined ? '' : canonicalJson(result.output);
  if (Math.max(Buffer.byteLength(text), Buffer.byteLength(output)) <= BLOB_THRESHOLD_BYTES) return kept;
  const said = create(ToolResultSchema, {
    content,
    ...(result.output === undefined ? {} : { output: result.output }),
  });
  const { uri, digest } = await blobs.put(Buffer.from(canonicalJson(protoJson(ToolResultSchema, said))));
  const { output: _, ...rest } = kept;
  const others = content.filter(({ part }) => part.case !== 'text');
  const preview = create(ToolResultSchema, {
    content: [{ part: { case: 'text', value: { text: previewOf(text === '' ? output : text, uri) } } }],
  });
  return { ...rest, outputUri: uri, outputDigest: digest, content: [...preview.content, ...others] };
}

/** The beginning, cut between characters, and how much is left out. */
function previewOf(text: string, uri: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= PREVIEW_BYTES) return text;
  let end = PREVIEW_BYTES;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  const left = bytes.length - end;
  return `${bytes.subarray(0, end).toString('utf8')}\n[${left} of ${bytes.length} bytes left out: ${uri}]`;
}
