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
  /** `''`: the preset cannot be told which conversation to use. */
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
  if (record.sessionKey !== '' && startCompleted && desired.wakeMode === 'resume' && canResume(desired)) {
    return { key: record.sessionKey, first: false };
  }
  return { key: newSessionKey(desired.resume, ids), first: true };
}

export function canResume(desired: ResolvedDesired): boolean {
  return desired.resume.resumeFlag !== '' || desired.resume.resumeCommand !== '';
}
