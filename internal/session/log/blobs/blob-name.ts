import { createHash } from 'node:crypto';
import type { Event, Part, ToolResult } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';

/** How a log names a blob: where it is, and the hash that what is there must have. */
export interface BlobName {
  /** `blob:sha256:` and hex. */
  readonly uri: string;
  /** `sha256:` and hex. */
  readonly digest: string;
}

const BLOB_URI = /^blob:sha256:([0-9a-f]{64})$/;
const ANY_NAME = /^(?:(?:blob:)?sha256:)?([0-9a-f]{64})$/;

export function blobNameOf(content: Uint8Array): BlobName {
  return nameOfHash(createHash('sha256').update(content).digest('hex'));
}

export const nameOfHash = (hash: string): BlobName => ({
  uri: `blob:sha256:${hash}`,
  digest: `sha256:${hash}`,
});

function hashOfUri(uri: string): string | undefined {
  return BLOB_URI.exec(uri)?.[1];
}

/** The hash in a uri, a digest, or a hash by itself; `undefined` for everything else. */
export function hashInName(name: string): string | undefined {
  return ANY_NAME.exec(name)?.[1];
}

/** The hashes of all blobs that an event names. */
export function blobHashesOf({ body }: Event): readonly string[] {
  switch (body.case) {
    case 'message':
      return body.value.parts.flatMap(hashesOfPart);
    case 'result':
      return hashesOfResult(body.value);
    default:
      return [];
  }
}

function hashesOfPart({ part }: Part): readonly string[] {
  switch (part.case) {
    case 'file':
      return part.value.source.case === 'uri' ? hashesIn(part.value.source.value) : [];
    case 'toolResult':
      return hashesOfResult(part.value);
    default:
      return [];
  }
}

const hashesOfResult = ({ outputUri, content }: ToolResult): readonly string[] => [
  ...hashesIn(outputUri),
  ...content.flatMap(hashesOfPart),
];

function hashesIn(uri: string): readonly string[] {
  const hash = hashOfUri(uri);
  return hash === undefined ? [] : [hash];
}
