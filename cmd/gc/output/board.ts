import type { CityStatus, SessionView } from '../../../internal/controller/city-api.ts';
import { parseRfc3339 } from '../../../internal/platform/clock.ts';
import { describeExit } from '../../../internal/runtime/errors.ts';
import { typed } from '../city/invocation.ts';
import { onePlainLine } from './plain.ts';
import type { Style } from './style.ts';
import { age, shortPath, until } from './times.ts';
import { cutTo, padTo, widthOf } from './width.ts';
import { conditionWord, controllerRole, isWanted, lastLine, providerText, shellWord } from './words.ts';

export interface BoardOptions {
  readonly now: number;
  readonly columns: number;
  readonly home: string | undefined;
  readonly style: Style;
  readonly gc: string;
}

const LEAST_DETAIL_COLUMNS = 24;
const LEAST_COLUMNS = 40;
const NAME_SHARE = 0.35;
/** An end so close before a start is why there is a start. */
const JUST_ENDED_MS = 60_000;

/** `gc status` for a person at a terminal: who works, who waits, who is stuck and what to type. */
export function renderBoard(status: CityStatus, options: BoardOptions): string {
  const columns = Math.max(options.columns, LEAST_COLUMNS);
  const board = { ...options, columns };
  const rows = renderRows(
    status.sessions.filter((session) => session.condition !== 'closed'),
    board,
  );
  return [
    ...headerLines(status, board),
    summaryLine(status, board),
    '',
    ...rows,
    ...(rows.length > 0 ? [''] : []),
    ...status.problems.map((problem) => board.style.bad(`! ${onePlainLine(problem)}`)),
    ...footerLines(status, board),
  ]
    .map((line) => `${line}\n`)
    .join('');
}

function headerLines(status: CityStatus, board: BoardOptions): readonly string[] {
  const left = `${status.city_name}  ${shortPath(status.city_path, board.home)}`;
  const started = parseRfc3339(status.started_at);
  const up = status.controller.running && started !== undefined ? ` · up ${age(board.now - started)}` : '';
  const right = `${providerText(status.provider)} · ${controllerRole(status.controller)}${up}`;
  const named = left.replace(status.city_name, board.style.bold(status.city_name));
  const gap = board.columns - widthOf(left) - widthOf(right);
  if (gap >= 3) return [named + ' '.repeat(Math.min(gap, 9)) + right];
  return [named, `  ${right}`];
}

function summaryLine(status: CityStatus, board: BoardOptions): string {
  const { summary } = status;
  const wanted = status.sessions.filter(isWanted).length;
  const parts = [`${summary.running_sessions} of ${wanted} running`];
  if (summary.waiting_for_person > 0) {
    const verb = summary.waiting_for_person === 1 ? 'waits' : 'wait';
    parts.push(board.style.warn(`${summary.waiting_for_person} ${verb} for you`));
  }
  if (summary.backing_off > 0) parts.push(board.style.bad(`${summary.backing_off} backing off`));
  if (summary.unknown_sessions > 0) parts.push(`${summary.unknown_sessions} could not be told`);
  if (status.suspended) parts.push('the city is suspended');
  if (status.sessions.length === 0) parts.push('no sessions');
  return parts.join(' · ');
}

function renderRows(sessions: readonly SessionView[], board: BoardOptions): readonly string[] {
  const longest = (texts: readonly string[]) => Math.max(0, ...texts.map(widthOf));
  const nameColumns = Math.min(
    longest(sessions.map((s) => s.display_name)),
    Math.floor(board.columns * NAME_SHARE),
  );
  const wordColumns = longest(sessions.map((s) => conditionWord(s.condition)));
  return sessions.flatMap((session) => renderRow(session, nameColumns, wordColumns, board));
}

function renderRow(
  session: SessionView,
  nameColumns: number,
  wordColumns: number,
  board: BoardOptions,
): readonly string[] {
  const since = parseRfc3339(session.since);
  const sinceText = since === undefined || session.condition === 'backing-off' ? '' : age(board.now - since);
  const name = padTo(cutTo(session.display_name, nameColumns), nameColumns);
  const word = padTo(conditionWord(session.condition), wordColumns);
  const indent = 2 + nameColumns + 3 + wordColumns + 2 + 4 + 3;
  const head = `  ${name}   ${tint(session, board.style)(word)}  ${sinceText.padStart(4)}   `;
  const detail = inBrief(detailOf(session));
  const tail = typed(helpOf(session, board.now), board.gc);
  const room = board.columns - indent;
  if (tail === '') return [(head + cutTo(detail, room)).trimEnd()];
  const beside = room - widthOf(tail) - 3;
  if (beside >= Math.min(widthOf(detail), LEAST_DETAIL_COLUMNS)) {
    const cut = cutTo(detail, beside);
    return [`${head}${cut}${cut ? '   ' : ''}${board.style.name(tail)}`];
  }
  const below = Math.max(4, Math.min(indent, board.columns - widthOf(tail)));
  return [(head + cutTo(detail, room)).trimEnd(), ' '.repeat(below) + board.style.name(tail)];
}

/** A row has little room: what its condition says already is left away. */
const inBrief = (detail: string): string =>
  detail.replace(/^start failed: (?:acp handshake for "[^"]*": )?/, '');

/** What is known about the session beyond its condition, in one line. */
export function detailOf(session: SessionView): string {
  if (session.detail) {
    const detail = onePlainLine(session.detail);
    const isWaiting = session.condition === 'starting' && /^(its|an answer)\b/.test(detail);
    return (isWaiting ? `waits for ${detail}` : detail) + againText(session);
  }
  const exit = session.last_exit;
  const down = session.condition === 'backing-off' || session.condition === 'quarantined';
  if (exit && (down || session.condition === 'stopped')) {
    const said = lastLine(exit.last_lines);
    return said ? `${describeExit(exit)} "${said}"` : describeExit(exit);
  }
  return session.title && session.title !== session.display_name ? onePlainLine(session.title) : '';
}

/** Why a session that came down a moment ago is being started once more. */
function againText({ condition, last_exit: exit, since }: SessionView): string {
  const ended = parseRfc3339(exit?.at);
  const began = parseRfc3339(since);
  if (condition !== 'starting' || !exit || ended === undefined || began === undefined) return '';
  return began - ended < JUST_ENDED_MS ? ` (again, after ${describeExit(exit)})` : '';
}

/** The next command for a session that needs a person. */
function helpOf(session: SessionView, now: number): string {
  const name = shellWord(session.display_name);
  const next = until(session.next_try_at, now);
  const nextTry = next ? `next try ${next} · ` : '';
  switch (session.condition) {
    case 'waits':
      if (session.question_id !== undefined) return `gc session respond ${session.question_id} 1`;
      return session.transport === 'acp' ? `gc session pending ${name}` : `gc session attach ${name}`;
    case 'backing-off':
      return `${nextTry}gc explain ${name}`;
    case 'quarantined':
    case 'suspended':
      return `${nextTry}gc session wake ${name}`;
    case 'unknown':
      return `gc explain ${name}`;
    case 'stopped':
      return session.wanted ? `gc explain ${name}` : '';
    case 'starting':
    case 'idle':
    case 'working':
    case 'running':
    case 'draining':
    case 'asleep':
    case 'closed':
      return '';
  }
}

function tint(session: SessionView, style: Style): (text: string) => string {
  switch (session.condition) {
    case 'idle':
    case 'working':
    case 'running':
      return style.good;
    case 'waits':
    case 'starting':
    case 'draining':
    case 'unknown':
      return style.warn;
    case 'backing-off':
    case 'quarantined':
      return style.bad;
    case 'asleep':
    case 'suspended':
    case 'stopped':
    case 'closed':
      return style.dim;
  }
}

function footerLines(status: CityStatus, board: BoardOptions): readonly string[] {
  const file = status.config.file.split('/').at(-1) ?? status.config.file;
  const revision = status.config.revision.slice(0, 7);
  const next = status.controller.running ? 'gc events --follow' : 'gc start';
  if (status.config.error === undefined) {
    const good = revision ? `config ${file} ok (${revision})` : `config ${file}`;
    return [`${good} · ${typed(next, board.gc)}`];
  }
  const kept = revision ? `; the last good config (${revision}) keeps running` : '';
  const problem = status.config.error.trimEnd().split('\n');
  return [
    board.style.bad(`config ${file} is not in force${kept}:`),
    ...problem.map((line) => `  ${line}`),
    typed('gc config show --validate', board.gc),
  ];
}
