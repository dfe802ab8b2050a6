import type { BeadWrite } from '../beads/sqlite/city-database.ts';
import type { NewEvent } from '../events/event.ts';
import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Ids } from '../platform/ids.ts';
import { META_CONVERSATION } from '../runtime/provider.ts';
import { NEW_CONVERSATION_KEY } from '../session/journal/facts.ts';
import { type NewSession, newSessionBead } from '../session/record-codec.ts';
import type { Desired } from './model.ts';
import type { Change } from './plan.ts';
import { poolMetadata } from './pool-record.ts';

/** What new records are made from, beside the config. */
export interface NewRecordContext {
  readonly now: number;
  readonly ids: Ids;
  /** Aliases of open records: no two may have one. */
  readonly aliases: ReadonlySet<string>;
}

/** The record of a session that the config names, or that a named one needs. */
export function createRecord(
  desired: Desired,
  context: NewRecordContext,
  life: Pick<NewSession, 'state'> & Partial<NewSession>,
): BeadWrite {
  const hasAlias = desired.kind === 'named' || desired.kind === 'pool';
  const alias = hasAlias && !context.aliases.has(desired.identity) ? desired.identity : '';
  const resolved = desired.resolution === 'resolved' ? desired : undefined;
  const session: NewSession = {
    template: desired.template,
    sessionName: desired.sessionName,
    sessionNameExplicit: true,
    alias,
    origin: desired.kind === 'named' ? 'named' : 'ephemeral',
    ...(desired.kind === 'named' ? { named: { identity: desired.identity, mode: desired.mode } } : {}),
    ...(desired.kind === 'pool' ? { agentName: desired.identity } : {}),
    dependencyOnly: desired.kind === 'dependency',
    provider: resolved?.provider ?? '',
    providerKind: resolved?.providerKind ?? '',
    workDir: resolved?.config.workDir ?? '',
    command: resolved?.config.command ?? '',
    transport: resolved?.transport ?? '',
    resumeFlag: resolved?.resume.resumeFlag ?? '',
    resumeStyle: resolved?.resume.resumeStyle ?? '',
    resumeCommand: resolved?.resume.resumeCommand ?? '',
    instanceToken: context.ids.hex(16),
    wakeMode: resolved?.wakeMode === 'fresh' ? 'fresh' : '',
    ...life,
    metadata: { ...(desired.slot === undefined ? {} : poolMetadata(desired.slot)), ...life.metadata },
  };
  return { kind: 'create', bead: (id) => newSessionBead(id, session) };
}

/**
 * A living session of ours without a record gets one: named by the config where that knows it, else from what is marked
 * on the session. Its token makes it this record's life. What it was started with is not known: it does not drift.
 */
export function adopt(
  change: Extract<Change, { kind: 'adopt' }>,
  context: NewRecordContext,
): { readonly beads: readonly BeadWrite[]; readonly events: readonly NewEvent[] } {
  const { sessionName, meta, desired } = change;
  const life = {
    state: 'active' as const,
    stateReason: 'adopted',
    instanceToken: meta['GC_INSTANCE_TOKEN'] || context.ids.hex(16),
    ...adoptedConversation(meta),
    metadata: {
      last_woke_at: rfc3339(context.now),
      generation: meta['GC_RUNTIME_EPOCH'] || '1',
      [NEW_CONVERSATION_KEY]: conversationOf(meta)
        ? ''
        : 'it was taken over while it lived: which conversation it has is not known',
    },
  };
  const beads = [desired ? createRecord(desired, context, life) : strayRecord(sessionName, meta, life)];
  const adopted: NewEvent = {
    type: 'session.updated',
    actor: CONTROLLER_ACTOR,
    subject: desired?.identity ?? sessionName,
    message: 'adopted: it lives and had no record',
  };
  return { beads, events: [adopted] };
}

/** Where the agent names its conversation itself, it is marked on the session. */
function conversationOf(meta: Readonly<Record<string, string>>): string {
  return meta[META_CONVERSATION] ?? '';
}

function adoptedConversation(meta: Readonly<Record<string, string>>): Partial<NewSession> {
  const sessionKey = conversationOf(meta);
  return sessionKey === '' ? {} : { sessionKey };
}

/** A living session of ours that nothing in the config explains: it gets a record, and is let go by the next pass. */
function strayRecord(
  sessionName: string,
  meta: Readonly<Record<string, string>>,
  life: Pick<NewSession, 'state' | 'instanceToken'> & Partial<NewSession>,
): BeadWrite {
  const session: NewSession = {
    template: meta['GC_TEMPLATE'] || sessionName,
    sessionName,
    sessionNameExplicit: true,
    origin: meta['GC_SESSION_ORIGIN'] === 'manual' ? 'manual' : 'ephemeral',
    provider: meta['GC_PROVIDER'] ?? '',
    workDir: meta['GC_DIR'] ?? '',
    command: '',
    ...life,
  };
  return { kind: 'create', bead: (id) => newSessionBead(id, session) };
}
