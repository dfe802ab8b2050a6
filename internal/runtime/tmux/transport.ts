import type { Command } from './quote.ts';

/**
 * How commands reach one tmux server. Everything else in this folder sits over this interface, so the control
 * connection and plain commands behave the same.
 */
export interface Transport {
  readonly kind: 'control' | 'plain';
  /** Runs the commands as one group: nothing of somebody else runs in between, and the first failure ends it. Never throws. */
  run(commands: readonly Command[], options?: RunOptions): Promise<Reply>;
  /** The largest argument that `run` carries, bytes; larger data goes through `stdin`. */
  readonly argumentLimit: number;
  /** Lets go of what keeps the server up. The next `run` that may start a server takes it up again. */
  park(): Promise<void>;
  close(): Promise<void>;
}

export interface RunOptions {
  /** Start the server when there is none. Without it a missing server is `no-server`. */
  readonly startServer?: boolean;
  /** Asking twice does no harm: ask again when the connection is lost meanwhile. */
  readonly repeatable?: boolean;
  /** The answer may be large: do not make others wait for it. */
  readonly bulk?: boolean;
  /** Read by a command whose file argument is `-`. */
  readonly stdin?: Uint8Array;
}

export type Reply =
  /** One output per command, without its last newline. */
  | { readonly kind: 'ok'; readonly outputs: readonly string[] }
  /** tmux refused a command; the ones before it ran and gave `outputs`. */
  | { readonly kind: 'refused'; readonly message: string; readonly outputs: readonly string[] }
  /** Proven: nothing listens on the socket. */
  | { readonly kind: 'no-server'; readonly detail: string }
  /** It says nothing about any session: the server did not answer in time, or the answer was lost. */
  | { readonly kind: 'no-answer'; readonly detail: string };

/** What a refusal means. Source: the wordings of tmux 3.2 to 3.5 and of older servers. */
export type Refusal = 'not-found' | 'duplicate' | 'other';

const NOT_FOUND =
  /can't find (session|window|pane)|no such (session|window|pane)|session not found|no current target|no current (session|window|pane)/;

export function classifyRefusal(message: string): Refusal {
  if (/duplicate session/.test(message)) return 'duplicate';
  return NOT_FOUND.test(message) ? 'not-found' : 'other';
}

/** Texts after which the socket itself must be asked whether a server is there. */
const PERHAPS_NO_SERVER =
  /no server running|error connecting to|failed to connect to server|server exited|lost server/;

export function perhapsNoServer(message: string): boolean {
  return PERHAPS_NO_SERVER.test(message);
}

/** A server that gives no answer for this long counts as silent. */
export const DEFAULT_SILENCE_MS = 5_000;
