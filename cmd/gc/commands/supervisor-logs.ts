import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { supervisorLogFile } from '../../../internal/controller/supervisor-client.ts';
import { codeOf, GcError } from '../../../internal/platform/errors.ts';
import { gcHome } from '../../../internal/platform/paths.ts';
import type { CommandRun } from '../cli/spec.ts';

const DEFAULT_LINES = 50;
const BLOCK_BYTES = 65_536;
const FOLLOW_POLL_MS = 300;
const NEWLINE = 0x0a;

export const runSupervisorLogs: CommandRun = async (context, input) => {
  const file = supervisorLogFile(gcHome(context.env));
  const lines = input.count('lines') ?? DEFAULT_LINES;
  let fd = openLogFile(file);
  let at = startOfLastLines(fd, lines);
  try {
    for (;;) {
      at = await copyFrom(fd, at, (text) => context.out.write(text));
      await context.out.flush();
      if (!input.flag('follow')) return 0;
      try {
        await context.clock.sleep(FOLLOW_POLL_MS, context.signal);
      } catch {
        return 0; // Ctrl-C, or nobody reads any more
      }
      const current = openLogFile(file);
      if (fstatSync(current).ino === fstatSync(fd).ino) closeSync(current);
      else {
        await copyFrom(fd, at, (text) => context.out.write(text));
        closeSync(fd);
        fd = current;
        at = 0;
      }
    }
  } finally {
    closeSync(fd);
  }
};

function openLogFile(file: string): number {
  try {
    return openSync(file, 'r');
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    throw new GcError('no-log', `there is no log at ${file}: no supervisor has run yet`, {
      cause: error,
      next: 'gc supervisor start',
    });
  }
}

/** The offset at which the last `lines` lines begin, found from the end. */
function startOfLastLines(fd: number, lines: number): number {
  const size = fstatSync(fd).size;
  if (lines === 0) return size;
  let missing = lines + 1; // the newline at the end of the file is not one between two lines
  const block = Buffer.alloc(BLOCK_BYTES);
  for (let end = size; end > 0; end -= BLOCK_BYTES) {
    const start = Math.max(0, end - BLOCK_BYTES);
    const got = readSync(fd, block, 0, end - start, start);
    for (let i = got - 1; i >= 0; i -= 1) {
      if (block[i] !== NEWLINE) continue;
      missing -= 1;
      if (missing === 0) return start + i + 1;
    }
  }
  return 0;
}

/** Copies everything from `at` to the end; answers the new offset. Characters are never cut. */
async function copyFrom(fd: number, at: number, write: (text: string) => void): Promise<number> {
  const decoder = new TextDecoder();
  const block = Buffer.alloc(BLOCK_BYTES);
  let offset = at;
  for (;;) {
    const got = readSync(fd, block, 0, BLOCK_BYTES, offset);
    if (got === 0) break;
    offset += got;
    write(decoder.decode(block.subarray(0, got), { stream: true }));
  }
  write(decoder.decode());
  return offset;
}
