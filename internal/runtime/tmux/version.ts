import { execFile } from 'node:child_process';
import { codeOf, GcError } from '../../platform/errors.ts';
import type { TmuxServer } from './server.ts';

const VERSION_TIMEOUT_MS = 5_000;
/** 3.2 has `new-session -e`. Major version times 100, plus minor. */
const OLDEST = 302;
/** Before it the server crashes when a pane dies that a control client looks at (tmux issue 2828). */
const OLDEST_CONTROL_MODE = 303;

export interface TmuxVersion {
  /** As the program says it: `3.3a`, `next-3.6`, `master`. */
  readonly text: string;
  readonly supported: boolean;
  /** Its control mode can be used. */
  readonly controlMode: boolean;
}

/** Reads `tmux -V`. A development build without a number counts as new enough. */
export function parseTmuxVersion(output: string): TmuxVersion {
  const text = output.trim().replace(/^tmux\s+/, '');
  const match = /(\d+)\.(\d+)/.exec(text);
  // OpenBSD ships its own numbering with the operating system.
  if (!match || text.startsWith('openbsd')) return { text, supported: text !== '', controlMode: text !== '' };
  const number = Number(match[1]) * 100 + Number(match[2]);
  return { text, supported: number >= OLDEST, controlMode: number >= OLDEST_CONTROL_MODE };
}

/** The version of the program. @throws GcError `tmux-not-found`, `tmux-too-old`, `tmux-broken` */
export async function tmuxVersion(
  server: Pick<TmuxServer, 'tmuxPath' | 'env' | 'onSpawn'>,
): Promise<TmuxVersion> {
  const version = parseTmuxVersion(await askVersion(server));
  if (version.supported) return version;
  throw new GcError('tmux-too-old', `tmux ${version.text} is too old: 3.2 or newer is needed`, {
    next: 'install tmux 3.2 or newer, or set GC_SESSION=subprocess',
  });
}

function askVersion(server: Pick<TmuxServer, 'tmuxPath' | 'env' | 'onSpawn'>): Promise<string> {
  server.onSpawn([server.tmuxPath, '-V']);
  return new Promise((resolve, reject) => {
    execFile(server.tmuxPath, ['-V'], { env: server.env, timeout: VERSION_TIMEOUT_MS }, (error, stdout) => {
      if (!error) return resolve(stdout);
      const missing = codeOf(error) === 'ENOENT';
      const message = missing
        ? `${server.tmuxPath} was not found`
        : `${server.tmuxPath} -V failed: ${error.message}`;
      const next = 'install tmux, or set GC_SESSION=subprocess';
      reject(new GcError(missing ? 'tmux-not-found' : 'tmux-broken', message, { cause: error, next }));
    });
  });
}
