import type { Ids } from '../platform/ids.ts';
import type { RuntimeConfig } from '../runtime/runtime-config.ts';
import { newSessionKey, resolveSessionCommand } from '../session/command.ts';
import type { SessionRecord } from '../session/record.ts';
import type { ResolvedDesired } from './model.ts';

/** What one life of a session adds to what its agent asks for. Nothing of it is in the fingerprint. */
export interface Life {
  readonly recordId: string;
  readonly generation: number;
  readonly continuationEpoch: number;
  /** 32 hex digits, new with every start: proves in the runtime which life a process belongs to. */
  readonly instanceToken: string;
  readonly alias: string;
  readonly origin: string;
  readonly conversation: Conversation;
}

export interface Conversation {
  /** `''`: the preset cannot be told which conversation to use, or the agent names a new one itself. */
  readonly key: string;
  readonly first: boolean;
}

/** The configuration that a provider starts. Source: Gas City's session command construction. */
export function startConfig(desired: ResolvedDesired, life: Life): RuntimeConfig {
  const { config } = desired;
  const agent = life.alias || desired.sessionName;
  const { command } = resolveSessionCommand(
    {
      command: config.command,
      key: life.conversation.key,
      firstStart: life.conversation.first,
      wakeMode: desired.wakeMode,
    },
    desired.resume,
  );
  return {
    ...config,
    command,
    conversation: desired.transport === 'acp' && !life.conversation.first ? life.conversation.key : '',
    env: {
      ...config.env,
      GC_SESSION_ID: life.recordId,
      GC_SESSION_NAME: desired.sessionName,
      GC_RUNTIME_EPOCH: String(life.generation),
      GC_CONTINUATION_EPOCH: String(life.continuationEpoch),
      GC_INSTANCE_TOKEN: life.instanceToken,
      GC_ALIAS: life.alias,
      GC_AGENT: agent,
      GC_TEMPLATE: desired.template,
      GC_SESSION_ORIGIN: life.origin,
      GC_PROVIDER: desired.providerKind || desired.provider,
      GC_DIR: config.workDir,
    },
  };
}

/**
 * Which conversation the next life has. A key exists only where the preset can be given one; a conversation is
 * resumed only when an earlier start with its key was completed.
 */
export function nextConversation(desired: ResolvedDesired, record: SessionRecord, ids: Ids): Conversation {
  const startCompleted = record.startedConfigHash !== '' && !record.continuationResetPending;
  const goesOn = desired.wakeMode === 'resume' && canResume(desired) && !forgets(desired, record);
  if (record.sessionKey !== '' && startCompleted && goesOn) return { key: record.sessionKey, first: false };
  return { key: newSessionKey(desired.resume, ids), first: true };
}

/** `no`: the agent said in its last life that it cannot go on with a conversation. Kept in the record. */
export const RESUMES_KEY = 'conversation_resumes';

/** Not to be asked again: a start that is refused for it would be a failure of nobody. */
export function forgets(desired: ResolvedDesired, record: SessionRecord): boolean {
  return desired.transport === 'acp' && record.metadata[RESUMES_KEY] === 'no';
}

/** Over ACP every conversation has an id of the agent's own: whether it can go on with one is for the agent to say. */
export function canResume(desired: ResolvedDesired): boolean {
  if (desired.transport === 'acp') return true;
  return desired.resume.resumeFlag !== '' || desired.resume.resumeCommand !== '';
}
