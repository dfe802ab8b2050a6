import { realpathSync } from 'node:fs';
import type { Environment } from '../../platform/paths.ts';
import type { AttachPlan } from '../provider.ts';
import { exactSession } from './ownership.ts';
import { literalInFormat } from './quote.ts';
import { serverSocketPath, type TmuxServer } from './server.ts';

/** How long a person sees how to leave. */
const HINT_MS = 6_000;

/** What the server says about its keys: the prefix, and the table that follows it. */
export interface ServerKeys {
  /** `C-b`. */
  readonly prefix: string;
  /** Output of `list-keys -T prefix`. */
  readonly bindings: string;
}

/**
 * How a person's terminal is connected. Inside the same server the client switches; inside another one it nests on
 * purpose, which tmux allows only with TMUX empty. `callerEnv` is the environment of the person's own program.
 */
export function attachPlan(
  server: TmuxServer,
  name: string,
  callerEnv: Environment,
  keys: ServerKeys,
): AttachPlan {
  const outer = callerEnv['TMUX'] || undefined;
  const sameServer = outer !== undefined && samePath(outer.split(',')[0] ?? '', serverSocketPath(server));
  const head = [server.tmuxPath, '-u', '-L', server.socketName];
  const env = definedValues(callerEnv);
  const prefix = keyForPeople(keys.prefix);
  if (sameServer) {
    const back = boundKey(keys.bindings, /^switch-client -l$/) ?? 'L';
    return {
      kind: 'spawn',
      argv: [...head, 'switch-client', '-t', exactSession(name)],
      env,
      leave: `${prefix} ${back} (back to your session)`,
    };
  }
  const detach = boundKey(keys.bindings, /^detach-client$/) ?? 'd';
  const leave =
    outer === undefined ? `${prefix} ${detach}` : `${prefix} ${prefix} ${detach} (tmux inside tmux)`;
  // What is printed before vanishes with the screen: it stands in the status line for a while.
  const hint = ['display-message', '-d', String(HINT_MS), literalInFormat(`leave with ${leave}`)];
  return {
    kind: 'spawn',
    argv: [...head, 'attach-session', '-t', exactSession(name), ';', ...hint],
    env: outer === undefined ? env : { ...env, TMUX: '' },
    leave,
  };
}

/** The first key of the prefix table that runs exactly such a command. */
function boundKey(bindings: string, command: RegExp): string | undefined {
  for (const line of bindings.split('\n')) {
    const match = /^bind-key\s+(?:-r\s+)?-T\s+prefix\s+(\S+)\s+(.*)$/.exec(line);
    if (match && command.test((match[2] ?? '').trim()))
      return keyForPeople((match[1] ?? '').replace(/^\\/, ''));
  }
  return undefined;
}

/** `C-b` as `Ctrl-b`, `M-x` as `Alt-x`. */
function keyForPeople(key: string): string {
  return key.replace(/^(C-|\^)/, 'Ctrl-').replace(/^M-/, 'Alt-');
}

function samePath(a: string, b: string): boolean {
  return realPath(a) === realPath(b);
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // a socket that is gone is compared by its name
  }
}

function definedValues(env: Environment): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}
