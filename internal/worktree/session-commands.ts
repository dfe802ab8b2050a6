import { WorktreeError } from './errors.ts';
import { commandEnvironment } from './git.ts';
import type { PortBlock } from './registry.ts';
import { type CommandResult, runCommand } from './run-command.ts';

/** Each set-up or archive command may take this long: installing a project's packages does. */
export const WORKTREE_COMMAND_TIMEOUT_MS = 10 * 60_000;

export interface CommandPlace {
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Where a session is, for itself and for the commands around it. */
export function placeVariables(
  path: string,
  branch: string,
  ports: PortBlock | undefined,
): Readonly<Record<string, string>> {
  return {
    GC_WORKTREE: path,
    GC_BRANCH: branch,
    ...(ports ? { GC_PORT: String(ports.first), GC_PORT_COUNT: String(ports.count) } : {}),
  };
}

/**
 * Runs `commands` in order; the first that fails ends it.
 * @throws WorktreeError with the command, how it ended and its last lines
 */
export async function runCommands(
  key: 'setup' | 'archive',
  commands: readonly string[],
  place: CommandPlace,
): Promise<void> {
  for (const [index, command] of commands.entries()) {
    const result = await runCommand({
      file: '/bin/sh',
      args: ['-c', command],
      cwd: place.path,
      env: commandEnvironment(place.env),
      timeoutMs: place.timeoutMs,
      maxOutput: 0,
      signal: place.signal,
    });
    if (!result.ok) throw commandFailed(key, index, command, result);
  }
}

function commandFailed(
  key: 'setup' | 'archive',
  index: number,
  command: string,
  result: CommandResult,
): WorktreeError {
  const said = result.tail === '' ? '' : `: ${result.tail.split('\n').at(-1)}`;
  return new WorktreeError(
    `worktree-${key}-failed`,
    `worktree.${key}[${index}] (${command}) failed: ${result.how}${said}`,
    { lastLines: result.tail },
  );
}
