import {
  cityFactOf,
  event,
  executionEnd,
  executionStart,
  input,
  output,
  textMessage,
  textOf,
  toolCall,
  toolResult,
} from '../../../../protocol/events.ts';
import { type Event, EventKind } from '../../../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { HarnessSink, HarnessStart } from '../../harness.ts';
import { textOfParts } from '../recorded.ts';

export const SESSION = 'sess-000000000000000000000001';

/** Keeps what a harness records, as the events that a log would hold. */
export class RecordingSink implements HarnessSink {
  readonly events: Event[] = [];
  readonly deltas: string[] = [];
  readonly #execution: string;
  readonly #seen: (event: Event) => void;

  constructor(execution = 'e1', seen: (event: Event) => void = () => undefined) {
    this.#execution = execution;
    this.#seen = seen;
  }

  model = (): Promise<never> => Promise.reject(new Error('not for a harness that acts by itself'));
  toolCall = (): Promise<never> => Promise.reject(new Error('not for a harness that acts by itself'));
  output: HarnessSink['output'] = async (message) => this.#add(output(this.#execution, message));
  report: HarnessSink['report'] = async (result) => this.#add(toolResult(this.#execution, result));
  observed: HarnessSink['observed'] = async (call) => this.#add(toolCall(this.#execution, call));
  fact: HarnessSink['fact'] = async (fact) => this.#add(fact);
  usage: HarnessSink['usage'] = async (usage) =>
    this.#add(event(this.#execution, EventKind.EVENT_USAGE, { case: 'usage', value: usage }));
  delta: HarnessSink['delta'] = (chunk) => void this.deltas.push(chunk);

  /** One short line per event. */
  get told(): readonly string[] {
    return told(this.events);
  }

  #add(added: Event): void {
    this.events.push(added);
    this.#seen(added);
  }
}

export function told(events: readonly Event[]): readonly string[] {
  return events.flatMap(({ kind, body }) => {
    switch (body.case) {
      case 'message':
        return kind === EventKind.EVENT_OUTPUT ? [`says ${textOf(body.value) || '(data)'}`] : [];
      case 'tool':
        return [`calls ${body.value.tool} ${JSON.stringify(body.value.args)}`];
      case 'result':
        return [`${body.value.isError ? 'fails' : 'gets'} ${textOfParts(body.value.content)}`];
      case 'usage':
        return [`uses ${body.value.inputTokens} ${body.value.outputTokens}`];
      default:
        return [];
    }
  });
}

export interface Native {
  readonly session: string;
  readonly conversation: string;
  readonly state: string;
  readonly message: string;
}

export function nativesIn(events: readonly Event[]): readonly Native[] {
  return events.flatMap((found) => {
    const native = cityFactOf(found)?.['native'];
    return native === undefined ? [] : [native as unknown as Native];
  });
}

export function startOf(text: string, more: Partial<HarnessStart> = {}): HarnessStart {
  return {
    session: SESSION,
    executionId: 'e1',
    inputs: [textMessage('user', text)],
    config: new Uint8Array(),
    resumeFromSeq: 0n,
    history: [],
    recorded: [],
    ...more,
  };
}

/** A finished turn as it stands in a log. */
export function turnOf(execution: string, text: string, events: readonly Event[]): readonly Event[] {
  return [
    executionStart(execution, { inputCount: 1, harness: 'coder' }),
    input(execution, textMessage('user', text)),
    ...events,
    executionEnd(execution),
  ];
}
