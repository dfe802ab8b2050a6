import { GcError } from '../platform/errors.ts';
import { InteractionUnsupportedError } from '../runtime/errors.ts';
import { canWaitForIdle, type Provider } from '../runtime/provider.ts';
import { displayName } from '../session/display.ts';
import type { SessionRecord } from '../session/record.ts';
import type { CityEngine } from './city-engine.ts';
import type { SessionVerbs } from './session-verbs.ts';
import { requireAction, requireExisting } from './verb-context.ts';

/** An agent that has nothing to do shows it within this. */
const IDLE_LOOK_MS = 500;

export interface Interrupter {
  readonly engine: CityEngine;
  readonly verbs: SessionVerbs;
  /** Who asks, for the events. */
  readonly actor: string;
}

/**
 * Has an agent leave what it does now; it lives on. Never done to one that is known to be idle: some programs take a
 * second Ctrl-C for the wish to end.
 * @throws GcError `session-not-active`, `session-idle`, `runtime-unknown`
 */
export async function interruptSession(
  { engine, verbs, actor }: Interrupter,
  token: string,
): Promise<SessionRecord> {
  const target = await verbs.target(token);
  requireAction(target, 'interrupt');
  const { record } = requireExisting(target, 'interrupt');
  const { provider, db } = engine.parts;
  const name = displayName(record);
  if (await isIdle(provider, record.sessionName)) {
    throw new GcError('session-idle', `session ${name} does nothing that could be interrupted`, {
      next: `gc session peek ${name}`,
    });
  }
  if (leavesByEscape(record)) await provider.sendKeys(record.sessionName, ['Escape']);
  else await provider.interrupt(record.sessionName);
  const why = `${actor} asked for it`;
  await db.commit({
    events: [{ type: 'session.updated', actor, subject: name, message: 'interrupted' }],
    decisions: [{ sessionId: record.id, what: 'interrupt', why, inputs: {} }],
  });
  return record;
}

/** These leave a turn by Escape; a Ctrl-C that comes when the turn is just over would be the wish to end. */
const BY_ESCAPE: ReadonlySet<string> = new Set(['claude', 'codex', 'gemini']);

function leavesByEscape(record: SessionRecord): boolean {
  return record.transport !== 'acp' && BY_ESCAPE.has(record.providerKind || record.provider);
}

/** Known to be idle: where that cannot be told, it is not. */
async function isIdle(provider: Provider, name: string): Promise<boolean> {
  if (!canWaitForIdle(provider)) return false;
  return await provider.waitForIdle(name, IDLE_LOOK_MS).catch((error: unknown) => {
    if (error instanceof InteractionUnsupportedError) return false;
    throw error;
  });
}
