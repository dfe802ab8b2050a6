import { codeOf, GcError } from '../../platform/errors.ts';
import type { Event } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import type { Durability } from '../log/session-log.ts';
import type { TurnContext } from './turn.ts';

/** The harness may be told of these and go on: nothing was written, and another record may be. */
const REFUSED_CONTENT: ReadonlySet<string> = new Set(['not-canonical', 'record-too-large']);

/**
 * What one turn appends, under its incarnation and wherever the log stands: others may append between. Whoever takes the
 * session over is what stops it.
 */
export class EffectLog {
  readonly #context: Pick<TurnContext, 'uid' | 'log' | 'observer' | 'fence'>;
  readonly #broken: (error: unknown) => void;

  /** @param broken told when the log takes nothing more from this turn */
  constructor(
    context: Pick<TurnContext, 'uid' | 'log' | 'observer' | 'fence'>,
    broken: (error: unknown) => void = () => undefined,
  ) {
    this.#context = context;
    this.#broken = broken;
  }

  async append(
    events: readonly Event[],
    options: { readonly expected?: number; readonly durability?: Durability } = {},
  ): Promise<readonly ChainedRecord[]> {
    const { uid, log, observer, fence } = this.#context;
    const records = await log
      .append(uid, events, { durability: 'full', ...options, fence })
      .catch((error) => {
        if (!REFUSED_CONTENT.has(codeOf(error) ?? '')) this.#broken(error);
        throw error;
      });
    for (const record of records) observer.record(record);
    return records;
  }

  /** One event; its record as it stands in the log. */
  async appendOne(event: Event, durability: Durability = 'full'): Promise<ChainedRecord> {
    const [record] = await this.append([event], { durability });
    if (!record) throw new GcError('internal', 'the log appended nothing');
    return record;
  }
}
