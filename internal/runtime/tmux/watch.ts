import { identityOf } from '../../platform/process-identity.ts';
import type { RuntimeEvent } from '../provider.ts';
import type { TmuxContext } from './context.ts';
import { type Corpse, readCorpse } from './exits.ts';
import { paneKey } from './observe.ts';
import {
  attachedCounts,
  CLIENT_FORMAT,
  type OwnedSession,
  ownedSessions,
  parsePaneRows,
  ROW_FORMAT,
} from './pane-rows.ts';

/** Over the control connection one look at 100 sessions costs about a millisecond; a plain one costs a process. */
export const CONTROL_WATCH_MS = 200;
export const PLAIN_WATCH_MS = 1_000;
/** Every so many looks the processes themselves are looked at: tmux can miss an end, see `COLLECT_CHILDREN`. */
const LEADER_CHECK_EVERY = 15;

/** What one look of the watcher saw of one session. */
export interface Sighting {
  readonly paneKey: string;
  readonly paneId: string | undefined;
  readonly ended: boolean;
  readonly attached: number;
  readonly activity: number;
}

export interface Look {
  /** What tmux said: when it says the same again, nothing changed. */
  readonly text: string;
  readonly serverLife: string;
  readonly sessions: ReadonlyMap<string, Sighting>;
}

/** What changed between two looks. `ended` still wants its exit read; `vanished` has nothing left to read. */
export type Change =
  | { readonly kind: 'ended'; readonly name: string; readonly paneId: string; readonly paneKey: string }
  | { readonly kind: 'vanished'; readonly name: string; readonly paneKey: string }
  | { readonly kind: 'activity' | 'attached' | 'detached'; readonly name: string }
  | { readonly kind: 'server-replaced' };

/** Agents that were dead at the first look are reported too: nobody may have seen them end. */
export function changesBetween(before: Look | undefined, now: Look): readonly Change[] {
  const replaced = before !== undefined && before.serverLife !== now.serverLife && before.sessions.size > 0;
  const known = before !== undefined && !replaced ? before.sessions : new Map<string, Sighting>();
  const changes: Change[] = replaced ? [{ kind: 'server-replaced' }] : [];
  for (const [name, old] of known) {
    const same = now.sessions.get(name);
    if (same?.paneKey !== old.paneKey && !old.ended)
      changes.push({ kind: 'vanished', name, paneKey: old.paneKey });
  }
  for (const [name, seen] of now.sessions) {
    const old = known.get(name)?.paneKey === seen.paneKey ? known.get(name) : undefined;
    if (seen.ended && !old?.ended) {
      changes.push(
        seen.paneId
          ? { kind: 'ended', name, paneId: seen.paneId, paneKey: seen.paneKey }
          : { kind: 'vanished', name, paneKey: seen.paneKey },
      );
    }
    if (!old) continue;
    if (seen.activity > old.activity && !seen.ended) changes.push({ kind: 'activity', name });
    if (seen.attached > old.attached) changes.push({ kind: 'attached', name });
    if (seen.attached < old.attached) changes.push({ kind: 'detached', name });
  }
  return changes;
}

export interface WatchOptions {
  readonly pollMs: () => number;
  /** Ends that we caused ourselves are no news. */
  readonly wasEndedByUs: (paneKey: string) => boolean;
}

/** Looks again and again until the signal aborts. A look that could not be had changes nothing. */
export async function* watchSessions(
  context: TmuxContext,
  options: WatchOptions,
  signal: AbortSignal,
): AsyncGenerator<RuntimeEvent, void, void> {
  let before: Look | undefined;
  for (let count = 0; !signal.aborted; count += 1) {
    const look = await takeLook(context, before, count % LEADER_CHECK_EVERY === 0);
    if (look === 'gone') {
      if (before && before.sessions.size > 0) yield serverGone(context);
      before = undefined;
    } else if (look) {
      for (const change of changesBetween(before, look)) {
        const event = await toEvent(context, options, change);
        if (event) yield event;
      }
      before = look;
    }
    try {
      await context.clock.sleep(options.pollMs(), signal);
    } catch {
      return; // the watch was ended
    }
  }
}

async function takeLook(
  context: TmuxContext,
  before: Look | undefined,
  checkLeaders: boolean,
): Promise<Look | 'gone' | undefined> {
  const group = [
    ['list-panes', '-a', '-F', ROW_FORMAT],
    ['list-clients', '-F', CLIENT_FORMAT],
  ];
  const reply = await context.transport.run(group, { repeatable: true });
  if (reply.kind === 'no-server') return 'gone';
  if (reply.kind !== 'ok') return undefined;
  const text = reply.outputs.join('\n');
  if (before?.text === text && !checkLeaders) return before;
  const rows = parsePaneRows(reply.outputs[0] ?? '');
  const attached = attachedCounts(reply.outputs[1] ?? '');
  const owned = ownedSessions(rows, context.city);
  const sessions = new Map<string, Sighting>();
  for (const session of owned.values()) {
    const seen = sighting(session, attached.get(session.name) ?? 0);
    const old = before?.sessions.get(session.name);
    const endedBefore = old?.paneKey === seen.paneKey && old.ended;
    const lost = checkLeaders && session.pane !== undefined && identityOf(session.pane.pid) === undefined;
    sessions.set(session.name, { ...seen, ended: seen.ended || endedBefore || lost });
  }
  return { text, serverLife: rows[0]?.serverLife ?? '', sessions };
}

function sighting(session: OwnedSession, attached: number): Sighting {
  const { pane } = session;
  const paneId = pane?.paneId ?? session.others[0]?.agentPane ?? '';
  return {
    paneKey: paneKey({ serverLife: session.serverLife, paneId }),
    paneId: pane?.paneId,
    ended: pane === undefined || pane.dead,
    attached,
    activity: pane?.windowActivity ?? 0,
  };
}

async function toEvent(
  context: TmuxContext,
  options: WatchOptions,
  change: Change,
): Promise<RuntimeEvent | undefined> {
  switch (change.kind) {
    case 'server-replaced':
      return serverGone(context);
    case 'activity':
    case 'attached':
    case 'detached':
      return { kind: change.kind, name: change.name };
    case 'vanished':
      return options.wasEndedByUs(change.paneKey) ? undefined : exited(change.name, undefined);
    case 'ended': {
      if (options.wasEndedByUs(change.paneKey)) return undefined;
      return exited(change.name, await readCorpse(context, change.paneId));
    }
  }
}

function exited(name: string, corpse: Corpse | undefined): RuntimeEvent {
  return { kind: 'exited', name, exit: corpse?.exit ?? {}, lastLines: corpse?.lastLines ?? '' };
}

function serverGone(context: TmuxContext): RuntimeEvent {
  return { kind: 'infrastructure-gone', what: `tmux server "${context.server.socketName}" is gone` };
}
