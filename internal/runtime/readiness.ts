import { parseApproval } from './approval.ts';
import { type Composer, findComposer } from './composer.ts';
import { findQuestion } from './dialog.ts';
import type { AgentProfile } from './profiles.ts';
import type { Look } from './screen.ts';

/** What one look says about an agent's activity. */
export type Activity =
  | { readonly kind: 'idle'; readonly composer: Composer | undefined }
  | { readonly kind: 'busy'; readonly why: string }
  /** A permission question or a choice is open: text typed now would answer it. */
  | { readonly kind: 'asking'; readonly what: string };

/** Lines above the input box that belong to the live region: status line, task list, queued messages. */
const STATUS_LINES = 12;

/** Reads one look. Only the live region counts: what is said in the conversation above never makes an agent busy. */
export function activityOf(look: Look, profile: AgentProfile, prefix: string): Activity {
  const composer = findComposer(look, profile, prefix);
  const approval = parseApproval(look);
  if (approval) return { kind: 'asking', what: approval.prompt };
  const question = findQuestion(look, composer);
  if (question && question.options.length > 0) return { kind: 'asking', what: question.text };
  const why = busySign(look, profile, composer);
  if (why !== undefined) return { kind: 'busy', why };
  if (!composer && knowsComposer(profile, prefix)) return { kind: 'busy', why: 'no prompt on the screen' };
  return { kind: 'idle', composer };
}

/** Whether an input box can be recognised at all for this agent. */
export function knowsComposer(profile: AgentProfile, prefix: string): boolean {
  return profile.composer !== undefined || prefix.trim() !== '';
}

function busySign(look: Look, profile: AgentProfile, composer: Composer | undefined): string | undefined {
  const edge = composer?.index ?? look.lines.length;
  const above = look.lines.slice(look.visibleFrom, edge).filter((line) => line !== '');
  const status = above
    .slice(-STATUS_LINES)
    .find((line) => profile.busyStatus.some((pattern) => pattern.test(line)));
  if (status !== undefined) return status.trim();
  const below = composer ? look.lines.slice(composer.index + 1) : [];
  return below.find((line) => profile.busyFooter.some((pattern) => pattern.test(line)))?.trim();
}

/** Polls that must agree: between two tool calls an agent shows its prompt for a moment. */
export const IDLE_POLLS = 2;
/** Without a recognisable input box an agent counts as idle when its screen stood still for so many polls. */
export const QUIET_POLLS = 10;

/** Counts idle looks in a row. The conversation must stand still between them: streamed text shows the prompt too. */
export interface IdleCounter {
  readonly polls: number;
  readonly screen: string;
}

export const NOT_IDLE: IdleCounter = { polls: 0, screen: '' };

/** One more look. The agent is idle when `isSettled` says so of the result. */
export function countIdle(counter: IdleCounter, look: Look, activity: Activity): IdleCounter {
  if (activity.kind !== 'idle') return NOT_IDLE;
  const screen = look.lines.slice(0, activity.composer?.index ?? look.lines.length).join('\n');
  return { polls: screen === counter.screen ? counter.polls + 1 : 1, screen };
}

export function isSettled(counter: IdleCounter, composerKnown: boolean): boolean {
  return counter.polls >= (composerKnown ? IDLE_POLLS : QUIET_POLLS);
}
