import { basename } from 'node:path';
import type { ContentBlock } from './provider.ts';

/** A plain string as content. */
export function textContent(text: string): readonly ContentBlock[] {
  return [{ type: 'text', text }];
}

/**
 * Content as one text where files cannot be handed over: a file is named by `[File: BASENAME]`. Blocks are joined by
 * a newline; empty ones are left out. A block of a type this version does not know counts by its text.
 * Source: Gas City content blocks.
 */
export function flattenContent(content: readonly ContentBlock[]): string {
  return content
    .map((block) => (block.type === 'file_path' ? fileLabel(block.path) : block.text))
    .filter((text) => text !== undefined && text !== '')
    .join('\n');
}

function fileLabel(path: string): string {
  return path === '' ? '' : `[File: ${basename(path)}]`;
}
