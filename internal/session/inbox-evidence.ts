import { findComposer } from '../runtime/composer.ts';
import type { AgentProfile } from '../runtime/profiles.ts';
import { lookAtText, normalizeLine } from '../runtime/screen.ts';
import { PROVEN_BY_SCREEN, PROVEN_BY_TRANSCRIPT } from './inbox.ts';

/** What is known of a message whose typing was cut off. */
export type NudgeEvidence =
  | { readonly kind: 'accepted'; readonly why: string }
  /** Nothing of it was submitted: it may be typed again. */
  | { readonly kind: 'not-submitted'; readonly why: string }
  | { readonly kind: 'unknown'; readonly why: string };

/** What a session's screen showed of a message right before it was typed. */
export interface Before {
  /** The life it was typed into. */
  readonly token: string;
  /** How often the screen showed the message's first words; -1: it could not be read. */
  readonly echoes: number;
  /** When it was typed, milliseconds since the epoch. */
  readonly at: number;
}

export interface Scene {
  readonly message: string;
  readonly before: Before | undefined;
  /** The life that has the name now. */
  readonly token: string;
  /** Its screen with history; `undefined`: it could not be read. */
  readonly screen: string | undefined;
  /** Last output, milliseconds since the epoch; `undefined`: unknown. */
  readonly lastActivity: number | undefined;
  readonly profile: AgentProfile;
  /** The session's prompt prefix. */
  readonly prefix: string;
  /** What people said to it since, as the agent program itself wrote it down; `undefined`: not readable. */
  readonly said: readonly string[] | undefined;
}

const PROBE_LENGTH = 40;

/** The first words of a message as a screen shows them. */
export function probeOf(message: string): string {
  const line = message.split('\n').find((candidate) => candidate.trim() !== '') ?? '';
  return normalizeLine(line).trim().slice(0, PROBE_LENGTH).trimEnd();
}

/** How often a screen shows them. */
export function echoesOf(screen: string, message: string): number {
  const probe = probeOf(message);
  if (probe === '') return 0;
  return screen.split('\n').filter((line) => normalizeLine(line).includes(probe)).length;
}

export function readBefore(text: string): Before | undefined {
  if (text === '') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return undefined;
    const { token, echoes, at } = value as Record<string, unknown>;
    if (typeof token !== 'string' || typeof echoes !== 'number' || typeof at !== 'number') return undefined;
    return { token, echoes, at };
  } catch {
    return undefined; // written by something else: no evidence
  }
}

/**
 * Whether a message arrived whose typing was cut off: the agent's own transcript first, then its input box, then what
 * stands above it. What is not proven is unknown: it is told, and never typed again. Pure.
 */
export function judge(scene: Scene): NudgeEvidence {
  const { message, before, said } = scene;
  if (said?.some((text) => sameWords(text, message))) {
    return { kind: 'accepted', why: PROVEN_BY_TRANSCRIPT };
  }
  if (!before) return { kind: 'unknown', why: 'nothing is known of the screen before it was typed' };
  if (before.token !== scene.token) {
    return { kind: 'unknown', why: 'the process that it was typed into is gone' };
  }
  if (scene.screen === undefined) return { kind: 'unknown', why: 'its screen could not be read' };
  return judgeScreen(scene, before, scene.screen);
}

function judgeScreen(scene: Scene, before: Before, screen: string): NudgeEvidence {
  const { message, profile, prefix, lastActivity } = scene;
  const composer = findComposer(lookAtText(screen), profile, prefix);
  const probe = probeOf(message);
  if (!composer || probe === '') {
    return { kind: 'unknown', why: 'its screen does not show whether it was submitted' };
  }
  if (composer.empty !== 'yes') {
    const stands = normalizeLine(composer.text).includes(probe);
    return stands
      ? { kind: 'not-submitted', why: 'the text stood in its input box, not submitted' }
      : { kind: 'unknown', why: 'another text stands in its input box' };
  }
  const echoes = echoesOf(screen, message);
  if (before.echoes >= 0 && echoes > before.echoes) {
    return { kind: 'accepted', why: PROVEN_BY_SCREEN };
  }
  const silent = lastActivity !== undefined && lastActivity < before.at - ACTIVITY_ROUNDING_MS;
  if (before.echoes >= 0 && echoes === before.echoes && silent) {
    return { kind: 'not-submitted', why: 'nothing was shown since before it was typed' };
  }
  return { kind: 'unknown', why: 'its screen no longer shows whether it arrived' };
}

/** Some providers round activity down to the second: what is younger proves nothing. */
const ACTIVITY_ROUNDING_MS = 1_000;

function sameWords(text: string, message: string): boolean {
  const plain = (value: string) => value.replace(/\s+/g, ' ').trim();
  return plain(message) !== '' && plain(text) === plain(message);
}
