import { mkdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { quoteWord } from '../config/preset/shell-words.ts';
import { writeFileAtomic } from '../platform/atomic-file.ts';
import { codeOf } from '../platform/errors.ts';
import { isExecutable } from '../platform/executable.ts';

export interface AgentToolsOptions {
  /** The city's folder, absolute. */
  readonly dir: string;
  /** The file that agents run as `gc`, absolute. */
  readonly program: string;
  /** A `bd` is on the agents' PATH already: it is the one they use. */
  readonly hasRealBd: boolean;
}

const SHEBANG = '#!/bin/sh\n';
const EXECUTABLE = 0o755;
const FOLDER = 0o700;

/**
 * Writes `gc`, and `bd` where no real one is, into `<city>/.gc/runtime/bin`: each two lines of shell that run this
 * program. Answers that folder, to be appended to the agents' PATH; `undefined` when the program is no executable file,
 * for then nothing in the folder would work. Repeating it writes nothing. @throws Node's errors of writing
 */
export async function writeAgentTools({
  dir,
  program,
  hasRealBd,
}: AgentToolsOptions): Promise<string | undefined> {
  if (!isExecutable(program)) return undefined;
  const folder = join(dir, '.gc', 'runtime', 'bin');
  await mkdir(folder, { recursive: true, mode: FOLDER });
  await writeTool(join(folder, 'gc'), `exec ${quoteWord(program)} "$@"\n`);
  const bd = join(folder, 'bd');
  if (hasRealBd) await removeShim(bd);
  else await writeTool(bd, `exec ${quoteWord(program)} bd "$@"\n`);
  return folder;
}

/** Written anew only when it differs: agents may be running it at this moment. */
async function writeTool(file: string, command: string): Promise<void> {
  const content = SHEBANG + command;
  if ((await textOf(file)) === content && ((await stat(file)).mode & 0o777) === EXECUTABLE) return;
  await writeFileAtomic(file, content, EXECUTABLE);
}

/** Only what was written here; whatever else a person put there stays. */
async function removeShim(file: string): Promise<void> {
  const text = await textOf(file);
  if (text?.startsWith(`${SHEBANG}exec `) && text.endsWith(' bd "$@"\n')) await rm(file, { force: true });
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
