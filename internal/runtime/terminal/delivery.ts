import type { Clock } from '../../platform/clock.ts';
import { codeOf, messageOf } from '../../platform/errors.ts';
import { type Composer, findComposer } from '../composer.ts';
import { SessionNotFoundError } from '../errors.ts';
import { type AgentProfile, submitGapMs } from '../profiles.ts';
import type { NudgeOutcome } from '../provider.ts';
import { activityOf } from '../readiness.ts';
import { LOOK_BACK_LINES, type Look, lookAt } from '../screen.ts';
import type { TerminalBackend } from './backend.ts';
import { look } from './facts.ts';
import type { TerminalTimings } from './options.ts';

/** What delivering one message needs to know. The caller holds the session's lock. */
export interface DeliveryContext {
  readonly backend: TerminalBackend;
  readonly clock: Clock;
  readonly timings: TerminalTimings;
  readonly name: string;
  readonly profile: AgentProfile;
  readonly prefix: string;
  readonly signal: AbortSignal;
  /** Awaited right before the paste: a rejection keeps it from being made. */
  readonly beforeTyping?: (() => Promise<void>) | undefined;
}

/** How the detail of `busy` begins when a question is in the way. */
export const ASKS = 'it asks: ';
/** How the detail of `unsubmitted` begins when a question came up before Enter. */
export const CAME_UP = 'a question came up while typing: ';

const ENTER_ATTEMPTS = 3;
const CLEAR_ROUNDS = 4;
/** A draft of so many lines is cleared in one round. */
const CLEAR_LINES_PER_ROUND = 20;
const CLEAR_SETTLE_MS = 150;
/** A large paste may take the program long to draw; then Enter goes after it all the same. */
const DRAFT_DRAW_LIMIT_MS = 10_000;
const EXCERPT_LENGTH = 60;

/**
 * Types `text` as one message and submits it once: clear what was left in the input box, one paste, a gap above the
 * program's burst window, Enter, and a look whether the draft went. Nothing is typed while a question is open, or over
 * a draft of a person who is there.
 */
export async function deliver(context: DeliveryContext, text: string): Promise<NudgeOutcome> {
  const { backend, clock, name } = context;
  const startedAt = clock.monotonic();
  const screen = await backend.capture(name, LOOK_BACK_LINES);
  const blocked = await whyBlocked(context, lookAt(screen));
  if (blocked) return blocked;
  const before = await look(backend, name);
  const limit = await backend.inputLimit?.(name);
  const tooLong = lineOverLimit(text, limit);
  if (tooLong !== undefined) return { kind: 'failed', detail: tooLong };

  context.signal.throwIfAborted();
  await context.beforeTyping?.();
  await backend.paste(name, text);
  const { bracketedPaste } = screen;
  const gapMs = submitGapMs(context.profile, { bracketedPaste, canonical: limit !== undefined });
  const drafted = await waitForDraft(context, before, gapMs);
  if (drafted.asking !== undefined) {
    return { kind: 'unsubmitted', detail: CAME_UP + drafted.asking };
  }
  const verdict = await submit(context, before, drafted.text);
  const tookMs = clock.monotonic() - startedAt;
  switch (verdict) {
    case 'gone':
      return { kind: 'delivered', tookMs, verified: true };
    case 'unknown':
      return { kind: 'delivered', tookMs, verified: false };
    case 'still':
      return {
        kind: 'unsubmitted',
        detail: `the text stands in the input box after ${ENTER_ATTEMPTS} Enter`,
      };
    case 'silent':
      return { kind: 'unsubmitted', detail: 'nothing of the text showed on the screen' };
  }
}

/** What is in the way of a message now; a draft that nobody submitted is cleared away. */
export async function whyBlocked(context: DeliveryContext, before: Look): Promise<NudgeOutcome | undefined> {
  const activity = activityOf(before, context.profile, context.prefix);
  if (activity.kind === 'asking') return { kind: 'busy', detail: ASKS + activity.what };
  const composer = findComposer(before, context.profile, context.prefix);
  if (!composer) {
    return context.profile.composer
      ? { kind: 'busy', detail: 'its input box is not on the screen' }
      : undefined;
  }
  if (composer.empty === 'yes') return undefined;
  const inspection = await context.backend.inspect(context.name);
  const attached = inspection.kind === 'present' ? inspection.session.attached : 0;
  if (attached > 0) {
    return composer.empty === 'no'
      ? { kind: 'busy', detail: `somebody at its terminal has typed ${excerpt(composer.text)}` }
      : undefined;
  }
  const kept = await clearDraft(context, composer);
  return kept === undefined
    ? undefined
    : { kind: 'busy', detail: `a draft stands in its input box: ${excerpt(kept)}` };
}

/** Empties the input box of a text that nobody submitted; answers what could not be cleared. */
async function clearDraft(context: DeliveryContext, found: Composer): Promise<string | undefined> {
  const { backend, clock, name, profile, prefix, signal } = context;
  const keys = Array.from({ length: CLEAR_LINES_PER_ROUND }, () => profile.clearLineKeys).flat();
  let text = found.text;
  for (let round = 0; round < CLEAR_ROUNDS; round += 1) {
    signal.throwIfAborted();
    await backend.sendKeys(name, ['C-e', ...keys]);
    await clock.sleep(CLEAR_SETTLE_MS, signal);
    const composer = findComposer(await look(backend, name), profile, prefix);
    if (!composer || composer.empty === 'yes') return undefined;
    // What no key changes is a placeholder: a line editor would have deleted at least a character.
    if (composer.text === text) return undefined;
    text = composer.text;
  }
  return text;
}

function lineOverLimit(text: string, limit: number | undefined): string | undefined {
  if (limit === undefined) return undefined;
  const longest = text.split('\n').reduce((max, line) => Math.max(max, Buffer.byteLength(line)), 0);
  return longest <= limit
    ? undefined
    : `its terminal takes at most ${limit} bytes per line now, the message has a line of ${longest}; break the line or put the text into a file`;
}

interface Drafted {
  /** What the input box showed; `undefined` when the text was never seen there. */
  readonly text: string | undefined;
  readonly asking: string | undefined;
}

/** Waits until the draft stood still for `gapMs`; without a recognisable input box, just that long. */
async function waitForDraft(context: DeliveryContext, before: Look, gapMs: number): Promise<Drafted> {
  const { backend, clock, name, profile, prefix, signal, timings } = context;
  const known = findComposer(before, profile, prefix) !== undefined;
  const old = findComposer(before, profile, prefix)?.text;
  const pastedAt = clock.monotonic();
  let changedAt = pastedAt;
  let text: string | undefined;
  for (;;) {
    await clock.sleep(Math.min(backend.pollMs, gapMs), signal);
    const now = clock.monotonic();
    const seen = await look(backend, name);
    const activity = activityOf(seen, profile, prefix);
    if (activity.kind === 'asking') return { text, asking: activity.what };
    const composer = findComposer(seen, profile, prefix);
    const drafted = composer && composer.empty !== 'yes' && composer.text !== old ? composer.text : undefined;
    if (drafted !== text) changedAt = now;
    text = drafted;
    const still = now - changedAt >= gapMs;
    if (text !== undefined && still) return { text, asking: undefined };
    const waited = now - pastedAt;
    if (text === undefined && waited >= gapMs + (known ? timings.draftSeenMs : 0))
      return { text, asking: undefined };
    if (waited >= gapMs + DRAFT_DRAW_LIMIT_MS) return { text, asking: undefined };
  }
}

type Verdict = 'gone' | 'still' | 'silent' | 'unknown';

async function submit(context: DeliveryContext, before: Look, draft: string | undefined): Promise<Verdict> {
  for (let attempt = 1; ; attempt += 1) {
    context.signal.throwIfAborted();
    await context.backend.sendKeys(context.name, ['Enter']);
    const verdict = await watchSubmit(context, before, draft);
    // Only a draft that is seen to stand there gets another Enter: otherwise it could be a second, empty message.
    if (verdict !== 'still' || attempt === ENTER_ATTEMPTS) return verdict;
    await context.backend.wake(context.name);
  }
}

async function watchSubmit(
  context: DeliveryContext,
  before: Look,
  draft: string | undefined,
): Promise<Verdict> {
  const { backend, clock, name, timings, signal } = context;
  const pressedAt = clock.monotonic();
  for (;;) {
    await clock.sleep(backend.pollMs, signal);
    const verdict = judge(context, before, await look(backend, name), draft);
    if (verdict === 'gone' || clock.monotonic() - pressedAt >= timings.submitSeenMs) return verdict;
  }
}

function judge(context: DeliveryContext, before: Look, now: Look, draft: string | undefined): Verdict {
  const { profile, prefix } = context;
  if (activityOf(now, profile, prefix).kind === 'asking') return 'gone';
  const composer = findComposer(now, profile, prefix);
  if (draft !== undefined) {
    if (!composer || composer.empty === 'yes') return 'gone';
    return composer.text !== draft && composer.empty === 'unknown' ? 'gone' : 'still';
  }
  const changed = now.lines.join('\n') !== before.lines.join('\n');
  if (composer) return composer.empty === 'no' ? 'still' : changed ? 'gone' : 'silent';
  return 'unknown';
}

function excerpt(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return JSON.stringify(line.length > EXCERPT_LENGTH ? `${line.slice(0, EXCERPT_LENGTH)}…` : line);
}

/** What a message came to that an error ended. A session that went away in the middle is the same as one that was gone before. */
export function outcomeOfError(error: unknown): NudgeOutcome {
  if (error instanceof SessionNotFoundError) return { kind: 'no-session' };
  return { kind: codeOf(error) === 'session-locked' ? 'busy' : 'failed', detail: messageOf(error) };
}
