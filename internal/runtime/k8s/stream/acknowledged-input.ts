import { GcError } from '../../../platform/errors.ts';
import type { AttachedContainer } from '../channel/open-attach.ts';

/** Handed over before the cluster's word that it was read. */
const TURN_BYTES = 65_536;

interface Sent {
  readonly memory: ArrayBufferLike;
  readonly offset: number;
  readonly length: number;
  state: 'sent' | 'read' | 'cut';
}

/**
 * Input on its way through connections that may break. Bytes count as taken once the API server said that it has read
 * them. What was sent and not acknowledged when the connection broke may have been typed or not: it is given back as an
 * error and never sent a second time.
 */
export class AcknowledgedInput {
  #attached: AttachedContainer | undefined;
  #sent: Sent | undefined;

  /** A connection stands; `undefined`: it broke. */
  connect(attached: AttachedContainer | undefined): void {
    this.#attached = attached;
    if (this.#sent?.state === 'sent') this.#sent.state = 'cut';
  }

  /** As `AgentProcess.writeSome`; the caller comes back with the same bytes while the answer is 0. @throws GcError `input-cut` */
  writeSome(bytes: Buffer): number {
    const sent = this.#sent;
    if (sent && isSame(sent, bytes)) return this.#outcomeOf(sent);
    // The caller has given up what was sent before.
    this.#sent = undefined;
    if (this.#attached) this.#send(this.#attached, bytes.subarray(0, TURN_BYTES));
    return 0;
  }

  #outcomeOf(sent: Sent): number {
    if (sent.state === 'sent') return 0;
    this.#sent = undefined;
    if (sent.state === 'read') return sent.length;
    throw new GcError(
      'input-cut',
      'the connection to the pod broke while it was typed: it may have arrived, in part or whole',
      { next: 'look at the session before it is sent again' },
    );
  }

  #send(attached: AttachedContainer, bytes: Buffer): void {
    const sent: Sent = {
      memory: bytes.buffer,
      offset: bytes.byteOffset,
      length: bytes.length,
      state: 'sent',
    };
    this.#sent = sent;
    attached.write(bytes);
    attached.acknowledged().then((read) => {
      if (sent.state === 'sent') sent.state = read ? 'read' : 'cut';
    });
  }
}

const isSame = (sent: Sent, bytes: Buffer): boolean =>
  sent.memory === bytes.buffer && sent.offset === bytes.byteOffset && bytes.length >= sent.length;
