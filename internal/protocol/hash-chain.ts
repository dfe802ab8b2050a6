import { hash } from 'node:crypto';
import { GcError } from '../platform/errors.ts';
import { canonicalJson, protoJson } from './canonical-json.ts';
import { fastCanonical } from './fast-canonical.ts';
import { type Event, EventSchema } from './generated/agentsessions/v1/common_pb.ts';

/** A record of a log, in memory. Hashes are 64 lowercase hex digits, `prevHash` is '' for the first one. */
export interface ChainedRecord {
  /** From 1, without gaps. */
  readonly seq: number;
  readonly prevHash: string;
  readonly contentHash: string;
  /** The incarnation that appended it; not part of the hash. */
  readonly fence: number;
  readonly event: Event;
}

/**
 * SHA-256 over the canonical JSON of `{event, prev_hash, seq}`. The event must be normalized.
 * Source: agentsessions.v1, canonical encoding, with its published vectors.
 * @throws GcError `not-canonical`
 */
export function contentHash(event: Event, prevHash: string, seq: number): string {
  return chainHash(eventJson(event), prevHash, seq);
}

/** The event's part of what is hashed. @throws GcError `not-canonical` */
export function eventJson(event: Event): string {
  return fastCanonical(EventSchema, event) ?? canonicalJson(protoJson(EventSchema, event));
}

/** `contentHash` of an event whose canonical JSON is known. `prevHash` is hex or ''. */
export function chainHash(json: string, prevHash: string, seq: number): string {
  return hash('sha256', `{"event":${json},"prev_hash":"${prevHash}","seq":"${seq}"}`, 'hex');
}

/** What is wrong with a chain, at the first record where something is. */
export class ChainBrokenError extends GcError {
  readonly seq: number;

  constructor(seq: number, what: string) {
    super('log-corrupt', `record ${seq}: ${what}`, {
      next: 'the log is readable up to the record before; restore the file from a copy, or go on in a new session',
    });
    this.seq = seq;
  }
}

/** Walks records in order and remembers where the chain stands, so that a log may be checked page by page. */
export class ChainWalk {
  #seq = 0;
  #hash = '';

  /** Of the last good record; 0 before the first. */
  get seq(): number {
    return this.#seq;
  }

  get hash(): string {
    return this.#hash;
  }

  /** @throws ChainBrokenError */
  check(record: ChainedRecord): void {
    const { seq, prevHash, event } = record;
    if (seq !== this.#seq + 1) throw new ChainBrokenError(this.#seq + 1, `it is missing: ${seq} follows`);
    if (prevHash !== this.#hash) throw new ChainBrokenError(seq, 'it does not continue the record before it');
    if (contentHash(event, prevHash, seq) !== record.contentHash)
      throw new ChainBrokenError(seq, 'its content does not match its hash');
    this.#seq = seq;
    this.#hash = record.contentHash;
  }
}
