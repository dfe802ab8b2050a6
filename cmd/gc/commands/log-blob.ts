import { isUtf8 } from 'node:buffer';
import { GcError } from '../../../internal/platform/errors.ts';
import { hashInName } from '../../../internal/session/log/blobs/blob-name.ts';
import { UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { withLogs } from '../log/open-logs.ts';
import { plainText } from '../output/plain.ts';

/** The content byte for byte, checked against its name first; at a terminal only text, and nothing that would drive it. */
export const runLogBlob: CommandRun = async (context, input) => {
  const name = input.arg('blob');
  const hash = hashInName(name);
  if (hash === undefined) {
    throw new UsageError(
      `${JSON.stringify(name)} is not the name of a blob`,
      'give its uri or digest, as gc log show --json has it',
    );
  }
  return withLogs(context, input, async ({ blobs }) => {
    const content = await blobs.get(hash);
    context.out.write(context.out.isTTY ? shownText(context, name, content) : content);
    await context.out.flush();
    return 0;
  });
};

function shownText({ gc }: Context, name: string, content: Uint8Array): string {
  if (isUtf8(content)) return `${plainText(Buffer.from(content).toString('utf8')).trimEnd()}\n`;
  throw new GcError('binary-blob', `${name} is no text: ${content.length} bytes`, {
    next: `${gc} log blob ${name} > file`,
  });
}
