import { saysRoomWait } from '../../../internal/controller/admission.ts';
import type { CityStatus, SessionView } from '../../../internal/controller/city-api.ts';
import { shortDuration } from '../../../internal/platform/duration.ts';
import { typed } from '../city/invocation.ts';
import { detailOf } from './board.ts';
import { onePlainLine } from './plain.ts';
import type { Style } from './style.ts';
import { cutTo, padTo, widthOf, wrapText } from './width.ts';
import { isWanted, leaveHint, providerText, shellWord } from './words.ts';

/** How far one wanted session has come. Everything but `pending`, `starting` and `unknown` is an end of the waiting. */
export type StartStage = 'pending' | 'starting' | 'unknown' | 'ready' | 'waits' | 'failed' | 'blocked';

export interface StartRow {
  readonly name: string;
  readonly stage: StartStage;
  readonly tookMs: number | undefined;
  readonly note: string;
  /** There is a terminal to sit down at. */
  readonly hasTerminal: boolean;
}

export interface StartPicture {
  readonly rows: readonly StartRow[];
  readonly settled: boolean;
  /** Equal keys: nothing moved between two looks. */
  readonly key: string;
}

/** What a city's status means for somebody who waits for its start. */
export function pictureOf(status: CityStatus): StartPicture {
  const wanted = status.sessions.filter(isWanted);
  const stages = new Map(wanted.map((session) => [session, ownStage(session)]));
  const stuck = new Set(
    wanted.filter((s) => stages.get(s) === 'failed').flatMap((s) => [s.template, s.display_name]),
  );
  const rows = wanted.map((session) => rowOf(session, stages.get(session) ?? 'unknown', stuck));
  const begun = status.controller.running && !status.controller.status;
  const settled = begun && rows.every((row) => isEnd(row.stage));
  const key = rows.map((row) => `${row.name}:${row.stage}:${row.note}`).join('\n');
  return { rows, settled, key: `${status.controller.status ?? ''}\n${key}` };
}

const isEnd = (stage: StartStage): boolean =>
  stage === 'ready' || stage === 'waits' || stage === 'failed' || stage === 'blocked';

function ownStage(session: SessionView): StartStage {
  switch (session.condition) {
    case 'idle':
    case 'working':
    case 'running':
      return 'ready';
    case 'waits':
      return 'waits';
    case 'backing-off':
    case 'quarantined':
      return 'failed';
    case 'stopped':
      // Wanted, and yet not even tried: it cannot be started as it is written.
      return session.detail ? 'failed' : 'pending';
    case 'starting':
      if (saysRoomWait(session.detail)) return 'blocked';
      return /^(after |waits for its turn)/.test(session.detail ?? '') ? 'pending' : 'starting';
    case 'unknown':
      return 'unknown';
    case 'draining':
    case 'asleep':
    case 'suspended':
    case 'closed':
      return 'pending';
  }
}

function rowOf(session: SessionView, own: StartStage, stuck: ReadonlySet<string>): StartRow {
  const blocker = own === 'pending' ? session.depends_on.find((name) => stuck.has(name)) : undefined;
  const stage = blocker === undefined ? own : 'blocked';
  return {
    name: session.display_name,
    stage,
    tookMs: session.started_ms,
    note: noteOf(session, stage, blocker),
    hasTerminal: session.transport !== 'acp',
  };
}

function noteOf(session: SessionView, stage: StartStage, blocker: string | undefined): string {
  const after = session.depends_on.length > 0 ? `after ${session.depends_on.join(', ')}` : '';
  switch (stage) {
    case 'ready':
      return session.answered?.length ? `answered: ${session.answered.map(onePlainLine).join(', ')}` : after;
    case 'pending':
      return after;
    case 'blocked':
      return blocker === undefined ? detailOf(session) : `needs ${blocker}, which failed`;
    case 'starting':
    case 'unknown':
    case 'waits':
    case 'failed':
      return detailOf(session);
  }
}

export interface ProgressStyle {
  readonly columns: number;
  readonly style: Style;
  readonly gc: string;
}

const STAGE_WORDS: Readonly<Record<StartStage, string>> = {
  pending: 'pending',
  starting: 'starting',
  unknown: 'unknown',
  ready: 'ready',
  waits: 'waits for you',
  failed: 'failed',
  blocked: 'blocked',
};

/** The first line of a start. */
export function startHeader(status: CityStatus, style: Style): string {
  return `city ${style.bold(status.city_name)}   ${providerText(status.provider)}`;
}

const MOST_NOTE_LINES = 8;

/**
 * One session's lines: one, or more where the reason of a failure or a question needs them. `waitedMs`: how long it has
 * been waited for, shown while it starts.
 */
export function startLines(
  row: StartRow,
  nameColumns: number,
  waitedMs: number,
  { columns, style, gc }: ProgressStyle,
): readonly string[] {
  const time = row.stage === 'ready' ? row.tookMs : row.stage === 'starting' ? waitedMs : undefined;
  const name = padTo(cutTo(row.name, nameColumns), nameColumns);
  const word = padTo(STAGE_WORDS[row.stage], WORD_COLUMNS);
  // "waits for you" is longer than the others and takes the room of the time.
  const rest = row.stage === 'waits' ? '' : (time === undefined ? '' : shortDuration(time)).padStart(7);
  const head = `  ${name}  ${tint(row.stage, style)(word)}${rest}   `;
  const indent = 2 + nameColumns + 2 + widthOf(word) + rest.length + 3;
  const room = Math.max(LEAST_NOTE_COLUMNS, columns - indent);
  const answer = row.hasTerminal ? 'attach' : 'pending';
  const help = row.stage === 'waits' ? typed(`gc session ${answer} ${shellWord(row.name)}`, gc) : '';
  const notes = isEnd(row.stage) && row.stage !== 'ready' ? wrapped(row.note, room) : [cutTo(row.note, room)];
  const beside = widthOf(notes[0] ?? '') + 2 + widthOf(help) <= room;
  if (help !== '' && notes.length === 1 && beside) {
    return [`${head}${notes[0] ? `${notes[0]}  ` : ''}${style.name(help)}`];
  }
  const lines = notes.map((text, index) => ((index === 0 ? head : ' '.repeat(indent)) + text).trimEnd());
  const helpIndent = Math.max(4, Math.min(indent, columns - widthOf(help)));
  return help === '' ? lines : [...lines, ' '.repeat(helpIndent) + style.name(help)];
}

const WORD_COLUMNS = 8;
const LEAST_NOTE_COLUMNS = 20;

function wrapped(note: string, room: number): readonly string[] {
  return wrapText(note, room)
    .split('\n')
    .slice(0, MOST_NOTE_LINES)
    .map((line) => cutTo(line, room));
}

function tint(stage: StartStage, style: Style): (text: string) => string {
  switch (stage) {
    case 'ready':
      return style.good;
    case 'waits':
      return style.warn;
    case 'failed':
    case 'blocked':
      return style.bad;
    case 'pending':
    case 'starting':
    case 'unknown':
      return style.dim;
  }
}

/** Columns of the name part for all lines of one start. */
export function nameColumnsOf(rows: readonly StartRow[], columns: number): number {
  return Math.min(Math.max(8, ...rows.map((row) => widthOf(row.name))), Math.floor(columns * 0.35));
}

/** `2 of 3 running, 1 failed.` */
export function countText(rows: readonly StartRow[]): string {
  const count = (stage: StartStage) => rows.filter((row) => row.stage === stage).length;
  if (rows.length === 0)
    return 'No session is wanted yet; work, or a named session in mode "always", wants one.';
  const parts = [`${count('ready')} of ${rows.length} running`];
  const say = (stage: StartStage, one: string, many: string) => {
    const n = count(stage);
    if (n > 0) parts.push(`${n} ${n === 1 ? one : many}`);
  };
  say('waits', 'waits for you', 'wait for you');
  say('failed', 'failed', 'failed');
  say('blocked', 'blocked', 'blocked');
  say('starting', 'still starting', 'still starting');
  say('pending', 'pending', 'pending');
  say('unknown', 'could not be told', 'could not be told');
  return `${parts.join(', ')}.`;
}

/** The commands that a person will want after a start in which something failed. */
export function failedCommands(rows: readonly StartRow[], gc: string): string {
  const failed = rows.find((row) => row.stage === 'failed') ?? rows[0];
  return commandLines(
    [
      [`gc explain ${shellWord(failed?.name ?? '<session>')}`, 'what happened to it, and what helps'],
      ['gc doctor', 'what is missing on this machine'],
      ['gc stop', 'end the city'],
    ],
    gc,
  );
}

/** The commands that a person will want next. */
export function nextCommands(status: CityStatus, rows: readonly StartRow[], gc: string): string {
  const row = rows.find(({ stage }) => stage === 'ready') ?? rows[0];
  const session = shellWord(row?.name ?? '<session>');
  const look =
    row?.hasTerminal === false
      ? ([`gc session peek ${session}`, 'read its conversation'] as const)
      : ([
          `gc session attach ${session}`,
          `sit down at its terminal (${leaveHint(status.provider)})`,
        ] as const);
  return commandLines(
    [
      ['gc status', 'who works, who waits for you'],
      [`gc nudge ${session} "hello"`, 'say something'],
      look,
      ['gc stop', 'end the city'],
    ],
    gc,
  );
}

function commandLines(lines: readonly (readonly [string, string])[], gc: string): string {
  const commands = lines.map(([command, why]) => [typed(command, gc), why] as const);
  const columns = Math.max(...commands.map(([command]) => widthOf(command)));
  return commands.map(([command, why]) => `  ${padTo(command, columns)}   ${why}\n`).join('');
}
