import { messageOf } from '../../platform/errors.ts';
import { surveySessions } from '../probe-sessions.ts';
import type { Observation, Survey, Unseen, UnseenPart } from '../provider.ts';
import type { BackEnd, BackEnds } from './back-ends.ts';

export interface Surveyed {
  readonly survey: Survey;
  /** Where each session that was seen is. */
  readonly places: ReadonlyMap<string, BackEnd>;
  /** Back ends whose answer is complete: what is not among `places` is not in them. */
  readonly complete: readonly BackEnd[];
}

/**
 * Both back ends in one survey. What one of them could not tell, or lost, is said of its own sessions only.
 * `mayHold`: whether a session that nobody saw may be in this back end.
 */
export async function surveyBoth(
  backEnds: BackEnds,
  home: (name: string) => BackEnd,
  mayHold: (backEnd: BackEnd, name: string) => boolean,
): Promise<Surveyed> {
  const [first, second] = backEnds;
  const [one, two] = await Promise.all([look(first), look(second)]);
  return merged(
    [
      { backEnd: first, survey: one },
      { backEnd: second, survey: two },
    ],
    home,
    mayHold,
  );
}

/** A back end that throws has told nothing. */
async function look(backEnd: BackEnd): Promise<Survey> {
  try {
    return await surveySessions(backEnd.provider);
  } catch (error) {
    return { kind: 'unknown', reason: messageOf(error) };
  }
}

interface Answered {
  readonly backEnd: BackEnd;
  readonly survey: Survey;
}

function merged(
  answers: readonly Answered[],
  home: (name: string) => BackEnd,
  mayHold: (backEnd: BackEnd, name: string) => boolean,
): Surveyed {
  const sessions = new Map<string, Observation>();
  const places = new Map<string, BackEnd>();
  const unseen: UnseenPart[] = [];
  const complete: BackEnd[] = [];
  for (const { backEnd, survey } of answers) {
    if (survey.kind !== 'seen') {
      unseen.push(partOf(backEnd, survey, mayHold));
      if (survey.kind === 'infrastructure-gone') complete.push(backEnd);
      continue;
    }
    unseen.push(...(survey.unseen ?? []).map((part) => within(backEnd, part, mayHold)));
    complete.push(backEnd);
    for (const [name, observation] of survey.sessions) {
      const other = sessions.get(name);
      if (other && !isBetter(observation, other, home(name) === backEnd)) continue;
      sessions.set(name, observation);
      places.set(name, backEnd);
    }
  }
  const survey: Survey = { kind: 'seen', sessions, ...(unseen.length > 0 ? { unseen } : {}) };
  return { survey: withoutParts(answers) ?? survey, places, complete };
}

/** Neither was seen, for the same kind of reason: then there are no parts to tell apart. */
function withoutParts(answers: readonly Answered[]): Survey | undefined {
  const reasons = answers.map(({ backEnd, survey }) =>
    survey.kind === 'unknown' ? `${backEnd.label} backend: ${survey.reason}` : undefined,
  );
  return reasons.every((reason) => reason !== undefined)
    ? { kind: 'unknown', reason: reasons.join('; ') }
    : undefined;
}

function partOf(
  backEnd: BackEnd,
  answer: Unseen,
  mayHold: (backEnd: BackEnd, name: string) => boolean,
): UnseenPart {
  const named: Unseen =
    answer.kind === 'unknown'
      ? { kind: 'unknown', reason: `${backEnd.label} backend: ${answer.reason}` }
      : answer;
  return { answer: named, holds: (name) => mayHold(backEnd, name) };
}

function within(
  backEnd: BackEnd,
  part: UnseenPart,
  mayHold: (backEnd: BackEnd, name: string) => boolean,
): UnseenPart {
  return { answer: part.answer, holds: (name) => mayHold(backEnd, name) && part.holds(name) };
}

/** Of two sessions of one name, the one that lives counts; of two that do, the one that is where it belongs. */
function isBetter(candidate: Observation, other: Observation, isHome: boolean): boolean {
  const rank = { running: 2, unknown: 1, exited: 0 } as const;
  const difference = rank[candidate.liveness.kind] - rank[other.liveness.kind];
  return difference > 0 || (difference === 0 && isHome);
}
