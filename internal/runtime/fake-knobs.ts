import { FakeLog } from './fake-log.ts';
import { FakeScripts } from './fake-script.ts';
import type {
  ExitInfo,
  InteractionResponse,
  NudgeOutcome,
  PendingInteraction,
  RuntimeEvent,
  SleepCapability,
} from './provider.ts';
import type { RuntimeConfig } from './runtime-config.ts';

/** One session of the double. */
export interface FakeSession {
  readonly config: RuntimeConfig;
  readonly startedAt: number;
  /** `undefined` while it runs. */
  ended: { readonly exit: ExitInfo; readonly lastLines: string } | undefined;
  /** A question that only a person can answer. */
  question: string | undefined;
  /** Texts that were nudged, in order. */
  readonly messages: string[];
}

/** Everything that a test can read and set on the double. */
export class FakeKnobs {
  readonly log = new FakeLog();
  readonly scripts = new FakeScripts();
  readonly sessions = new Map<string, FakeSession>();
  readonly meta = new Map<string, Map<string, string>>();

  /** Every call that can fail fails with `session unavailable`, every probe is `unknown`. */
  broken = false;
  /** So many of the next surveys cannot tell. */
  unknownSurveys = 0;
  readonly startErrors = new Map<string, Error>();
  readonly stopErrors = new Map<string, Error>();
  /** Their terminal lives, their agent does not. */
  readonly zombies = new Set<string>();
  /** Clients of people per session. */
  readonly attached = new Map<string, number>();
  readonly peekOutput = new Map<string, string>();
  /** Milliseconds since the epoch. */
  readonly activity = new Map<string, number>();
  readonly nudgeOutcomes = new Map<string, NudgeOutcome>();
  readonly pendingInteractions = new Map<string, PendingInteraction>();
  readonly responses = new Map<string, InteractionResponse[]>();
  sleepCapabilityValue: SleepCapability = 'full';
  /** A name with an entry can wait for idle: the error is thrown, `undefined` means idle. */
  readonly waitForIdleErrors = new Map<string, Error | undefined>();
  /** Holds a wait for idle until it resolves. */
  readonly waitForIdleGates = new Map<string, Promise<void>>();
  /** Monotonic time until which a session is at work: waits for idle take that long, or time out. */
  readonly busyUntil = new Map<string, number>();
  /** What watchers get for an event: none drops it, several double it. */
  deliver: (event: RuntimeEvent) => readonly RuntimeEvent[] = (event) => [event];
}
