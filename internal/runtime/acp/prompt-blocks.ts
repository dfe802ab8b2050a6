import { readFile, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { codeOf } from '../../platform/errors.ts';
import { MAX_LINE_BYTES, type WireAcpBlock } from '../host/protocol.ts';
import type { ContentBlock } from '../provider.ts';

/** A larger file is named, not sent. Source: Gas City's limit for files in a prompt. */
const INLINE_LIMIT_BYTES = 1_048_576;
/** Files beyond this in one prompt are named too: the whole prompt is one line to the host. */
const INLINE_TOTAL_BYTES = 2_097_152;
/** What the line holds besides the blocks. */
const LINE_OVERHEAD_BYTES = 1_024;

/**
 * Content as the blocks of a prompt, empty ones left out. A text file goes in whole, under its name; a large or binary
 * one is linked, and the agent reads it itself. An error never names the folder of the file.
 */
export async function promptBlocks(content: readonly ContentBlock[]): Promise<readonly WireAcpBlock[]> {
  const blocks: WireAcpBlock[] = [];
  let room = INLINE_TOTAL_BYTES;
  for (const block of content) {
    if (block.type !== 'file_path') {
      // A block of a type that this version does not know counts by its text.
      if (block.text !== undefined && block.text !== '') blocks.push(textBlock(block.text));
    } else if (block.path !== '') {
      const made = await fileBlock(block.path, Math.min(INLINE_LIMIT_BYTES, room));
      if (made.type === 'text') room -= Buffer.byteLength(made.text);
      blocks.push(made);
    }
  }
  return blocks;
}

/** Why a prompt cannot go to the host as it is, `undefined` when it can. */
export function tooLarge(blocks: readonly WireAcpBlock[]): string | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(blocks));
  const limit = MAX_LINE_BYTES - LINE_OVERHEAD_BYTES;
  return bytes <= limit
    ? undefined
    : `the message has ${bytes} bytes as it is sent, at most ${limit} can be; put the text into a file`;
}

const textBlock = (text: string): WireAcpBlock => ({ type: 'text', text });

async function fileBlock(path: string, limit: number): Promise<WireAcpBlock> {
  const name = basename(path);
  try {
    const { size } = await stat(path);
    if (size > limit) return link(path, name);
    const bytes = await readFile(path);
    const text = bytes.toString('utf8');
    const isText = !bytes.includes(0) && Buffer.from(text).equals(bytes);
    return isText ? textBlock(`--- ${name} ---\n${text}`) : link(path, name);
  } catch (error) {
    return textBlock(`[Error reading ${name}: ${reasonOf(error)}]`);
  }
}

const link = (path: string, name: string): WireAcpBlock => ({
  type: 'link',
  uri: pathToFileURL(resolve(path)).href,
  name,
});

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  switch (code) {
    case 'ENOENT':
      return 'no such file';
    case 'EACCES':
      return 'permission denied';
    case 'EISDIR':
      return 'it is a folder';
    default:
      return code ?? 'it cannot be read';
  }
}
