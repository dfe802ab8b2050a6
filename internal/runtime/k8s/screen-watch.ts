import type { Clock } from '../../platform/clock.ts';
import type { EventStream } from '../event-stream.ts';
import type { BackendSession } from '../terminal/backend.ts';
import type { Pod } from './api/pod.ts';
import type { PodSessions, ScreenFacts } from './pod-sessions.ts';
import { podState } from './pod-state.ts';
import type { PodStreams } from './pod-streams.ts';

/** The host is asked about all streams no more often than this. */
const REFRESH_MS = 2_000;
/** A stream that could not be opened is tried again after this. */
const RETRY_MS = 10_000;
const OPENED_AT_ONCE = 6;

export interface ScreenWatchOptions {
  readonly streams: PodStreams;
  readonly sessions: PodSessions;
  readonly events: EventStream;
  readonly clock: Clock;
  readonly lifetime: AbortSignal;
}

/** What the session host knows: who is attached, and when there was output. It never holds up a look at the pods. */
export class ScreenWatch {
  readonly #options: ScreenWatchOptions;
  readonly #retryAt = new Map<string, number>();
  #refreshedAt = Number.NEGATIVE_INFINITY;
  #refreshing: Promise<void> | undefined;
  #following = false;
  #opening = false;

  constructor(options: ScreenWatchOptions) {
    this.#options = options;
  }

  /** Hands on what people do at the terminals, and output. Ends of streams are not ends of sessions. */
  follow(): void {
    if (this.#following) return;
    this.#following = true;
    this.#follow().catch(() => undefined); // it ends with the lifetime only
  }

  /** Asks the host in the background, when it is time, and opens streams that are not there. */
  refresh(): void {
    const { clock } = this.#options;
    if (this.#refreshing || clock.monotonic() - this.#refreshedAt < REFRESH_MS) return;
    this.#refreshedAt = clock.monotonic();
    this.#refreshing = this.#refresh()
      .catch(() => undefined) // a host that does not answer is asked again
      .finally(() => {
        this.#refreshing = undefined;
      });
  }

  /** Of one session, now. */
  async look(name: string, pod: Pod): Promise<ScreenFacts> {
    const seen = await this.#options.streams.look(name, pod.metadata.uid);
    const facts = { attached: seen?.attached ?? 0, lastActivity: seen?.lastActivity };
    if (seen) this.#options.sessions.noteFacts(name, facts);
    return facts;
  }

  async addTo(sessions: ReadonlyMap<string, BackendSession>): Promise<ReadonlyMap<string, BackendSession>> {
    const found = await this.#options.streams.host.inspectAll();
    if (found.kind !== 'seen') return sessions;
    return new Map(
      [...sessions].map(([name, session]) => {
        const seen = found.sessions.get(name);
        if (!seen) return [name, session];
        return [name, { ...session, attached: seen.attached, lastActivity: seen.lastActivity }];
      }),
    );
  }

  async #refresh(): Promise<void> {
    const { streams, sessions } = this.#options;
    const found = await streams.host.inspectAll();
    if (found.kind !== 'unknown') {
      const seen = found.kind === 'seen' ? found.sessions : new Map<string, BackendSession>();
      streams.noteAll(seen);
      for (const [name, { attached, lastActivity }] of seen)
        sessions.noteFacts(name, { attached, lastActivity });
    }
    if (!this.#opening) {
      this.#opening = true;
      this.#openMissing().finally(() => {
        this.#opening = false;
      });
    }
  }

  /** A few at a time: after the death of a host all of them are missing. */
  async #openMissing(): Promise<void> {
    const missing = this.#options.sessions.names.values();
    const worker = async () => {
      for (const name of missing) await this.#openIfMissing(name);
    };
    await Promise.all(Array.from({ length: OPENED_AT_ONCE }, worker));
  }

  async #openIfMissing(name: string): Promise<void> {
    const { streams, sessions, clock, lifetime } = this.#options;
    const pod = sessions.podOf(name);
    if (!pod || podState(pod).kind !== 'alive' || streams.isOpen(name, pod.metadata.uid)) return;
    if (lifetime.aborted || clock.monotonic() < (this.#retryAt.get(name) ?? Number.NEGATIVE_INFINITY)) return;
    this.#retryAt.set(name, clock.monotonic() + RETRY_MS);
    await streams.ensure(name, pod, lifetime).catch(() => undefined); // tried again later
  }

  async #follow(): Promise<void> {
    const { streams, sessions, events, lifetime } = this.#options;
    for await (const event of streams.host.watch(lifetime)) {
      if (event.kind === 'activity') sessions.noteActivity(event.name);
      if (event.kind === 'attached' || event.kind === 'detached') {
        const pod = sessions.podOf(event.name);
        if (pod) await this.look(event.name, pod).catch(() => undefined); // the next refresh tells
      }
      if (event.kind !== 'activity' && event.kind !== 'attached' && event.kind !== 'detached') continue;
      if (sessions.podOf(event.name)) events.emit(event);
    }
  }
}
