import type {
  TraceApi,
  TraceArm,
  TraceArmed,
  TraceDisarm,
  TraceFilter,
  TraceRecord,
  TraceStatus,
} from '../../../controller/trace-api.ts';
import { GcError } from '../../../platform/errors.ts';

const ARMED_AT = '2026-01-01T00:00:00Z';

/** A trace in memory; it knows the agents `mayor` and `worker`, and remembers what it was asked. */
export class TraceDouble implements TraceApi {
  arms: readonly TraceArmed[] = [];
  readonly asked: TraceFilter[] = [];
  /** What `records` finds; those after `after_seq`. */
  written: readonly TraceRecord[] = [
    aTraceRecord(1),
    aTraceRecord(2, { session: 'mayor', type: 'decision' }),
  ];

  async arm({ template, for_ms, level, source }: TraceArm): Promise<TraceStatus> {
    this.#known(template);
    const expires_at = new Date(Date.parse(ARMED_AT) + for_ms).toISOString();
    const armed = { template, level, source, armed_at: ARMED_AT, expires_at };
    this.arms = [...this.arms.filter((each) => each.template !== template), armed];
    return this.status();
  }

  async disarm({ template, all }: TraceDisarm): Promise<TraceStatus> {
    this.#known(template);
    this.arms = this.arms.filter((each) => each.template !== template || (!all && each.source === 'auto'));
    return this.status();
  }

  async status(): Promise<TraceStatus> {
    return { arms: this.arms, records: this.written.length, oldest: ARMED_AT };
  }

  async records(filter: TraceFilter): Promise<readonly TraceRecord[]> {
    this.asked.push(filter);
    const { after_seq = 0, limit, last } = filter;
    const found = this.written.filter((record) => record.seq > after_seq);
    return last === undefined ? found.slice(0, limit) : found.slice(-last);
  }

  async reasons(filter: TraceFilter): Promise<Readonly<Record<string, number>>> {
    this.asked.push(filter);
    return { 'named-always': 2, 'nothing to do': 1 };
  }

  #known(template: string): void {
    if (template === 'mayor' || template === 'worker') return;
    throw new GcError('agent-not-found', `agent "${template}" not found`, { next: 'gc agent list' });
  }
}

export function aTraceRecord(seq: number, over: Partial<TraceRecord> = {}): TraceRecord {
  return {
    seq,
    trace_id: 'abcd-1',
    tick: 1,
    at: ARMED_AT,
    template: 'mayor',
    session: '',
    type: 'cycle',
    what: 'cycle',
    reason: 'nothing to do',
    inputs: { round: 1 },
    ...over,
  };
}
