import { GcError } from '../platform/errors.ts';
import { displayName } from './display.ts';
import type { ConfiguredName } from './names.ts';
import { nearestNames } from './nearest-name.ts';
import type { SessionRecord } from './record.ts';

export interface ResolveQuestion {
  /** What was typed. */
  readonly token: string;
  readonly records: readonly SessionRecord[];
  readonly configured: readonly ConfiguredName[];
  /** Closed sessions may be meant: for commands that only read. */
  readonly closedToo: boolean;
  /** The rig in whose folder the command runs, `''` for none. */
  readonly rig: string;
}

export type Resolution =
  | { readonly kind: 'session'; readonly record: SessionRecord }
  /** Configured by name, and no record yet. */
  | { readonly kind: 'reserved'; readonly identity: string; readonly sessionName: string }
  | { readonly kind: 'ambiguous'; readonly matches: readonly Match[] }
  | { readonly kind: 'none'; readonly suggestions: readonly string[] };

/** Something that a name can mean. */
export interface Match {
  /** The bead id, or the identity where there is no record. */
  readonly id: string;
  readonly label: string;
}

type Candidate =
  | { readonly kind: 'session'; readonly record: SessionRecord }
  | { readonly kind: 'reserved'; readonly identity: string; readonly sessionName: string };

/**
 * What a name on the command line means: one function for every command and every interface. Exact names come before
 * short ones, live sessions before closed ones; a short name works while it means one thing.
 * Source: Gas City's session resolution, with every name that a listing prints accepted.
 */
export function resolveSession(question: ResolveQuestion): Resolution {
  const { token, records } = question;
  const byId = records.find((record) => record.id === token);
  if (byId) return { kind: 'session', record: byId };
  const candidates = liveCandidates(question);
  if (token === '') return { kind: 'none', suggestions: [] };
  for (const names of STEPS) {
    const matches = candidates.filter((candidate) => names(candidate, question).includes(token));
    const resolved = single(matches);
    if (resolved) return resolved;
  }
  return (question.closedToo ? resolveClosed(question) : undefined) ?? notFound(question, candidates);
}

/** Says that an agent is meant, where one can be. Source: Gas City. */
const TEMPLATE_PREFIX = 'template:';

/** The same for callers that need exactly one. @throws GcError `session-not-found`, `ambiguous-session` */
export function requireResolved(question: ResolveQuestion): Candidate {
  if (question.token.startsWith(TEMPLATE_PREFIX)) throw agentMeant(question.token);
  const resolution = resolveSession(question);
  switch (resolution.kind) {
    case 'ambiguous':
      throw new AmbiguousSessionError(question.token, resolution.matches);
    case 'none':
      throw new UnknownSessionError(question.token, resolution.suggestions);
    default:
      return resolution;
  }
}

/** From the most exact meaning of a name to the loosest. */
const STEPS: readonly ((candidate: Candidate, question: ResolveQuestion) => readonly string[])[] = [
  (candidate) => [identityOf(candidate), runtimeNameOf(candidate)],
  (candidate) => [aliasOf(candidate)],
  (candidate, { rig }) => (rig === '' ? [] : inRig(rig, fullNames(candidate))),
  (candidate) => fullNames(candidate).flatMap(shortForms),
  (candidate) => agentNames(candidate),
  (candidate) => agentNames(candidate).flatMap(shortForms),
];

const present = (names: readonly string[]): readonly string[] => names.filter((name) => name !== '');
const identityOf = (candidate: Candidate): string =>
  candidate.kind === 'session' ? heldIdentity(candidate.record) : candidate.identity;
/** A retired record remembers the identity that it had, and no longer answers to it. */
const heldIdentity = (record: SessionRecord): string =>
  record.metadata['continuity_eligible'] === 'false' ? '' : record.namedIdentity;
const runtimeNameOf = (candidate: Candidate): string =>
  candidate.kind === 'session' ? candidate.record.sessionName : candidate.sessionName;
const aliasOf = (candidate: Candidate): string =>
  candidate.kind === 'session' ? candidate.record.alias : '';
const fullNames = (candidate: Candidate): readonly string[] =>
  present([identityOf(candidate), aliasOf(candidate)]);
const agentNames = (candidate: Candidate): readonly string[] =>
  candidate.kind === 'session' ? present([candidate.record.agentName, candidate.record.template]) : [];

/** In its own rig, `rig/worker` answers to `worker`. */
function inRig(rig: string, names: readonly string[]): readonly string[] {
  const prefix = `${rig}/`;
  return names.filter((name) => name.startsWith(prefix)).flatMap((name) => shortForms(name));
}

/** `rig/binding.name` is also `binding.name`, `name` and `rig/name`. */
function shortForms(name: string): readonly string[] {
  const slash = name.lastIndexOf('/');
  const folder = name.slice(0, slash + 1);
  const leaf = name.slice(slash + 1);
  const dot = leaf.indexOf('.');
  const bare = dot === -1 ? leaf : leaf.slice(dot + 1);
  return present([leaf, bare, folder + bare]);
}

/** Live sessions, and the configured names that no live session has. */
function liveCandidates(question: ResolveQuestion): readonly Candidate[] {
  const live = question.records.filter((record) => !record.closed);
  const taken = new Set(live.map(heldIdentity));
  const reserved = question.configured.filter(({ identity }) => !taken.has(identity));
  return [
    ...live.map((record): Candidate => ({ kind: 'session', record })),
    ...reserved.map((entry): Candidate => ({ kind: 'reserved', ...entry })),
  ];
}

function resolveClosed(question: ResolveQuestion): Resolution | undefined {
  const closed = question.records.filter((record) => record.closed);
  const candidates = closed.map((record): Candidate => ({ kind: 'session', record }));
  for (const name of [runtimeNameOf, aliasOf, identityOf]) {
    const matches = candidates.filter((candidate) => name(candidate) === question.token);
    const resolved = newest(matches) ?? undefined;
    if (resolved) return resolved;
  }
  return undefined;
}

/** Several closed lives of one name are no question: the last one is meant. */
function newest(matches: readonly Candidate[]): Resolution | undefined {
  const sorted = matches
    .flatMap((match) => (match.kind === 'session' ? [match.record] : []))
    .sort((a, b) => b.createdAt - a.createdAt || b.id.length - a.id.length || b.id.localeCompare(a.id));
  const record = sorted[0];
  return record && { kind: 'session', record };
}

function single(matches: readonly Candidate[]): Resolution | undefined {
  const [first, second] = matches;
  if (first === undefined) return undefined;
  if (second !== undefined) return { kind: 'ambiguous', matches: matches.map(asMatch) };
  return first;
}

function asMatch(candidate: Candidate): Match {
  if (candidate.kind === 'reserved') return { id: candidate.identity, label: candidate.identity };
  const { record } = candidate;
  return { id: record.id, label: record.alias || record.sessionName || record.template || record.title };
}

function notFound(question: ResolveQuestion, candidates: readonly Candidate[]): Resolution {
  const names = candidates.map((candidate) =>
    candidate.kind === 'session' ? displayName(candidate.record) : candidate.identity,
  );
  const aliases = candidates.flatMap((candidate) => present([aliasOf(candidate)]));
  return { kind: 'none', suggestions: nearestNames(question.token, [...names, ...aliases]) };
}

function agentMeant(token: string): GcError {
  const agent = token.slice(TEMPLATE_PREFIX.length);
  return new GcError(
    'session-not-found',
    `session not found: ${JSON.stringify(token.slice(0, 80))} names an agent, and a session is meant here`,
    { next: `gc session list --template ${agent}, or gc session new ${agent}` },
  );
}

export class UnknownSessionError extends GcError {
  readonly suggestions: readonly string[];

  constructor(token: string, suggestions: readonly string[]) {
    const meant = suggestions.map((name) => JSON.stringify(name)).join(' or ');
    super(
      'session-not-found',
      `session not found: ${JSON.stringify(token.slice(0, 80))}${meant ? `; did you mean ${meant}?` : ''}`,
      { next: 'gc session list' },
    );
    this.suggestions = suggestions;
  }
}

export class AmbiguousSessionError extends GcError {
  readonly matches: readonly Match[];

  constructor(token: string, matches: readonly Match[]) {
    const listed = matches.map(({ id, label }) => (id === label ? id : `${id} (${label})`)).join(', ');
    super('ambiguous-session', `ambiguous session identifier ${JSON.stringify(token)}: ${listed}`, {
      next: 'use one of these ids or full names',
    });
    this.matches = matches;
  }
}
