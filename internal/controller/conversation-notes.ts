import { ACCOUNT_KEY } from '../session/account.ts';
import { USAGE_LIMIT_WAIT_MS } from '../session/crash-policy.ts';
import { displayName } from '../session/display.ts';
import { type ConversationPlace, programOf } from '../session/journal/city-journal.ts';
import { LOG_UID_KEY } from '../session/journal/facts.ts';
import type { SessionRecord } from '../session/record.ts';
import { type FoundLimit, limitInFailure, limitOnScreen } from '../session/usage-limit.ts';
import { limitSeen, takeLimits } from './account-limits.ts';
import type { CityEngine } from './city-engine.ts';
import { believedRunning } from './session-facts.ts';

/** These show a limit and do not write it down. */
const SHOWN_ONLY: readonly string[] = ['gemini', 'opencode'];
const SCREEN_LINES = 40;
/** What a screen still shows of a limit may be this old. */
const STALE_SCREEN_MS = 10_800_000;

/** What is learned of a session from its conversation while it lives, written into the city's records. */
export class ConversationNotes {
  readonly #engine: CityEngine;
  readonly #failures = new Map<string, { readonly text: string; readonly at: number }>();
  /** The limit that each screen showed last: it stays there long after it is over. */
  readonly #shown = new Map<string, string>();

  constructor(engine: CityEngine) {
    this.#engine = engine;
  }

  /** Programs that name their conversations themselves are told that name when they are to go on with one. */
  async found(uid: string, conversation: string, place: ConversationPlace): Promise<void> {
    const { store } = this.#engine.parts;
    const open = await store.list('open');
    const record = open.find((each) => each.metadata[LOG_UID_KEY] === uid);
    if (record?.sessionKey !== '' || !canGoOn(record)) return;
    const isThisLife = record.lastWokeAt === undefined || record.lastWokeAt === place.since;
    if (!isThisLife || open.some(({ sessionKey }) => sessionKey === conversation)) return;
    await store.apply(
      record.id,
      { session_key: conversation },
      {
        expectedRevision: record.revision,
        decisions: [
          {
            what: 'conversation',
            why: `its program calls it ${conversation}`,
            inputs: { key: conversation },
          },
        ],
      },
    );
  }

  failed(uid: string, failure: { readonly text: string; readonly at: number }): void {
    this.#failures.set(uid, failure);
  }

  /** After a look at its conversation: whether its account has reached a limit. */
  async settle(sessionName: string): Promise<void> {
    const { parts } = this.#engine;
    const record = (await parts.store.list('open')).find((each) => each.sessionName === sessionName);
    if (!record || !believedRunning(record)) return;
    const uid = record.metadata[LOG_UID_KEY] ?? '';
    const failure = this.#failures.get(uid);
    this.#failures.delete(uid);
    const now = parts.clock.now();
    if (failure) {
      const at = failure.at || now;
      await this.#limited(record, limitInFailure(failure.text, at), at);
    } else if (SHOWN_ONLY.includes(programOf(record))) {
      await this.#limited(record, await this.#shownLimit(sessionName, now), now);
    }
  }

  async #shownLimit(name: string, now: number): Promise<FoundLimit | undefined> {
    // It ended meanwhile, or the runtime is slow: its last screen tells as well.
    const screen = await this.#engine.parts.provider.peek(name, SCREEN_LINES).catch(() => '');
    const limit = limitOnScreen(screen, { now, passedWithinMs: STALE_SCREEN_MS });
    const isOld = limit !== undefined && this.#shown.get(name) === limit.text;
    if (limit) this.#shown.set(name, limit.text);
    else this.#shown.delete(name);
    return isOld ? undefined : limit;
  }

  async #limited(record: SessionRecord, limit: FoundLimit | undefined, at: number): Promise<void> {
    if (!limit) return;
    const { parts, memory } = this.#engine;
    // An old conversation that is read anew tells of what is long over.
    if ((limit.until ?? at + USAGE_LIMIT_WAIT_MS) <= parts.clock.now()) return;
    const seen = {
      account: record.metadata[ACCOUNT_KEY] ?? '',
      session: displayName(record),
      text: limit.text,
      until: limit.until,
      at,
    };
    const { state, events } = limitSeen(memory.accountLimits, seen, programOf(record));
    await parts.db.commit({ state, events });
    takeLimits(memory.accountLimits, state);
  }
}

function canGoOn({ metadata }: SessionRecord): boolean {
  return (metadata['resume_flag'] ?? '') !== '' || (metadata['resume_command'] ?? '') !== '';
}
