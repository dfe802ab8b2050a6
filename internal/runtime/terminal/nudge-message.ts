import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { ContentBlock } from '../provider.ts';

export type PutFile = (path: string, base: string) => Promise<string | undefined>;

/**
 * Content as the text to type. Files are put into the session's work dir and named: `[File staged: ./BASE]`,
 * `[File not found: ./BASE]` or `[File staging failed: ./BASE: WHY]`. `put` brings a file there under its base name, and
 * answers why it could not, or `undefined`.
 * Source: Gas City tmux nudge.
 */
export async function messageOfContent(content: readonly ContentBlock[], put: PutFile): Promise<string> {
  const parts: string[] = [];
  for (const block of content) {
    const text = block.type === 'file_path' ? await stage(block.path, put) : block.text;
    if (text !== undefined && text !== '') parts.push(text);
  }
  return parts.join('\n');
}

async function stage(path: string, put: PutFile): Promise<string> {
  if (path === '') return '';
  const base = basename(path);
  const there = await stat(path).catch(() => undefined);
  if (!there) return `[File not found: ./${base}]`;
  const failure = await put(path, base);
  return failure === undefined ? `[File staged: ./${base}]` : `[File staging failed: ./${base}: ${failure}]`;
}
