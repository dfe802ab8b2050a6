import { GcError } from '../../../platform/errors.ts';
import { isFields } from '../../../platform/fields.ts';
import type { TerminalSize } from '../../provider.ts';

/**
 * What exec and attach say on one WebSocket: each message is a channel's number and that channel's bytes.
 * Source: Kubernetes remote command protocol, `v4.channel.k8s.io` and `v5.channel.k8s.io`.
 */
export const PROTOCOL_5 = 'v5.channel.k8s.io';
export const PROTOCOL_4 = 'v4.channel.k8s.io';
/** In the order of our liking: only the newer one can tell that the input is over. */
export const PROTOCOLS: readonly string[] = [PROTOCOL_5, PROTOCOL_4];

export const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const STATUS = 3;
const RESIZE = 4;
const CLOSE = 255;

export type ServerFrame =
  | { readonly kind: 'stdout' | 'stderr'; readonly bytes: Buffer }
  | { readonly kind: 'status'; readonly bytes: Buffer }
  /** The other side will send nothing more on that channel. */
  | { readonly kind: 'closed'; readonly channel: number }
  /** Says nothing: the empty messages at the beginning, and channels that we did not ask for. */
  | { readonly kind: 'nothing' };

export function parseFrame(message: Buffer): ServerFrame {
  const bytes = message.subarray(1);
  if (bytes.length === 0) return { kind: 'nothing' };
  switch (message[0]) {
    case STDOUT:
      return { kind: 'stdout', bytes };
    case STDERR:
      return { kind: 'stderr', bytes };
    case STATUS:
      return { kind: 'status', bytes };
    case CLOSE:
      return { kind: 'closed', channel: bytes[0] ?? 0 };
    default:
      return { kind: 'nothing' };
  }
}

export function stdinFrame(bytes: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(bytes.length + 1);
  frame[0] = STDIN;
  frame.set(bytes, 1);
  return frame;
}

export const endOfStdinFrame = (): Buffer => Buffer.from([CLOSE, STDIN]);

export function resizeFrame(size: TerminalSize): Buffer {
  const text = JSON.stringify({ Width: size.columns, Height: size.rows });
  return Buffer.concat([Buffer.from([RESIZE]), Buffer.from(text)]);
}

/** How a remote command ended. */
export type RemoteExit =
  | { readonly kind: 'exited'; readonly code: number }
  /** It was not run, or not to its end; the words are the cluster's. */
  | { readonly kind: 'failed'; readonly reason: string; readonly message: string };

/** The status that ends every command. @throws GcError `k8s-bad-status` for one that cannot be read: never taken for success */
export function readStatus(bytes: Buffer): RemoteExit {
  const text = bytes.toString('utf8');
  const status = parsed(text);
  if (status?.['status'] === 'Success') return { kind: 'exited', code: 0 };
  if (status?.['status'] !== 'Failure') {
    throw new GcError('k8s-bad-status', `the cluster sent an unreadable status: ${text.slice(0, 200)}`);
  }
  const message = typeof status['message'] === 'string' ? status['message'] : 'no message';
  const reason = typeof status['reason'] === 'string' ? status['reason'] : '';
  const code = reason === 'NonZeroExitCode' ? exitCodeOf(status['details']) : undefined;
  return code === undefined ? { kind: 'failed', reason, message } : { kind: 'exited', code };
}

function exitCodeOf(details: unknown): number | undefined {
  const causes = isFields(details) && Array.isArray(details['causes']) ? details['causes'] : [];
  const cause: unknown = causes.find((each) => isFields(each) && each['reason'] === 'ExitCode');
  if (!isFields(cause) || typeof cause['message'] !== 'string') return undefined;
  return /^\d{1,3}$/.test(cause['message']) ? Number(cause['message']) : undefined;
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
