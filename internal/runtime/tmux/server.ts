import { lstatSync } from 'node:fs';
import { createConnection } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { codeOf, messageOf } from '../../platform/errors.ts';
import type { Environment } from '../../platform/paths.ts';

/** Where one tmux server is and how its program is run. */
export interface TmuxServer {
  readonly tmuxPath: string;
  readonly socketName: string;
  /** The environment of every tmux process of ours, and of a server that it starts. */
  readonly env: Readonly<Record<string, string>>;
  /** Told of every process that is about to be started. */
  readonly onSpawn: (argv: readonly string[]) => void;
}

/** A new server and its panes get these from us, and nothing else. */
const SERVER_ENV_NAMES = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'TZ',
  'TMPDIR',
  'TMUX_TMPDIR',
  'XDG_CONFIG_HOME',
  'XDG_RUNTIME_DIR',
] as const;

/** What a pane may have besides its launch: the above, and what tmux itself sets. */
const PANE_ENV_NAMES: ReadonlySet<string> = new Set([
  ...SERVER_ENV_NAMES,
  'COLORTERM',
  'PWD',
  'TERM',
  'TERM_PROGRAM',
  'TERM_PROGRAM_VERSION',
  'TMUX',
  'TMUX_PANE',
]);

const PROBE_TIMEOUT_MS = 1_000;

export function serverEnvironment(env: Environment): Readonly<Record<string, string>> {
  const kept = SERVER_ENV_NAMES.flatMap((name) => {
    const value = env[name];
    return value === undefined || value === '' ? [] : [[name, value] as const];
  });
  return Object.fromEntries(kept);
}

/** Names in the output of `show-environment -g` that a pane must not inherit. */
export function leakedNames(globalEnvironment: string): readonly string[] {
  return namesIn(globalEnvironment).filter((name) => !PANE_ENV_NAMES.has(name));
}

/** The variable names in the output of `show-environment`; a line of a longer value may count as one more. */
export function namesIn(environment: string): readonly string[] {
  return environment.split('\n').flatMap((line) => /^([A-Za-z_][A-Za-z0-9_]*)=/.exec(line)?.[1] ?? []);
}

/** The words before a command: the order `-u -L SOCKET` is the one that Gas City's scripts and tests know. */
export function serverFlags(server: TmuxServer, startServer: boolean): readonly string[] {
  return ['-u', '-L', server.socketName, ...(startServer ? [] : ['-N'])];
}

/** The path of the server's socket. Source: tmux(1), `-L`. */
export function serverSocketPath(server: Pick<TmuxServer, 'socketName' | 'env'>): string {
  return join(server.env['TMUX_TMPDIR'] || '/tmp', `tmux-${userInfo().uid}`, server.socketName);
}

/** Whether a server is there, from facts alone: does anything accept connections on the socket? */
export type ServerFact =
  | { readonly kind: 'listening' }
  | { readonly kind: 'absent'; readonly detail: string }
  | { readonly kind: 'unknown'; readonly detail: string };

export function socketFileExists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

export function probeServer(path: string): Promise<ServerFact> {
  return new Promise((resolve) => {
    const socket = createConnection({ path });
    const finish = (fact: ServerFact) => {
      socket.destroy();
      resolve(fact);
    };
    socket.setTimeout(PROBE_TIMEOUT_MS, () => finish({ kind: 'unknown', detail: `${path} does not accept` }));
    socket.once('connect', () => finish({ kind: 'listening' }));
    socket.once('error', (error) => {
      const code = codeOf(error);
      const absent = code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTSOCK';
      finish({ kind: absent ? 'absent' : 'unknown', detail: messageOf(error) });
    });
  });
}
