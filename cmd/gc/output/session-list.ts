import type { SessionView } from '../../../internal/controller/city-api.ts';
import { parseRfc3339 } from '../../../internal/platform/clock.ts';
import { onePlainLine } from './plain.ts';
import { renderTable } from './table.ts';
import { age } from './times.ts';
import { cutTo } from './width.ts';
import { listedState, targetOf } from './words.ts';

const TITLE_COLUMNS = 30;
/** Go's zero time: what the original prints for a time that is not known. */
const ZERO_TIME = '0001-01-01T00:00:00Z';
const HEADER = ['ID', 'TEMPLATE', 'STATE', 'REASON', 'TARGET', 'TITLE', 'AGE', 'LAST ACTIVE'];

/** `gc session list`: one row per session. `maxColumns` only for a terminal: into a pipe nothing but the title is cut. */
export function renderSessionTable(
  sessions: readonly SessionView[],
  now: number,
  maxColumns?: number,
): string {
  if (sessions.length === 0) return 'No sessions found.\n';
  const ageOf = (at: string | undefined) => {
    const ms = parseRfc3339(at);
    return ms === undefined ? '-' : age(now - ms);
  };
  const rows = sessions.map((session) => [
    session.id,
    session.template,
    listedState(session),
    session.wake_reasons.join(',') || session.sleep_reason || '-',
    targetOf(session) || '-',
    cutTo(onePlainLine(session.title), TITLE_COLUMNS, '...') || '-',
    ageOf(session.created_at),
    session.last_active ? `${ageOf(session.last_active)} ago` : '-',
  ]);
  const limits = maxColumns === undefined ? {} : { maxColumns, shrinks: [5, 3, 1, 4] };
  return renderTable(HEADER, rows, limits);
}

/** The JSON of one session, with the key names that scripts read. Source: Gas City `gc session list --json`. */
export function sessionJson(session: SessionView): Readonly<Record<string, unknown>> {
  return {
    ID: session.id,
    Template: session.template,
    State: listedState(session),
    Closed: listedState(session) === 'closed',
    Title: session.title,
    Alias: session.alias,
    Provider: session.provider,
    Command: session.command,
    WorkDir: session.work_dir,
    SessionName: session.session_name,
    SessionKey: session.session_key,
    ResumeFlag: session.resume_flag,
    ResumeStyle: session.resume_style,
    ResumeCommand: session.resume_command,
    CreatedAt: session.created_at,
    LastActive: session.last_active ?? ZERO_TIME,
    Attached: session.attached,
    ...(session.conversation ? { Conversation: session.conversation } : {}),
  };
}
