import { type AgentProfile, profileKindOf, profileOf } from '../profiles.ts';
import { META_INSTANCE_TOKEN } from '../provider.ts';
import { LOOK_BACK_LINES, type Look, lookAt } from '../screen.ts';
import type { BackendSession, TerminalBackend } from './backend.ts';

/** What a session itself tells about the agent in it, the same in every process. */
export interface SessionFacts {
  readonly profile: AgentProfile;
  /** The prompt to look for; `''`: none known. */
  readonly prefix: string;
  /** Absolute; `''` when unknown. */
  readonly workDir: string;
}

export async function readFacts(backend: TerminalBackend, session: BackendSession): Promise<SessionFacts> {
  const [provider, prefix, workDir] = await Promise.all([
    backend.getMeta(session.name, 'GC_PROVIDER'),
    backend.getMeta(session.name, 'GC_READY_PROMPT_PREFIX'),
    backend.getMeta(session.name, 'GC_DIR'),
  ]);
  return { profile: profileOf(profileKindOf(provider, session.processNames)), prefix, workDir };
}

/** The instance token that the session was created with, `''` when it has none. */
export async function tokenOf(backend: TerminalBackend, session: BackendSession): Promise<string> {
  return session.meta[META_INSTANCE_TOKEN] ?? (await backend.getMeta(session.name, META_INSTANCE_TOKEN));
}

export async function look(backend: TerminalBackend, name: string): Promise<Look> {
  return lookAt(await backend.capture(name, LOOK_BACK_LINES));
}

/** The kernel cuts names of processes there. */
const COMM_LIMIT = 15;

/** Whether one of `wanted` runs: by base name, by its first 15 characters, or by name without extension. */
export function hasProcess(running: readonly string[], wanted: readonly string[]): boolean {
  const names = new Set(running.flatMap((name) => [name, name.replace(/\.[^.]+$/, '')]));
  return wanted.some((name) => {
    const base = name.slice(name.lastIndexOf('/') + 1);
    return names.has(base) || (base.length > COMM_LIMIT && names.has(base.slice(0, COMM_LIMIT)));
  });
}
