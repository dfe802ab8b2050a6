import { type City, isOurs, OWNER_OPTION, PANE_OPTION, SESSION_OPTION } from './ownership.ts';

/** One pane as `list-panes` shows it. */
export interface PaneRow {
  readonly paneId: string;
  readonly session: string;
  /** The owner's stamp, `''` when it is not this session's own. */
  readonly owner: string;
  /** The pane that the session's agent was started in. */
  readonly agentPane: string;
  readonly dead: boolean;
  /** Both empty: the pane lives, or its end was not collected yet. */
  readonly deadStatus: string;
  readonly deadSignal: string;
  readonly pid: number;
  readonly tty: string;
  /** Seconds since the epoch. */
  readonly windowActivity: number;
  /** Tells one life of a server from another, because pane ids start again at `%0`. */
  readonly serverLife: string;
  readonly serverPid: number;
  /** `undefined`: the values could not be told apart from the rest of the line. */
  readonly meta: Readonly<Record<string, string>> | undefined;
}

/** Metadata that every observation carries. Source: Gas City's session environment and drain keys. */
export const OBSERVED_META = [
  'GC_SESSION_ID',
  'GC_SESSION_NAME',
  'GC_INSTANCE_TOKEN',
  'GC_RUNTIME_EPOCH',
  'GC_CONTINUATION_EPOCH',
  'GC_ALIAS',
  'GC_AGENT',
  'GC_TEMPLATE',
  'GC_PROVIDER',
  'GC_DRAIN',
  'GC_DRAIN_ACK',
  'GC_DRAIN_ACK_SOURCE',
  'GC_DRAIN_REASON',
  'GC_DRAIN_GENERATION',
  'GC_RESTART_REQUESTED',
  'GC_DRIFT_RESTART',
  'suspended',
] as const;

const ROW_MARK = 'gc1';
const FIELDS = [
  'pane_id',
  'session_name',
  'session_id',
  SESSION_OPTION,
  OWNER_OPTION,
  PANE_OPTION,
  'pane_dead',
  'pane_dead_status',
  'pane_dead_signal',
  'pane_pid',
  'pane_tty',
  'window_activity',
  'start_time',
  'pid',
] as const;
const TAB = 0x09;
const NEWLINE = 0x0a;
const COLON = 0x3a;

/** A tab separates fields; metadata goes as `<bytes>:<value>`, because a value may hold anything. */
export const ROW_FORMAT = [ROW_MARK, ...FIELDS.map((f) => `#{${f}}`)].join('\t');
export const ROW_FORMAT_WITH_META = [ROW_FORMAT, ...OBSERVED_META.map((k) => `#{n:${k}}:#{${k}}`)].join('\t');

/** Reads lines of `ROW_FORMAT` or `ROW_FORMAT_WITH_META`. Anything else between them is passed over. */
export function parsePaneRows(output: string): readonly PaneRow[] {
  const bytes = Buffer.from(output, 'utf8');
  const rows: PaneRow[] = [];
  let at = 0;
  while (at < bytes.length) {
    const read = readRow(bytes, at);
    if (read.row) rows.push(read.row);
    at = read.next;
  }
  return rows;
}

function readRow(bytes: Buffer, start: number): { row?: PaneRow; next: number } {
  const newline = bytes.indexOf(NEWLINE, start);
  const lineEnd = newline < 0 ? bytes.length : newline;
  const skip = { next: lineEnd + 1 };
  const values: string[] = [];
  let at = start;
  while (values.length <= FIELDS.length) {
    const tab = bytes.indexOf(TAB, at);
    const end = tab < 0 || tab > lineEnd ? lineEnd : tab;
    values.push(bytes.toString('utf8', at, end));
    at = end + 1;
    if (end === lineEnd) break;
  }
  if (values[0] !== ROW_MARK || values.length !== FIELDS.length + 1) return skip;
  if (at > lineEnd) return { row: toRow(values.slice(1), {}), next: at };
  const meta = readMeta(bytes, at);
  return meta
    ? { row: toRow(values.slice(1), meta.values), next: meta.next }
    : { row: toRow(values.slice(1), undefined), next: lineEnd + 1 };
}

function readMeta(
  bytes: Buffer,
  start: number,
): { values: Record<string, string>; next: number } | undefined {
  const values: Record<string, string> = {};
  let at = start;
  for (const [i, key] of OBSERVED_META.entries()) {
    const colon = bytes.indexOf(COLON, at);
    const length = Number(bytes.toString('latin1', at, Math.max(at, colon)) || Number.NaN);
    if (!Number.isInteger(length)) return undefined;
    const end = colon + 1 + length;
    const value = bytes.toString('utf8', colon + 1, end);
    if (value) values[key] = value;
    const after = bytes[end] ?? NEWLINE;
    if (after !== (i === OBSERVED_META.length - 1 ? NEWLINE : TAB)) return undefined;
    at = end + 1;
  }
  return { values, next: at };
}

function toRow(values: readonly string[], meta: Record<string, string> | undefined): PaneRow {
  const field = (name: (typeof FIELDS)[number]) => values[FIELDS.indexOf(name)] ?? '';
  return {
    paneId: field('pane_id'),
    session: field('session_name'),
    // A format falls back to global options; the session's own id in its stamp shows that it did not.
    owner: field(SESSION_OPTION) === field('session_id') ? field(OWNER_OPTION) : '',
    agentPane: field(PANE_OPTION),
    dead: field('pane_dead') === '1',
    deadStatus: field('pane_dead_status'),
    deadSignal: field('pane_dead_signal'),
    pid: Number(field('pane_pid')),
    tty: field('pane_tty'),
    windowActivity: Number(field('window_activity')),
    serverLife: `${field('pid')}@${field('start_time')}`,
    serverPid: Number(field('pid')),
    meta,
  };
}

/** One session of ours with its agent's pane and whatever else lives beside it. */
export interface OwnedSession {
  readonly name: string;
  /** `undefined`: a person closed the agent's pane and left others open. */
  readonly pane: PaneRow | undefined;
  readonly others: readonly PaneRow[];
  readonly serverLife: string;
}

/** The sessions of this city among all panes of a server. */
export function ownedSessions(rows: readonly PaneRow[], city: City): ReadonlyMap<string, OwnedSession> {
  const sessions = new Map<string, OwnedSession>();
  for (const row of rows) {
    if (!isOurs(city, row.owner)) continue;
    const known = sessions.get(row.session);
    const isAgent = row.paneId === row.agentPane;
    sessions.set(row.session, {
      name: row.session,
      pane: isAgent ? row : known?.pane,
      others: isAgent ? (known?.others ?? []) : [...(known?.others ?? []), row],
      serverLife: row.serverLife,
    });
  }
  return sessions;
}

export const CLIENT_FORMAT = '#{client_control_mode}\t#{client_session}';

/** Terminals of people per session: clients that are not in control mode. */
export function attachedCounts(output: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of output.split('\n')) {
    const [control, session] = line.split('\t');
    if (control === '0' && session) counts.set(session, (counts.get(session) ?? 0) + 1);
  }
  return counts;
}
