import type { NudgeRow } from '../beads/sqlite/inbox-table.ts';
import { GcError, messageOf } from '../platform/errors.ts';
import { profileKindOf, profileOf } from '../runtime/profiles.ts';
import type { NudgeOutcome } from '../runtime/provider.ts';
import { putBack, resolved, settled } from '../session/inbox.ts';
import { type Before, echoesOf, judge, type NudgeEvidence, readBefore } from '../session/inbox-evidence.ts';
import type { InboxStore } from '../session/inbox-store.ts';
import type { SessionRecord } from '../session/record.ts';
import type { CityEngine } from './city-engine.ts';
import { readLogs } from './session-logs.ts';

/** Lines of a screen in which a message is looked for. */
const EVIDENCE_LINES = 500;

/** One try to give one message to one session. */
export class Attempt {
  readonly #engine: CityEngine;
  readonly #store: InboxStore;
  readonly #row: NudgeRow;
  readonly #record: SessionRecord;
  readonly #abort = new AbortController();
  #typing = false;

  constructor(engine: CityEngine, store: InboxStore, row: NudgeRow, record: SessionRecord) {
    this.#engine = engine;
    this.#store = store;
    this.#row = row;
    this.#record = record;
  }

  get isUrgent(): boolean {
    return this.#row.delivery === 'immediate';
  }

  /** Gives it back to the queue, unless it is being typed. */
  giveUp(): void {
    if (!this.#typing) this.#abort.abort(new GcError('overtaken', 'the delivery was given up'));
  }

  /** What came of it, and the row as it is now; `row: undefined`: somebody else has it in hand. */
  async run(
    waitIdleMs: number,
    isAttended: () => boolean,
  ): Promise<{ readonly outcome: NudgeOutcome | undefined; readonly row: NudgeRow | undefined }> {
    const outcome = await this.#deliver(waitIdleMs);
    const attended = isAttended();
    const typed = await this.#wasTyped();
    if (outcome === undefined && !typed) {
      return { outcome, row: await this.#store.settle(this.#row, () => putBack(this.#row), true) };
    }
    const known = outcome ?? { kind: 'failed', detail: 'it was cut off' };
    const row = await this.#store.settle(
      this.#row,
      (now) => settled(this.#row, known, { now, attended, typed }),
      attended,
    );
    return { outcome, row };
  }

  /** `undefined`: given up before anything was typed. */
  async #deliver(waitIdleMs: number): Promise<NudgeOutcome | undefined> {
    const { provider } = this.#engine.parts;
    const { signal } = this.#abort;
    try {
      return await provider.nudge(this.#record.sessionName, [{ type: 'text', text: this.#row.message }], {
        waitIdleMs,
        signal,
        beforeTyping: () => this.#announce(),
      });
    } catch (error) {
      return signal.aborted ? undefined : { kind: 'failed', detail: messageOf(error) };
    }
  }

  async #announce(): Promise<void> {
    this.#abort.signal.throwIfAborted();
    this.#typing = true;
    const screen = await this.#screen();
    const before: Before = {
      token: this.#record.instanceToken,
      echoes: screen === undefined ? -1 : echoesOf(screen, this.#row.message),
      at: this.#engine.parts.clock.now(),
    };
    await this.#store.typing(this.#row, JSON.stringify(before));
  }

  async #wasTyped(): Promise<boolean> {
    const now = this.#typing ? await this.#store.find(this.#row.id) : undefined;
    return now?.state === 'typed' && now.fence === this.#row.fence;
  }

  async #screen(): Promise<string | undefined> {
    const { provider } = this.#engine.parts;
    // Without it there is less evidence, should the typing be cut off.
    return provider.peek(this.#record.sessionName, EVIDENCE_LINES).catch(() => undefined);
  }

  /** Looks for what became of one that was typed. */
  async resolve(readyPromptPrefix: string): Promise<NudgeRow | undefined> {
    const evidence = await this.#evidence(readyPromptPrefix);
    return this.#store.settle(this.#row, (now) => resolved(this.#row, evidence, now), false);
  }

  async #evidence(prefix: string): Promise<NudgeEvidence> {
    const { provider } = this.#engine.parts;
    const before = readBefore(this.#row.evidence);
    const name = this.#record.sessionName;
    const [screen, lastActivity, said] = await Promise.all([
      this.#screen(),
      provider.getLastActivity(name).catch(() => undefined), // one proof less
      this.#said(before?.at ?? this.#row.lastAttemptMs),
    ]);
    const profile = profileOf(profileKindOf(this.#record.providerKind, undefined));
    const token = this.#record.instanceToken;
    return judge({ message: this.#row.message, before, token, screen, lastActivity, profile, prefix, said });
  }

  async #said(since: number): Promise<readonly string[] | undefined> {
    const { transcripts, store, city } = this.#engine.parts;
    try {
      const request = { tail: 1, city: city.workspace.name };
      const entries = await readLogs(transcripts, this.#record, await store.list('open'), request);
      return entries
        .filter((entry) => entry.type.toLowerCase() === 'user' && Date.parse(entry.at) >= since)
        .map((entry) => entry.text);
    } catch {
      return undefined; // no conversation that could be read
    }
  }
}
