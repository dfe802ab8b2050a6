import type { SessionRecord } from '../session/record.ts';
import type { Death } from './plan.ts';
import { isPoolManaged } from './pool-record.ts';

/** So many lives in a row that took nothing are told of. */
const VAIN_LIVES_TOLD = 2;

/**
 * Says of a pool that its sessions come and go and take no work: what asks for them sees work that they do not see. They
 * back off by the crash policy; this is for people, until some work is taken.
 */
export class VainLives {
  readonly #complain: (template: string, what: string | undefined) => void;
  readonly #inARow = new Map<string, number>();

  constructor(complain: (template: string, what: string | undefined) => void) {
    this.#complain = complain;
  }

  ended(record: SessionRecord, death: Death): void {
    if (!isPoolManaged(record)) return;
    if (death.cause === 'finished') this.progressed(record.template);
    if (death.cause !== 'by-itself' || death.exit?.code !== 0) return;
    const count = (this.#inARow.get(record.template) ?? 0) + 1;
    this.#inARow.set(record.template, count);
    if (count !== VAIN_LIVES_TOLD) return;
    this.#complain(
      record.template,
      `sessions of agent "${record.template}" come and go and take no work: what asks for them (scale_check, gc.routed_to) and what they look for (work_query) do not agree; they are started ever more rarely`,
    );
  }

  /** Of agents that the config has no more, nothing is told. */
  keepOnly(templates: ReadonlySet<string>): void {
    for (const template of this.#inARow.keys()) if (!templates.has(template)) this.progressed(template);
  }

  /** Whether there is anything that `keepOnly` could forget. */
  get isQuiet(): boolean {
    return this.#inARow.size === 0;
  }

  progressed(template: string): void {
    if (!this.#inARow.delete(template)) return;
    this.#complain(template, undefined);
  }
}
