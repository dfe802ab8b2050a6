import { createHash } from 'node:crypto';
import { canonicalJson, protoJson } from '../../protocol/canonical-json.ts';
import { EventKind, EventSchema, type Message } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { invalidLog } from './gate-grammar.ts';

/** A part of a log whose records have no execution ids, run as one turn. */
export interface LegacyTurn {
  /** The record that the turn is named after. */
  readonly anchor: ChainedRecord;
  readonly inputs: readonly Message[];
  /** Without usage. */
  readonly effects: readonly ChainedRecord[];
}

export interface LegacyView {
  /** Everything, or up to the last end when turns with ids follow. Empty when only the latest is kept. */
  readonly records: readonly ChainedRecord[];
  readonly endedRecords: readonly ChainedRecord[];
  /** From the last input on, when neither end nor error follows it. */
  readonly unfinished: readonly ChainedRecord[];
}

/** Source: agentsessions.v1, journals without execution ids. */
export class LegacyScan {
  readonly #keepAll: boolean;
  #records: ChainedRecord[] = [];
  #ended = 0;
  #tail: ChainedRecord[] = [];
  #isOpen = true;
  #isFinished = true;

  constructor(keepAll: boolean) {
    this.#keepAll = keepAll;
  }

  /** Whether its newest record is neither an end nor an error. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  add(record: ChainedRecord): void {
    const { kind } = record.event;
    if (NEVER_LEGACY.has(kind)) invalidLog(record.seq, 'it has no execution id, which its kind needs');
    const isTerminal = kind === EventKind.EVENT_END || kind === EventKind.EVENT_ERROR;
    this.#isOpen = !isTerminal;
    if (this.#keepAll) this.#records.push(record);
    if (kind === EventKind.EVENT_END) this.#ended = this.#records.length;
    if (kind === EventKind.EVENT_INPUT) {
      this.#tail = [];
      this.#isFinished = false;
    }
    if (isTerminal) this.#isFinished = true;
    this.#tail.push(record);
  }

  view(): LegacyView {
    return {
      records: [...this.#records],
      endedRecords: this.#records.slice(0, this.#ended),
      unfinished: this.#isFinished ? [] : [...this.#tail],
    };
  }
}

/** @returns undefined when there is nothing to run */
export function legacyTurn(records: readonly ChainedRecord[]): LegacyTurn | undefined {
  const anchor = records[0];
  if (!anchor) return undefined;
  const inputs: Message[] = [];
  const effects: ChainedRecord[] = [];
  for (const record of records) {
    const { kind, body } = record.event;
    if (kind === EventKind.EVENT_INPUT && body.case === 'message') inputs.push(body.value);
    else if (LEGACY_EFFECTS.has(kind)) effects.push(record);
  }
  return { anchor, inputs, effects };
}

/** The id that a harness gets for a turn that has none; it never goes into the log. */
export function legacyExecutionId(uid: string, anchor: ChainedRecord): string {
  const event = canonicalJson(protoJson(EventSchema, anchor.event));
  const text = `{"session_uid":${JSON.stringify(uid)},"seq":"${anchor.seq}","event":${event}}`;
  return `legacy-${createHash('sha256').update(text, 'utf8').digest('hex')}`;
}

const NEVER_LEGACY: ReadonlySet<EventKind> = new Set([
  EventKind.EVENT_EXECUTION_START,
  EventKind.EVENT_APPROVAL_REQUEST,
  EventKind.EVENT_APPROVAL_RESULT,
]);

const LEGACY_EFFECTS: ReadonlySet<EventKind> = new Set([
  EventKind.EVENT_MODEL_CALL,
  EventKind.EVENT_OUTPUT,
  EventKind.EVENT_TOOL_CALL,
  EventKind.EVENT_TOOL_RESULT,
]);
