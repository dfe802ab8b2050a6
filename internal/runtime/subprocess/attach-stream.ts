import { ATTACH_RESET } from '../host/attach-text.ts';
import type { HostMessage } from '../host/protocol.ts';
import type { AttachStream, TerminalSize } from '../provider.ts';
import { type HostAddress, HostLink } from './host-link.ts';

/** Output that the person's terminal has not taken yet, before the host is held back. */
const HOLD_BACK_BYTES = 262_144;
const INPUT_PIECE_BYTES = 32_768;

/** Connects a person's terminal to a session. @throws SessionNotFoundError, RuntimeUnavailableError, GcError `session-ended` */
export async function openAttachStream(
  address: HostAddress,
  name: string,
  size: TerminalSize,
): Promise<AttachStream> {
  const output = new OutputQueue();
  let onFirst: (failure?: Error) => void = () => undefined;
  const first = new Promise<void>((resolve, reject) => {
    onFirst = (failure) => (failure ? reject(failure) : resolve());
  });
  const link = await HostLink.open(address, {
    onMessage: (message: HostMessage) => {
      if (message.t === 'ended') output.end();
      if (message.t !== 'output') return;
      onFirst();
      if (output.push(Buffer.from(message.data, 'base64')) > HOLD_BACK_BYTES) link.socket.pause();
    },
    onClose: (reason) => {
      onFirst(reason);
      output.end();
    },
  });
  output.onRoom = () => link.socket.resume();
  link.send({ t: 'attach', name, size });
  await first;
  return {
    output,
    write(bytes) {
      for (let from = 0; from < bytes.length; from += INPUT_PIECE_BYTES) {
        const piece = Buffer.from(bytes.subarray(from, from + INPUT_PIECE_BYTES));
        link.send({ t: 'input', data: piece.toString('base64') });
      }
    },
    resize: (next) => {
      link.send({ t: 'resize', size: next });
    },
    close: () => {
      output.end();
      link.socket.destroy();
    },
  };
}

/** Output on its way to a terminal; its last piece brings the terminal back to plain behaviour. */
class OutputQueue implements AsyncIterable<Uint8Array> {
  onRoom: () => void = () => undefined;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #ended = false;
  #wake: () => void = () => undefined;

  /** Answers how many bytes wait. */
  push(piece: Buffer): number {
    if (this.#ended) return 0;
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    this.#wake();
    return this.#bytes;
  }

  end(): void {
    if (this.#ended) return;
    this.push(Buffer.from(ATTACH_RESET));
    this.#ended = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece) {
        this.#bytes -= piece.length;
        if (this.#bytes <= HOLD_BACK_BYTES) this.onRoom();
        yield piece;
      } else if (this.#ended) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
