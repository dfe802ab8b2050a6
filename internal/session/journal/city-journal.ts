import type { OutboxDraft } from '../../beads/sqlite/outbox-table.ts';
import type { Witness, Witnessed, WitnessView } from '../../beads/sqlite/witness.ts';
import type { Bead } from '../../beads/store.ts';
import { CONTROLLER_ACTOR } from '../../events/event-types.ts';
import { rfc3339 } from '../../platform/clock.ts';
import { fieldsOf } from '../../platform/fields.ts';
import type { Ids } from '../../platform/ids.ts';
import { newSessionUid } from '../../protocol/session-id.ts';
import { displayName } from '../display.ts';
import { SESSION_BEAD_TYPE, type SessionRecord } from '../record.ts';
import { toSessionRecord } from '../record-codec.ts';
import { ACP_FAMILY } from '../transcript/acp/acp-reader.ts';
import { type CityFact, LOG_UID_KEY } from './facts.ts';
import { nudgeFacts } from './nudge-facts.ts';
import { isOfQuestion, questionFact } from './question-facts.ts';
import { type Cause, recordFacts } from './record-facts.ts';

/** What waits in the outbox for one log, as JSON. */
export interface OutboxBody {
  /** The session as the log's store is to know it; made before anything is written. */
  readonly session: SessionHead;
  /** People call it something else now. */
  readonly renamed?: true;
  readonly facts: readonly CityFact[];
  readonly new_incarnation?: true;
  /** The life is over: what its conversation still has to say is written first. */
  readonly life_over?: ConversationPlace;
}

export interface SessionHead {
  readonly name: string;
  readonly record: string;
  readonly agent: string;
  readonly template: string;
}

/** Where one life's conversation is found. */
export interface ConversationPlace {
  /** The kind of agent program, `acp` for every one that is spoken to in that protocol. */
  readonly program: string;
  /** The session's name in the runtime. Absent in what an older version left. */
  readonly session?: string;
  /** What people call it: its first prompt begins with that. Absent in what an older version left. */
  readonly agent?: string;
  readonly work_dir: string;
  /** `''`: the program takes none. */
  readonly key: string;
  /** When the life began, milliseconds since the epoch. */
  readonly since: number;
}

export function placeOf(record: SessionRecord): ConversationPlace {
  return {
    program: programOf(record),
    session: record.sessionName,
    agent: displayName(record),
    work_dir: record.workDir,
    key: record.sessionKey,
    since: record.lastWokeAt ?? 0,
  };
}

/** Whose conversations the session's are read as. */
export function programOf(record: Pick<SessionRecord, 'transport' | 'providerKind' | 'provider'>): string {
  return record.transport === ACP_FAMILY ? ACP_FAMILY : record.providerKind || record.provider;
}

/** Sees what a city's transactions do to its sessions and leaves word for their logs. */
export function cityJournal(ids: Pick<Ids, 'hex'>): Witness {
  return {
    types: new Set([SESSION_BEAD_TYPE]),
    adorn: ({ metadata }) => (metadata[LOG_UID_KEY] ? {} : { [LOG_UID_KEY]: newSessionUid(ids) }),
    tell: (seen, view) => [...recordDrafts(seen), ...nudgeDrafts(seen, view), ...questionDrafts(seen, view)],
  };
}

function recordDrafts(seen: Witnessed): readonly OutboxDraft[] {
  const cause: Cause = { now: seen.now, events: seen.events, decisions: seen.decisions };
  return seen.beads.flatMap((change) => {
    const before = change.before && toSessionRecord(change.before);
    const after = toSessionRecord(change.after);
    const { facts, newIncarnation, lifeOver } = recordFacts(before, after, cause);
    const isRenamed = before !== undefined && displayName(before) !== displayName(after) && !after.closed;
    if (facts.length === 0 && !isRenamed) return [];
    const body: OutboxBody = {
      session: headOf(after),
      ...(isRenamed ? { renamed: true } : {}),
      facts,
      ...(newIncarnation ? { new_incarnation: true } : {}),
      ...(before && lifeOver ? { life_over: placeOf(before) } : {}),
    };
    return [draft(after, `record:${after.id}:${after.revision}`, body)];
  });
}

function headOf(record: SessionRecord): SessionHead {
  const { id, agentName, template } = record;
  return { name: displayName(record), record: id, agent: agentName || template, template };
}

/** Whoever has the name is told; a name without a session has no log, and what comes of the message is in the events. */
function nudgeDrafts(seen: Witnessed, view: WitnessView): readonly OutboxDraft[] {
  return seen.nudges.flatMap((change) => {
    const facts = nudgeFacts(change, seen.now);
    if (facts.length === 0) return [];
    const { boundSessionId, sessionName } = change.after;
    const bead = boundSessionId ? view.get(boundSessionId) : openSession(view, sessionName);
    const record = bead && toSessionRecord(bead);
    if (!record?.metadata[LOG_UID_KEY]) return [];
    return facts.map(({ source, fact }) => draft(record, source, { session: headOf(record), facts: [fact] }));
  });
}

/** What an agent asked, who answered it, and what came of that. */
function questionDrafts({ now, decisions, events }: Witnessed, view: WitnessView): readonly OutboxDraft[] {
  return decisions.flatMap((decision) => {
    const bead = isOfQuestion(decision) ? view.get(decision.sessionId) : undefined;
    const record = bead && toSessionRecord(bead);
    if (!record?.metadata[LOG_UID_KEY]) return [];
    const of = String(decision.inputs['interaction'] ?? '');
    const told = events.find(({ payload }) => fieldsOf(payload)['interaction'] === of);
    const actor = told?.actor ?? CONTROLLER_ACTOR;
    const fact = questionFact(decision, { at: rfc3339(now), actor, said: told?.message ?? decision.why });
    const source = `interaction:${of}:${decision.what}:${now}`;
    return [draft(record, source, { session: headOf(record), facts: [fact] })];
  });
}

function openSession(view: WitnessView, sessionName: string): Bead | undefined {
  return view.find(SESSION_BEAD_TYPE, { session_name: sessionName });
}

function draft(record: SessionRecord, source: string, body: OutboxBody): OutboxDraft {
  return { logUid: record.metadata[LOG_UID_KEY] ?? '', source, body: { ...body } };
}
