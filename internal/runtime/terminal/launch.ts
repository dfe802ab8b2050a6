import { rmSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePrivateDir, writeFileAtomic } from '../../platform/atomic-file.ts';
import type { Ids } from '../../platform/ids.ts';
import { StartFailedError } from '../errors.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import type { Launch } from './backend.ts';

/** Longer command lines go through a script file: back ends limit the length of one command. */
const INLINE_LIMIT_BYTES = 1_024;
/** The kernel refuses a single argument from 128 KiB on. */
const ARGUMENT_LIMIT_BYTES = 131_000;

export const TERMINAL_COLUMNS = 120;
export const TERMINAL_ROWS = 40;

export interface PreparedLaunch {
  readonly launch: Launch;
  /** A file that the agent's shell deletes itself before the agent runs; `discard` removes it when that never happened. */
  discard(): void;
  /** A prompt too long for an argument: to be typed instead, before the configured nudge. */
  readonly typedPrompt: string;
}

/** Builds what the back end runs for a config, writing a launcher script when the command line is long. */
export async function prepareLaunch(
  name: string,
  config: RuntimeConfig,
  launcherDir: string,
  ids: Ids,
): Promise<PreparedLaunch> {
  await assertWorkDir(config.workDir);
  const raw = config.promptSuffix === '' ? '' : unquoteShell(config.promptSuffix);
  const tooLong = Buffer.byteLength(raw) > ARGUMENT_LIMIT_BYTES;
  const line = commandLine(tooLong ? { ...config, promptSuffix: '', promptFlag: '' } : config);
  const { env, unsetEnv } = splitEnv(config.env);
  const base = {
    cwd: config.workDir,
    env,
    unsetEnv,
    pty: config.pty,
    columns: TERMINAL_COLUMNS,
    rows: TERMINAL_ROWS,
  };
  const typedPrompt = tooLong ? raw : '';
  const nothing = () => undefined;
  if (line === '') return { launch: { ...base, argv: [shellOf(env)] }, discard: nothing, typedPrompt };
  if (Buffer.byteLength(line) <= INLINE_LIMIT_BYTES && !line.includes('\n')) {
    return { launch: { ...base, argv: ['/bin/sh', '-c', line] }, discard: nothing, typedPrompt };
  }
  const dir = config.workDir === '' ? launcherDir : join(config.workDir, '.gc', 'tmp');
  ensurePrivateDir(dir);
  const file = join(dir, `launch-${name}-${ids.hex(8)}.sh`);
  await writeFileAtomic(file, launcherScript(file, line), 0o600);
  return {
    launch: { ...base, argv: ['/bin/sh', file] },
    discard: () => rmSync(file, { force: true }),
    typedPrompt,
  };
}

/** `CMD`, `CMD SUFFIX` or `CMD FLAG SUFFIX`, with `exec` in front where that is the same: the agent then is the terminal's process. */
export function commandLine(config: Pick<RuntimeConfig, 'command' | 'promptSuffix' | 'promptFlag'>): string {
  const command = config.command.trim();
  if (command === '') return '';
  const parts = [command];
  if (config.promptSuffix !== '') {
    if (config.promptFlag !== '') parts.push(config.promptFlag);
    parts.push(config.promptSuffix);
  }
  const line = parts.join(' ');
  return isSimpleCommand(command) ? `exec ${line}` : line;
}

const SHELL_WORDS = new Set([
  ...['!', '{', '}', 'case', 'do', 'done', 'elif', 'else', 'esac', 'fi', 'for', 'if', 'in', 'then', 'until'],
  ...['while', '.', ':', 'break', 'cd', 'continue', 'eval', 'exec', 'exit', 'export', 'readonly', 'return'],
  ...[
    'set',
    'shift',
    'source',
    'times',
    'trap',
    'unset',
    'alias',
    'command',
    'read',
    'ulimit',
    'umask',
    'wait',
  ],
]);

/** One program with arguments: no operators, no assignment in front, no word that the shell itself runs. */
export function isSimpleCommand(command: string): boolean {
  const bare = command.replace(/'[^']*'/g, 'q').replace(/"(?:[^"\\`$]|\\.|\$\{?\w+\}?)*"/g, 'q');
  if (/[;&|<>()`\n"'\\#]/.test(bare) || /\$\(/.test(command)) return false;
  const first = bare.trim().split(/\s+/)[0] ?? '';
  return first !== '' && !SHELL_WORDS.has(first) && !/^\w+=/.test(first);
}

/** The script removes itself before anything of it runs; the shell has it open and reads on. */
function launcherScript(file: string, line: string): string {
  return `rm -f -- ${quoteShell(file)}\n${line}\n`;
}

/** One shell word of any text. */
export function quoteShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The text of a single-quoted shell word; other text is returned unchanged. */
export function unquoteShell(word: string): string {
  return word.replace(/^'/, '').replace(/'$/, '').replaceAll("'\\''", "'");
}

/** An empty value means that the variable must not be set in the session. */
function splitEnv(env: Readonly<Record<string, string>>): Pick<Launch, 'env' | 'unsetEnv'> {
  const entries = Object.entries(env);
  return {
    env: Object.fromEntries(entries.filter(([, value]) => value !== '')),
    unsetEnv: entries
      .filter(([, value]) => value === '')
      .map(([key]) => key)
      .sort(),
  };
}

function shellOf(env: Readonly<Record<string, string>>): string {
  return env['SHELL'] ?? '/bin/sh';
}

/** A back end given a missing folder may silently use another one. */
async function assertWorkDir(dir: string): Promise<void> {
  if (dir === '') return;
  const found = await stat(dir).catch(() => undefined);
  if (!found?.isDirectory()) {
    throw new StartFailedError('work-dir-missing', `work dir ${dir} is not a folder`, {
      next: `mkdir -p ${quoteShell(dir)}`,
    });
  }
}
