import type { Clock } from '../../../platform/clock.ts';
import { messageOf } from '../../../platform/errors.ts';
import type { TerminalSize } from '../../provider.ts';
import type { ClusterAccess } from '../api/cluster-access.ts';
import type { PodContainer } from './channel-errors.ts';
import { readStatus, resizeFrame, type ServerFrame, stdinFrame } from './channel-frames.ts';
import { type ChannelSocket, openChannel } from './channel-socket.ts';

export interface AttachHandlers {
  /** What the container's terminal shows from now on; nothing of before. */
  onOutput(bytes: Buffer): void;
  /** Called once. The connection is over, with the reason in words; whether the container is, must be asked. */
  onEnd(why: string): void;
}

/** A connection to the terminal of a container that runs already. */
export interface AttachedContainer {
  readonly waitingBytes: number;
  /** Hands input to the connection. */
  write(bytes: Uint8Array): void;
  /** Resolves `true` when the API server has read what was written, `false` when the connection ended before it said so. */
  acknowledged(): Promise<boolean>;
  resize(size: TerminalSize): void;
  pause(): void;
  resume(): void;
  /** Ends the connection; the container is not touched, and `onEnd` is not called any more. */
  close(): void;
}

/** @throws as `openChannel` */
export async function openAttach(
  access: ClusterAccess,
  target: PodContainer,
  handlers: AttachHandlers,
  clock: Clock,
  signal: AbortSignal,
): Promise<AttachedContainer> {
  let over = false;
  let status = '';
  const query = [
    ['stdin', 'true'],
    ['stdout', 'true'],
    // A terminal has one output only.
    ['stderr', 'false'],
    ['tty', 'true'],
  ] as const;
  const onFrame = (frame: ServerFrame) => {
    if (over) return;
    if (frame.kind === 'stdout' || frame.kind === 'stderr') handlers.onOutput(frame.bytes);
    if (frame.kind === 'status') status = describeStatus(frame.bytes);
  };
  const onEnd = (why: string | undefined) => {
    if (over) return;
    over = true;
    handlers.onEnd(status || why || 'the cluster closed it');
  };
  const socket = await openChannel(
    { access, target, verb: 'attach', query, clock, signal },
    { onFrame, onEnd },
  );
  return attached(socket, () => {
    over = true;
    socket.close();
  });
}

function attached(socket: ChannelSocket, close: () => void): AttachedContainer {
  return {
    get waitingBytes() {
      return socket.waitingBytes;
    },
    write: (bytes) => void socket.send(stdinFrame(bytes)),
    acknowledged: () => socket.acknowledged(),
    resize: (size) => void socket.send(resizeFrame(size)),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close,
  };
}

function describeStatus(bytes: Buffer): string {
  try {
    const exit = readStatus(bytes);
    return exit.kind === 'exited' ? `its program ended (${exit.code})` : exit.message;
  } catch (error) {
    return messageOf(error);
  }
}
