import type { Clock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import type { Ids } from '../../platform/ids.ts';
import { RuntimeUnavailableError, SessionNotFoundError } from '../errors.ts';
import { isSessionName } from '../name-rule.ts';
import { type City, exactSession } from './ownership.ts';
import { type OwnedSession, ownedSessions, type PaneRow, parsePaneRows, ROW_FORMAT } from './pane-rows.ts';
import type { TmuxServer } from './server.ts';
import { classifyRefusal, type Reply, type Transport } from './transport.ts';

/** What every act of this back end needs. */
export interface TmuxContext {
  readonly server: TmuxServer;
  readonly transport: Transport;
  readonly city: City;
  readonly clock: Clock;
  readonly ids: Ids;
}

export type Lookup =
  | { readonly kind: 'present'; readonly session: OwnedSession }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknown'; readonly reason: string };

/** Looks one session up by its exact name. A session that is not stamped as ours is absent. */
export async function lookup(context: TmuxContext, name: string): Promise<Lookup> {
  // A name with a colon or a dot would be read as a window or a pane of another session.
  if (!isSessionName(name)) return { kind: 'absent' };
  const reply = await context.transport.run(
    [['list-panes', '-s', '-t', exactSession(name), '-F', ROW_FORMAT]],
    {
      repeatable: true,
    },
  );
  if (reply.kind !== 'ok') return absentOrUnknown(reply);
  const session = ownedSessions(parsePaneRows(reply.outputs[0] ?? ''), context.city).get(name);
  return session ? { kind: 'present', session } : { kind: 'absent' };
}

export function absentOrUnknown(
  reply: Exclude<Reply, { kind: 'ok' }>,
): { kind: 'absent' } | { kind: 'unknown'; reason: string } {
  switch (reply.kind) {
    case 'no-server':
      return { kind: 'absent' };
    case 'no-answer':
      return { kind: 'unknown', reason: reply.detail };
    case 'refused':
      return classifyRefusal(reply.message) === 'not-found'
        ? { kind: 'absent' }
        : { kind: 'unknown', reason: reply.message };
  }
}

/** @throws SessionNotFoundError, RuntimeUnavailableError */
export async function requireSession(context: TmuxContext, name: string): Promise<OwnedSession> {
  const found = await lookup(context, name);
  switch (found.kind) {
    case 'present':
      return found.session;
    case 'absent':
      throw new SessionNotFoundError(name);
    case 'unknown':
      throw unavailable(context, found.reason);
  }
}

/** The agent's own pane, the only target for keys, text and captures. @throws SessionNotFoundError when it was closed. */
export async function requirePane(context: TmuxContext, name: string): Promise<PaneRow> {
  const { pane } = await requireSession(context, name);
  if (!pane) throw new SessionNotFoundError(name);
  return pane;
}

/** The outputs of a group that acted on session `name`. @throws SessionNotFoundError, RuntimeUnavailableError, GcError `tmux-refused` */
export function outputsFor(context: TmuxContext, name: string, reply: Reply): readonly string[] {
  switch (reply.kind) {
    case 'ok':
      return reply.outputs;
    case 'no-server':
      throw new SessionNotFoundError(name);
    case 'no-answer':
      throw unavailable(context, reply.detail);
    case 'refused':
      if (classifyRefusal(reply.message) === 'not-found') throw new SessionNotFoundError(name);
      throw new GcError('tmux-refused', `tmux refused: ${reply.message} (session "${name}")`);
  }
}

export function unavailable(context: TmuxContext, reason: string): RuntimeUnavailableError {
  return new RuntimeUnavailableError(
    `tmux server "${context.server.socketName}" could not be asked: ${reason}`,
  );
}
