import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { codeOf } from '../../platform/errors.ts';

const CHUNK_CHARS = 65_536;

/** Sends a text of any size piece by piece, at the reader's speed, so that a large one holds nobody else up. */
export async function streamText(response: ServerResponse, text: string): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
  try {
    await pipeline(Readable.from(piecesOf(text)), response);
  } catch (error) {
    if (codeOf(error) !== 'ERR_STREAM_PREMATURE_CLOSE') throw error; // the reader left
  }
}

function* piecesOf(text: string): Generator<Buffer> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + CHUNK_CHARS, text.length);
    // A surrogate pair is one character: it must not be cut.
    if (end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end += 1;
    yield Buffer.from(text.slice(start, end));
    start = end;
  }
}
