import { open } from 'node:fs/promises';
import { type Fields, isFields } from '../../../platform/fields.ts';
import { readJsonl } from '../../transcript/jsonl-lines.ts';

/** The entries of a program's own record of a conversation, in order; what is no entry is passed over. */
export async function* entriesOf(file: string): AsyncGenerator<Fields, void, undefined> {
  const handle = await open(file, 'r');
  try {
    for await (const line of readJsonl(handle)) {
      if (line.kind === 'line' && isFields(line.value)) yield line.value;
    }
  } finally {
    await handle.close();
  }
}
