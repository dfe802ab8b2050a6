import { statSync } from 'node:fs';
import { GcError, messageOf } from '../../platform/errors.ts';
import { SessionExistsError, StartFailedError } from '../errors.ts';
import type { Launch } from '../terminal/backend.ts';
import { lookup, type TmuxContext, unavailable } from './context.ts';
import { exactTarget, OWNER_OPTION, ownerStamp, PANE_OPTION, SESSION_OPTION } from './ownership.ts';
import { type Command, literalInFormat } from './quote.ts';
import { DEAD_PANE_FORMAT } from './screen.ts';
import { leakedNames } from './server.ts';
import { classifyRefusal, type Reply } from './transport.ts';

/** Ending the last other session can end the server just as a new one is asked for. */
const SERVER_RESTART_PAUSE_MS = 50;
const SERVER_START_ATTEMPTS = 4;
/** The kernel refuses one argument or variable beyond this. */
const ARGUMENT_LIMIT_BYTES = 131_071;
/** It replaces itself by the program, reports one that it cannot run, and can take variables away. */
const ENV_PROGRAM = '/usr/bin/env';

/** Creates one stamped session. @throws SessionExistsError, StartFailedError, RuntimeUnavailableError, the signal's reason */
export async function createSession(
  context: TmuxContext,
  name: string,
  launch: Launch,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  checkLaunch(launch);
  const leaked = await globalNames(context);
  signal.throwIfAborted();
  const group = creationGroup(context, name, launch, leaked);
  const reply = await runStartingServer(context, group);
  if (reply.kind === 'ok' && !signal.aborted) return;
  await removeHalfMade(context, reply);
  signal.throwIfAborted();
  throw await failure(context, name, reply);
}

/** Starts the server where there is none, to see what its configuration would lend to panes. */
async function globalNames(context: TmuxContext): Promise<readonly string[]> {
  const reply = await runStartingServer(context, [['start-server'], ['show-environment', '-g']]);
  switch (reply.kind) {
    case 'ok':
      return leakedNames(reply.outputs[1] ?? '');
    case 'refused':
      throw new StartFailedError('tmux-refused', `tmux refused: ${reply.message}`);
    case 'no-server':
      throw new StartFailedError('tmux-server', `the tmux server could not be started: ${reply.detail}`, {
        next: `tmux -L ${context.server.socketName} new-session`,
      });
    case 'no-answer':
      throw unavailable(context, reply.detail);
  }
}

/** Asks again while a server that just lost its last session is on its way out. */
async function runStartingServer(context: TmuxContext, group: readonly Command[]): Promise<Reply> {
  for (let attempt = 1; ; attempt += 1) {
    const reply = await context.transport.run(group, { startServer: true });
    if (reply.kind !== 'no-server' || attempt === SERVER_START_ATTEMPTS) return reply;
    await context.clock.sleep(SERVER_RESTART_PAUSE_MS);
  }
}

function creationGroup(
  context: TmuxContext,
  name: string,
  launch: Launch,
  leaked: readonly string[],
): readonly Command[] {
  const unset = new Set([...leaked.filter((key) => launch.env[key] === undefined), ...launch.unsetEnv]);
  const given = Object.entries(launch.env).filter(([key]) => !unset.has(key));
  const token = launch.env['GC_INSTANCE_TOKEN'] ?? '';
  const stamp = ownerStamp(context.city, /^[A-Za-z0-9_.-]+$/.test(token) ? token : context.ids.hex(8));
  const target = exactTarget(name);
  const create = [
    'new-session',
    ...['-d', '-E', '-P', '-F', '#{pane_id}', '-s', name],
    ...['-x', String(launch.columns), '-y', String(launch.rows)],
    ...['-c', literalInFormat(launch.cwd || homeOf(context))],
    ...given.flatMap(([key, value]) => ['-e', `${key}=${value}`]),
    '--',
    ENV_PROGRAM,
    ...[...unset].sort().flatMap((key) => ['-u', key]),
    ...programWords(launch.argv),
  ];
  return [
    create,
    // On the pane, not the window: a person's split beside it closes as it always does.
    ['set-option', '-p', '-t', target, 'remain-on-exit', 'on'],
    ['set-option', '-p', '-q', '-t', target, 'remain-on-exit-format', DEAD_PANE_FORMAT],
    ['set-option', '-t', target, OWNER_OPTION, stamp],
    ['set-option', '-F', '-t', target, SESSION_OPTION, '#{session_id}'],
    ['set-option', '-F', '-t', target, PANE_OPTION, '#{pane_id}'],
    ['set-option', '-t', target, 'destroy-unattached', 'off'],
    // A person who attaches must not change the session's environment, which is our metadata.
    ['set-option', '-t', target, 'update-environment', ''],
    ['set-option', '-w', '-t', target, 'window-size', 'latest'],
    // Stray mouse bytes made agents report an interruption.
    ['set-option', '-t', target, 'mouse', 'off'],
    ['set-option', '-w', '-t', target, 'monitor-activity', 'off'],
    // Fewer notifications, see ControlClient; nobody needs the names.
    ['set-option', '-w', '-t', target, 'automatic-rename', 'off'],
  ];
}

/** `env` takes a first word with `=` for a variable. */
function programWords(argv: readonly string[]): readonly string[] {
  return argv[0]?.includes('=') ? ['/bin/sh', '-c', 'exec "$@"', 'sh', ...argv] : argv;
}

function checkLaunch(launch: Launch): void {
  if (launch.argv.length === 0) throw new StartFailedError('no-command', 'there is no command to start');
  if (launch.cwd !== '' && !isDirectory(launch.cwd)) {
    throw new StartFailedError('work-dir-missing', `work_dir ${launch.cwd} is not a directory`, {
      next: `mkdir -p ${launch.cwd}`,
    });
  }
  const words = [...launch.argv, ...Object.entries(launch.env).map(([key, value]) => `${key}=${value}`)];
  for (const word of words) {
    if (word.includes('\0'))
      throw new StartFailedError('tmux-argument', 'a command or variable holds a NUL character');
    const bytes = Buffer.byteLength(word);
    if (bytes > ARGUMENT_LIMIT_BYTES) {
      throw new StartFailedError(
        'argument-too-long',
        `one argument or variable has ${bytes} bytes, the system allows ${ARGUMENT_LIMIT_BYTES}: "${word.slice(0, 40)}..."`,
      );
    }
  }
}

function homeOf(context: TmuxContext): string {
  return context.server.env['HOME'] ?? '/';
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // missing or not readable: both are told as "not a directory"
  }
}

/** The pane id is the proof that the session is the one just made, and not somebody else's of that name. */
async function removeHalfMade(context: TmuxContext, reply: Reply): Promise<void> {
  const made = reply.kind === 'ok' || reply.kind === 'refused' ? reply.outputs[0] : undefined;
  if (made && /^%\d+$/.test(made)) await context.transport.run([['kill-pane', '-t', made]]);
}

async function failure(context: TmuxContext, name: string, reply: Reply): Promise<Error> {
  switch (reply.kind) {
    case 'refused': {
      if (classifyRefusal(reply.message) !== 'duplicate') {
        return new StartFailedError('tmux-refused', `creating session "${name}": ${reply.message}`);
      }
      const found = await lookup(context, name);
      const foreign = found.kind === 'absent';
      return new SessionExistsError(
        name,
        foreign ? ` (on tmux socket "${context.server.socketName}", not made by this city)` : '',
      );
    }
    case 'no-server':
      return new StartFailedError(
        'tmux-server',
        `the tmux server ended while session "${name}" was made: ${reply.detail}`,
      );
    case 'no-answer':
      return unavailable(context, reply.detail);
    case 'ok':
      return new GcError(
        'internal',
        `session "${name}" was made and is reported as failed: ${messageOf(reply)}`,
      );
  }
}
