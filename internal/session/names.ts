import { GcError } from '../platform/errors.ts';
import type { Ids } from '../platform/ids.ts';
import { displayName } from './display.ts';
import type { SessionRecord } from './record.ts';

export const MAX_NAME_LENGTH = 64;
const SESSION_NAME = /^[a-zA-Z0-9][a-zA-Z0-9_-]*$/;
const ALIAS = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*(?:\/[a-zA-Z0-9][a-zA-Z0-9_.-]*)*$/;
/** Automatic names begin so. */
const RESERVED_PREFIX = 's-';
const BEAD_ID = /^gc-s?[0-9]+$/;
/** Words that stand where a session's name can stand, as in `gc nudge status`. */
export const RESERVED_WORDS: readonly string[] = ['status', 'drain', 'poll'];
/** The mailbox of people. */
const HUMAN = 'human';

/** Whether a runtime could be told to use this name. */
export function isSessionName(name: string): boolean {
  return SESSION_NAME.test(name);
}

/** @throws GcError `invalid-session-name`, saying what is wrong with it. */
export function checkExplicitName(name: string): void {
  const problem = !SESSION_NAME.test(name)
    ? 'use letters, digits, "_" and "-", beginning with a letter or digit'
    : lengthProblem(name) || prefixProblem(name) || wordProblem(name);
  if (problem) throw new GcError('invalid-session-name', `invalid session name ${shown(name)}: ${problem}`);
}

/** @throws GcError `invalid-session-alias`, saying what is wrong with it. */
export function checkAlias(alias: string): void {
  const problem = !ALIAS.test(alias)
    ? 'use letters, digits, "_", "." and "-" in parts separated by "/", each beginning with a letter or digit'
    : lengthProblem(alias) || prefixProblem(alias) || wordProblem(alias) || aliasProblem(alias);
  if (problem)
    throw new GcError('invalid-session-alias', `invalid session alias ${shown(alias)}: ${problem}`);
}

/** A title on one line: it is printed in tables and at terminals, whoever wrote it. */
export function plainTitle(title: string): string {
  return title.replace(/[\s\p{Cc}]+/gu, ' ').trim();
}

const shown = (name: string): string => JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
const lengthProblem = (name: string): string =>
  name.length > MAX_NAME_LENGTH
    ? `it has ${name.length} characters, at most ${MAX_NAME_LENGTH} are allowed`
    : '';
const prefixProblem = (name: string): string =>
  name.startsWith(RESERVED_PREFIX)
    ? `names that begin with "${RESERVED_PREFIX}" are given automatically`
    : '';
const wordProblem = (name: string): string =>
  RESERVED_WORDS.includes(name) ? 'it is a word of the command line' : '';

function aliasProblem(alias: string): string {
  if (alias === HUMAN) return 'it means the person at the keyboard';
  return BEAD_ID.test(alias) ? 'it looks like a session id' : '';
}

/** A generated name for a session of a template that can have several. */
export function adhocName(base: string, ids: Ids): string {
  const suffix = `-adhoc-${ids.hex(5)}`;
  return `${base.slice(0, MAX_NAME_LENGTH - suffix.length)}${suffix}`;
}

/** The alias as it is stored: for a template that can have several sessions, in the template's folder. */
export function qualifiedAlias(alias: string, templateDir: string, multiSession: boolean): string {
  return multiSession && templateDir !== '' && !alias.includes('/') ? `${templateDir}/${alias}` : alias;
}

/** Names that the configuration gives to an identity, whether it has a record or not. */
export interface ConfiguredName {
  readonly identity: string;
  readonly sessionName: string;
}

export interface NameQuestion {
  readonly name: string;
  /** Every session of the city, the closed ones too. */
  readonly records: readonly SessionRecord[];
  readonly configured: readonly ConfiguredName[];
  /** The configured identity that asks, `''` for an ordinary session. */
  readonly owner: string;
  /** The record that asks: it is never in its own way. */
  readonly selfId?: string;
}

/** Who holds the name. */
export interface NameConflict {
  readonly kind: 'session' | 'configured';
  readonly holder: string;
  readonly detail: string;
}

/**
 * Whether a runtime name is free. A name once chosen is never given to another session, so that a message to it cannot
 * reach a stranger; the owner of a configured name passes its own reservation. Source: Gas City's availability rules.
 */
export function sessionNameConflict(question: NameQuestion): NameConflict | undefined {
  const { name, owner, configured } = question;
  const reserved = configured.find((entry) => entry.sessionName === name);
  if (reserved && reserved.identity !== owner) return configuredConflict(reserved);
  for (const record of others(question)) {
    const detail = record.closed
      ? closedHolderDetail(record, question, reserved !== undefined)
      : liveHolderDetail(record, name, owner);
    if (detail !== '') return { kind: 'session', holder: displayName(record), detail };
  }
  return undefined;
}

/** Whether an alias is free. Aliases of closed sessions are. */
export function aliasConflict(question: NameQuestion): NameConflict | undefined {
  const { name, owner, configured } = question;
  const reserved = configured.find((entry) => entry.identity === name || entry.sessionName === name);
  if (reserved && reserved.identity !== owner) return configuredConflict(reserved);
  for (const record of others(question)) {
    if (record.closed || isOwn(record, owner)) continue;
    const detail = aliasHolderDetail(record, name, owner);
    if (detail !== '') return { kind: 'session', holder: displayName(record), detail };
  }
  return undefined;
}

const others = (question: NameQuestion): readonly SessionRecord[] =>
  question.records.filter((record) => record.id !== question.selfId);

const isOwn = (record: SessionRecord, owner: string): boolean =>
  owner !== '' && record.namedIdentity === owner && record.metadata['continuity_eligible'] === 'false';

function configuredConflict(entry: ConfiguredName): NameConflict {
  return {
    kind: 'configured',
    holder: entry.identity,
    detail: `reserved for the configured session ${entry.identity}`,
  };
}

function closedHolderDetail(
  record: SessionRecord,
  question: NameQuestion,
  reservedForOwner: boolean,
): string {
  if (record.sessionName !== question.name) return '';
  const wasConfigured = record.metadata['configured_named_session'] === 'true';
  if (wasConfigured || (question.owner !== '' && reservedForOwner)) return '';
  return `it was the name of session ${record.id}, which is closed`;
}

function liveHolderDetail(record: SessionRecord, name: string, owner: string): string {
  if (isOwn(record, owner)) return '';
  if (record.sessionName === name) return `session ${record.id} has this name`;
  if (record.alias === name) return `session ${record.id} has it as its alias`;
  if (owner !== '') return '';
  const agents = [record.agentName, record.template, record.metadata['common_name'] ?? ''];
  const taken = agents.some((agent) => agent === name || (!name.includes('/') && agent.endsWith(`/${name}`)));
  return taken ? `session ${record.id} belongs to the agent of this name` : '';
}

function aliasHolderDetail(record: SessionRecord, alias: string, owner: string): string {
  if (record.sessionName === alias) return `session ${record.id} has it as its name`;
  if (record.alias === alias) return `session ${record.id} has this alias`;
  if (record.agentName === alias && owner !== alias)
    return `session ${record.id} belongs to the agent of this name`;
  return '';
}

/** Source of the messages: Gas City's session layer; scripts match them. */
export class SessionNameExistsError extends GcError {
  readonly conflict: NameConflict;

  constructor(kind: 'name' | 'alias', name: string, conflict: NameConflict) {
    super(
      kind === 'name' ? 'session-name-exists' : 'session-alias-exists',
      `session ${kind} already exists: ${shown(name)}: ${conflict.detail}`,
      { next: 'choose another one, or look at gc session list --state all' },
    );
    this.conflict = conflict;
  }
}
