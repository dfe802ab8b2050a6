import type { Clock } from '../../internal/platform/clock.ts';
import type { Environment } from '../../internal/platform/paths.ts';
import type { GroupSpec } from './cli/spec.ts';
import type { Style } from './output/style.ts';

/** One of the two streams that a command writes to. After the reader has gone, writes do nothing. */
export interface Sink {
  readonly isTTY: boolean;
  /** Width of the terminal; 80 when it is none. */
  readonly columns: number;
  write(text: string | Uint8Array): void;
  /** Resolves when everything written has left the process, or the reader has gone. */
  flush(): Promise<void>;
  /** The reader has closed it. */
  readonly gone: boolean;
  readonly style: Style;
}

/** Everything that a command may touch of the process it runs in. */
export interface Context {
  readonly env: Environment;
  readonly cwd: string;
  readonly out: Sink;
  readonly err: Sink;
  readonly clock: Clock;
  /** Aborts at Ctrl-C, TERM, or when nobody reads stdout any more. */
  readonly signal: AbortSignal;
  /** `--city`. */
  readonly cityOption: string | undefined;
  /** `--json`. */
  readonly json: boolean;
  /** Every command of the program: help and completion are made from it. */
  readonly commands: readonly GroupSpec[];
  /** How the person types the program's name: `gc` or `npx gc`. */
  readonly gc: string;
  /** How this program is started again: executable and its first arguments. */
  readonly self: readonly string[];
  /** Whether a person can be asked: stdin is a terminal. */
  readonly stdinIsTTY: () => boolean;
  /** All of stdin. */
  readStdin(): Promise<string>;
}
