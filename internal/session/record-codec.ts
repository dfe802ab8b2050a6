import type { Bead, NewBead } from '../beads/store.ts';
import { parseRfc3339 } from '../platform/clock.ts';
import { SESSION_BEAD_LABEL, SESSION_BEAD_TYPE, type SessionRecord } from './record.ts';

/** A bead that is a session's record, or was one and lost its type. */
export function isSessionBead(bead: Bead): boolean {
  if (bead.issue_type === SESSION_BEAD_TYPE) return true;
  return bead.issue_type === '' && bead.labels.includes(SESSION_BEAD_LABEL);
}

const ORIGINS: readonly string[] = ['manual', 'ephemeral', 'named'];

/** A typed look at a session's bead. Unreadable values read as absent: a record can always be shown. */
export function toSessionRecord(bead: Bead): SessionRecord {
  const { metadata } = bead;
  const text = (key: string): string => metadata[key] ?? '';
  const isTrue = (key: string): boolean => text(key) === 'true';
  return {
    id: bead.id,
    revision: bead.revision,
    closed: bead.status === 'closed',
    title: bead.title,
    createdAt: parseRfc3339(bead.created_at) ?? 0,
    template: text('template'),
    agentName: text('agent_name') || text('common_name'),
    sessionName: text('session_name'),
    sessionNameExplicit: isTrue('session_name_explicit'),
    alias: text('alias'),
    state: text('state'),
    stateReason: text('state_reason'),
    origin: originOf(metadata),
    namedIdentity: text('configured_named_identity'),
    namedMode: text('configured_named_mode'),
    provider: text('provider'),
    providerKind: text('provider_kind'),
    workDir: text('work_dir'),
    command: text('command'),
    sessionKey: text('session_key'),
    transport: text('transport'),
    generation: countOf(text('generation')),
    continuationEpoch: countOf(text('continuation_epoch')),
    instanceToken: text('instance_token'),
    pendingCreateClaim: isTrue('pending_create_claim'),
    startedConfigHash: text('started_config_hash'),
    startedLiveHash: text('started_live_hash'),
    lastWokeAt: parseRfc3339(text('last_woke_at')),
    heldUntil: parseRfc3339(text('held_until')),
    quarantinedUntil: parseRfc3339(text('quarantined_until')),
    sleepReason: text('sleep_reason'),
    sleepIntent: text('sleep_intent'),
    waitHold: isTrue('wait_hold'),
    pinAwake: isTrue('pin_awake'),
    restartRequested: isTrue('restart_requested'),
    continuationResetPending: isTrue('continuation_reset_pending'),
    dependencyOnly: isTrue('dependency_only'),
    wakeMode: text('wake_mode'),
    metadata,
  };
}

function originOf(metadata: Readonly<Record<string, string>>): SessionRecord['origin'] {
  const origin = metadata['session_origin'] ?? '';
  if (ORIGINS.includes(origin)) return origin as SessionRecord['origin'];
  return metadata['manual_session'] === 'true' ? 'manual' : '';
}

/** A whole number of 0 or more; anything else reads as 0. */
export function countOf(text: string | undefined): number {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

/** What a new session's record starts with. Empty fields are not written. */
export interface NewSession {
  readonly template: string;
  readonly title?: string;
  /** The concrete agent: equals the template except for the members of a pool. */
  readonly agentName?: string;
  /** `''` or absent: `s-<id>`. */
  readonly sessionName?: string;
  readonly sessionNameExplicit?: boolean;
  readonly alias?: string;
  readonly origin: 'manual' | 'ephemeral' | 'named';
  readonly named?: { readonly identity: string; readonly mode: string };
  readonly provider: string;
  readonly providerKind?: string;
  readonly transport?: string;
  readonly workDir: string;
  readonly command: string;
  readonly resumeFlag?: string;
  readonly resumeStyle?: string;
  readonly resumeCommand?: string;
  /** Only where the agent program takes one. */
  readonly sessionKey?: string;
  readonly instanceToken: string;
  readonly wakeMode?: string;
  readonly state: 'creating' | 'active' | 'asleep';
  readonly stateReason?: string;
  /** A start is wanted and not confirmed yet. */
  readonly pendingCreateClaim?: boolean;
  readonly dependencyOnly?: boolean;
  /** Keys that have no field here. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** The automatic runtime name of a session that was given none. */
export function automaticSessionName(id: string): string {
  return `s-${id.replaceAll('/', '--')}`;
}

/** The bead of a new session. Source: Gas City's session record. */
export function newSessionBead(id: string, session: NewSession): NewBead {
  const agent = session.agentName || session.template;
  return {
    title: session.title || session.template,
    issue_type: SESSION_BEAD_TYPE,
    labels: [SESSION_BEAD_LABEL, `template:${session.template}`, `agent:${agent}`],
    metadata: {
      template: session.template,
      agent_name: agent,
      session_name: session.sessionName || automaticSessionName(id),
      session_name_explicit: session.sessionNameExplicit ? 'true' : '',
      alias: session.alias ?? '',
      state: session.state,
      state_reason: session.stateReason ?? '',
      session_origin: session.origin,
      configured_named_session: session.named ? 'true' : '',
      configured_named_identity: session.named?.identity ?? '',
      configured_named_mode: session.named?.mode ?? '',
      provider: session.provider,
      provider_kind: session.providerKind ?? '',
      transport: session.transport ?? '',
      work_dir: session.workDir,
      command: session.command,
      resume_flag: session.resumeFlag ?? '',
      resume_style: session.resumeStyle ?? '',
      resume_command: session.resumeCommand ?? '',
      session_key: session.sessionKey ?? '',
      generation: '1',
      continuation_epoch: '1',
      instance_token: session.instanceToken,
      wake_mode: session.wakeMode ?? '',
      pending_create_claim: session.pendingCreateClaim ? 'true' : '',
      dependency_only: session.dependencyOnly ? 'true' : '',
      ...session.metadata,
    },
  };
}

/** Older values of a comma list, newest first, without the current one and without repeats. */
export function withHistory(history: string, replaced: string, current: string): string {
  const entries = [replaced, ...history.split(',')].map((entry) => entry.trim());
  return [...new Set(entries)].filter((entry) => entry !== '' && entry !== current).join(',');
}
