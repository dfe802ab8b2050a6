import { textOf } from '../../../internal/protocol/events.ts';
import {
  EventKind,
  type LogRecord,
} from '../../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import type { ExecUpdate } from '../../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import { plainText } from '../output/plain.ts';
import { wireRecordLine } from './record-text.ts';

/** The updates of one turn as text: a line per record, what is being said as it is said. */
export class ExecText {
  /** A person does not want to read the answer twice; a script finds it in its record. */
  readonly #once: boolean;
  #spoken = '';
  #midLine = false;

  constructor(once: boolean) {
    this.#once = once;
  }

  update({ update }: ExecUpdate): string {
    switch (update.case) {
      case 'record':
        return this.end() + this.#record(update.value);
      case 'delta': {
        const { chunk, done } = update.value;
        this.#spoken += chunk;
        const text = plainText(chunk);
        if (text !== '') this.#midLine = !text.endsWith('\n');
        return text + (done ? this.end() : '');
      }
      default:
        return '';
    }
  }

  /** Ends the line that is being said, if any. */
  end(): string {
    const text = this.#midLine ? '\n' : '';
    this.#midLine = false;
    return text;
  }

  #record(record: LogRecord): string {
    const { event } = record;
    if (event?.kind !== EventKind.EVENT_OUTPUT || event.body.case !== 'message')
      return wireRecordLine(record);
    const heard = this.#once && this.#spoken !== '' && textOf(event.body.value) === this.#spoken;
    this.#spoken = '';
    return wireRecordLine(record, heard ? 'no-text' : 'text');
  }
}
