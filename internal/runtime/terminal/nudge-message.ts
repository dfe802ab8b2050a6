import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { ContentBlock } from '../provider.ts';
import { copyInto } from '../staging.ts';

/**
 * Content as the text to type. Files are put into the session's work dir and named: `[File staged: ./BASE]`,
 * `[File not found: ./BASE]` or `[File staging failed: ./BASE: WHY]`. `workDir` `''`: it is not known.
 * Source: Gas City tmux nudge.
 */
export async function messageOfContent(
  content: readonly ContentBlock[],
  workDir: string,
  signal: AbortSignal,
): Promise<string> {
  const parts: string[] = [];
  for (const block of content) {
    const text = block.type === 'file_path' ? await stage(block.path, workDir, signal) : block.text;
    if (text !== undefined && text !== '') parts.push(text);
  }
  return parts.join('\n');
}

async function stage(path: string, workDir: string, signal: AbortSignal): Promise<string> {
  if (path === '') return '';
  const base = basename(path);
  const there = await stat(path).catch(() => undefined);
  if (!there) return `[File not found: ./${base}]`;
  const failure =
    workDir === '' ? 'the work dir of the session is unknown' : await copyInto(workDir, path, base, signal);
  return failure === undefined ? `[File staged: ./${base}]` : `[File staging failed: ./${base}: ${failure}]`;
}
