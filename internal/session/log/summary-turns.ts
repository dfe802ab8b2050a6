import { type Event, EventKind } from '../../protocol/generated/agentsessions/v1/common_pb.ts';

/** Counts turns: executions by their ids, and by their ends in the logs of old hosts, which had no ids. */
export class TurnCount {
  readonly #seen = new Set<string>();
  #withoutId = 0;

  add({ executionId, kind }: Event): void {
    if (executionId !== '') this.#seen.add(executionId);
    else if (kind === EventKind.EVENT_END) this.#withoutId += 1;
  }

  get turns(): number {
    return this.#seen.size + this.#withoutId;
  }
}
