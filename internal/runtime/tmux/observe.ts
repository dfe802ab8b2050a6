import { namesOf, type ProcessTable, sharedSnapshot, treeOf } from '../../platform/process-tree.ts';
import { isSessionName } from '../name-rule.ts';
import type { BackendSession, Inspection, InspectionOfAll } from '../terminal/backend.ts';
import { absentOrUnknown, type TmuxContext } from './context.ts';
import { type Corpse, readCorpse } from './exits.ts';
import { decodeMetaValue } from './meta-value.ts';
import { exactSession } from './ownership.ts';
import {
  attachedCounts,
  CLIENT_FORMAT,
  OBSERVED_META,
  type OwnedSession,
  ownedSessions,
  type PaneRow,
  parsePaneRows,
  ROW_FORMAT_WITH_META,
} from './pane-rows.ts';
import type { Command } from './quote.ts';
import { namesIn } from './server.ts';
import type { Reply } from './transport.ts';

const REST_OF_LOOK: readonly Command[] = [
  ['list-clients', '-F', CLIENT_FORMAT],
  ['show-environment', '-g'],
];

/** Looks at sessions. What a dead pane shows does not change, so it is read once and remembered while the pane is there. */
export class Observer {
  readonly #context: TmuxContext;
  readonly #corpses = new Map<string, Corpse>();

  constructor(context: TmuxContext) {
    this.#context = context;
  }

  /** Every session of the city: one request, and one more for each agent that ended since the last look. */
  async all(): Promise<InspectionOfAll> {
    const { transport, server } = this.#context;
    const list = ['list-panes', '-a', '-F', ROW_FORMAT_WITH_META];
    const reply = await transport.run([list, ...REST_OF_LOOK], { repeatable: true });
    switch (reply.kind) {
      case 'ok': {
        const sessions = await this.#sessions(reply.outputs);
        this.#forgetCorpsesExcept(sessions.paneKeys);
        return { kind: 'seen', sessions: sessions.found };
      }
      case 'no-server':
        return { kind: 'infrastructure-gone', what: `tmux server "${server.socketName}" is not running` };
      case 'no-answer':
        return { kind: 'unknown', reason: reply.detail };
      case 'refused':
        return { kind: 'unknown', reason: reply.message };
    }
  }

  async one(name: string): Promise<Inspection> {
    if (!isSessionName(name)) return { kind: 'absent' };
    const list = ['list-panes', '-s', '-t', exactSession(name), '-F', ROW_FORMAT_WITH_META];
    const reply: Reply = await this.#context.transport.run([list, ...REST_OF_LOOK], { repeatable: true });
    if (reply.kind !== 'ok') return absentOrUnknown(reply);
    const session = (await this.#sessions(reply.outputs)).found.get(name);
    return session ? { kind: 'present', session } : { kind: 'absent' };
  }

  async #sessions(outputs: readonly string[]) {
    const owned = ownedSessions(parsePaneRows(outputs[0] ?? ''), this.#context.city);
    const attached = attachedCounts(outputs[1] ?? '');
    const lent = new Set(namesIn(outputs[2] ?? ''));
    const doubtful = OBSERVED_META.some((key) => lent.has(key));
    let table: ProcessTable | undefined;
    const found = new Map<string, BackendSession>();
    const paneKeys = new Set<string>();
    for (const session of owned.values()) {
      const { pane } = session;
      if (pane) paneKeys.add(paneKey(pane));
      if (pane && !pane.dead) table ??= await sharedSnapshot();
      const living = pane && !pane.dead && isLiving(pane.pid, table) ? pane : undefined;
      found.set(session.name, {
        name: session.name,
        state: living ? { kind: 'alive', pid: living.pid } : { kind: 'dead', ...(await this.#corpse(pane)) },
        attached: attached.get(session.name) ?? 0,
        lastActivity: lastActivity(session),
        processNames: living && table ? namesOf(treeOf(living.pid, table)) : [],
        meta: await this.#meta(session, doubtful),
      });
    }
    return { found, paneKeys };
  }

  async #corpse(pane: PaneRow | undefined): Promise<Corpse> {
    if (!pane) return { exit: {}, lastLines: '' };
    const key = paneKey(pane);
    const known = this.#corpses.get(key);
    if (known) return known;
    const corpse = await readCorpse(this.#context, pane.paneId);
    if (corpse) this.#corpses.set(key, corpse);
    return corpse ?? { exit: {}, lastLines: '' };
  }

  /**
   * A format falls back to the server's global environment, so where that holds one of our names, or where a value
   * broke the line, the session's own environment is read instead.
   */
  async #meta(session: OwnedSession, doubtful: boolean): Promise<Readonly<Record<string, string>>> {
    const fromRow = (session.pane ?? session.others[0])?.meta;
    if (fromRow && !doubtful) {
      return Object.fromEntries(Object.entries(fromRow).map(([key, value]) => [key, decodeMetaValue(value)]));
    }
    const reply = await this.#context.transport.run(
      [['show-environment', '-t', exactSession(session.name)]],
      {
        repeatable: true,
      },
    );
    return reply.kind === 'ok' ? ownMeta(reply.outputs[0] ?? '') : {};
  }

  #forgetCorpsesExcept(keys: ReadonlySet<string>): void {
    for (const key of this.#corpses.keys()) if (!keys.has(key)) this.#corpses.delete(key);
  }
}

export function paneKey(pane: Pick<PaneRow, 'serverLife' | 'paneId'>): string {
  return `${pane.serverLife}${pane.paneId}`;
}

function ownMeta(environment: string): Readonly<Record<string, string>> {
  const meta: Record<string, string> = {};
  for (const line of environment.split('\n')) {
    const equals = line.indexOf('=');
    const key = OBSERVED_META.find((k) => k === line.slice(0, equals));
    if (key) meta[key] = decodeMetaValue(line.slice(equals + 1));
  }
  return meta;
}

function lastActivity(session: OwnedSession): number | undefined {
  const seconds = session.pane?.windowActivity;
  return seconds ? seconds * 1_000 : undefined;
}

/** tmux may still show a pane as living whose process is a zombie, see `COLLECT_CHILDREN`. */
function isLiving(pid: number, table: ProcessTable | undefined): boolean {
  const entry = table?.entry(pid);
  return entry !== undefined && entry.state !== 'Z';
}
