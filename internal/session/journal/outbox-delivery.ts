import { createHash } from 'node:crypto';
import type { OutboxRow } from '../../beads/sqlite/outbox-table.ts';
import { codeOf } from '../../platform/errors.ts';
import { cityFact } from '../../protocol/events.ts';
import { CITY_HARNESS, CITY_SOURCE } from '../log/city-origin.ts';
import { LogCorruptError, SessionDeletedError, SourceReusedError } from '../log/errors.ts';
import type { AppendOptions, Durability, SessionLogStore } from '../log/session-log.ts';
import type { OutboxBody, SessionHead } from './city-journal.ts';
import { cleanObject } from './conversation-events.ts';

/** What became of a row: a log that was deleted, or is damaged, takes nothing any more, and must not hold up the others. */
export type Delivery = { readonly kind: 'delivered' } | { readonly kind: 'refused'; readonly error: unknown };

/** Writes what waits in the outbox into the logs; a row that was written before is left as it is. */
export class OutboxDelivery {
  readonly #store: SessionLogStore;
  readonly #city: string;
  /** Sessions that the store is known to have. */
  readonly #known = new Set<string>();

  constructor(store: SessionLogStore, city: string) {
    this.#store = store;
    this.#city = city;
  }

  async deliver(row: OutboxRow, durability: Durability): Promise<Delivery> {
    const body = row.body as OutboxBody;
    try {
      await this.#ensure(row.logUid, body);
      await this.#append(row, body, durability);
      return { kind: 'delivered' };
    } catch (error) {
      if (error instanceof SessionDeletedError || error instanceof LogCorruptError) {
        return { kind: 'refused', error };
      }
      throw error;
    }
  }

  async #ensure(uid: string, body: OutboxBody): Promise<void> {
    const { session } = body;
    if (body.renamed && (await this.#store.get(uid))) await this.#store.update(uid, { name: session.name });
    if (this.#known.has(uid)) return;
    if (!(await this.#store.get(uid))) {
      const row = {
        uid,
        project: this.#city,
        name: session.name,
        harness: CITY_HARNESS,
        origin: originOf(session, this.#city),
      };
      await this.#store.create(row).catch((error: unknown) => {
        // Another process was faster.
        if (codeOf(error) !== 'session-exists') throw error;
      });
    }
    this.#known.add(uid);
  }

  async #append(row: OutboxRow, body: OutboxBody, durability: Durability): Promise<void> {
    const events = body.facts.map((fact) => cityFact(cleanObject(fact)));
    if (events.length === 0) return;
    const options: AppendOptions = {
      source: row.source,
      durability,
      ...(body.new_incarnation ? { newIncarnation: true } : {}),
    };
    try {
      await this.#store.append(row.logUid, events, options);
    } catch (error) {
      if (!(error instanceof SourceReusedError)) throw error;
      // The city's own store was put back to an earlier state: this is another fact under a number that was used before.
      const digest = createHash('sha256').update(JSON.stringify(body.facts)).digest('hex').slice(0, 16);
      await this.#store.append(row.logUid, events, { ...options, source: `${row.source}:${digest}` });
    }
  }
}

/** proto3 JSON of the session's origin. */
function originOf({ record, agent, template }: SessionHead, city: string): string {
  return JSON.stringify({ source: CITY_SOURCE, subject: record, attributes: { agent, template, city } });
}
