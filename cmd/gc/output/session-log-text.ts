import { rfc3339 } from '../../../internal/platform/clock.ts';
import type { SessionSummary } from '../../../internal/session/log/summary.ts';
import type { ToolOutcome, TranscriptEntry } from '../../../internal/session/log/transcript.ts';
import { onePlainLine, plainText } from './plain.ts';
import type { Style } from './style.ts';
import { renderTable } from './table.ts';
import { age, clockTime } from './times.ts';
import { cutTo } from './width.ts';

/** At a terminal: its width and the time that ages are told from. In a pipe texts are whole and times absolute. */
export interface Screen {
  readonly columns: number;
  readonly now: number;
}

const LEAST_UID_HEX = 6;
const UID_PREFIX = 'sess-';
const WHAT_COLUMNS = 160;

/** `gc log list`. `allUids`: every session of the store, so that a shortened uid means one. */
export function renderLogTable(
  logs: readonly SessionSummary[],
  allUids: readonly string[],
  screen?: Screen,
): string {
  if (logs.length === 0) return 'No session logs.\n';
  if (screen) return renderShortTable(logs, shortLength(allUids), screen);
  const header = [
    'SESSION',
    'NAME',
    'PROJECT',
    'HARNESS',
    'STATE',
    'RECORDS',
    'TURNS',
    'SIZE',
    'STARTED',
    'ACTIVE',
  ];
  const rows = logs.map((log) => [
    log.uid,
    word(log.name),
    word(log.project),
    word(log.harness),
    log.state,
    String(log.records),
    turnsText(log),
    logSize(log),
    rfc3339(log.startedAt),
    rfc3339(log.lastActivityAt),
    onePlainLine(log.title),
  ]);
  return renderTable([...header, 'TITLE'], rows);
}

function renderShortTable(logs: readonly SessionSummary[], uidLength: number, screen: Screen): string {
  const rows = logs.map((log) => [
    log.uid.slice(0, uidLength),
    word(log.name),
    word(log.harness),
    log.state,
    turnsText(log),
    logSize(log),
    age(screen.now - log.lastActivityAt),
    onePlainLine(log.title),
  ]);
  const header = ['SESSION', 'NAME', 'HARNESS', 'STATE', 'TURNS', 'SIZE', 'ACTIVE', 'TITLE'];
  return renderTable(header, rows, { maxColumns: screen.columns, shrinks: [7, 1, 2] });
}

const word = (text: string): string => onePlainLine(text) || '-';

const turnsText = ({ turns, partial }: SessionSummary): string => `${turns}${partial ? '+' : ''}`;

/** Of a log that was looked at in part, what all of it takes if the rest is like its beginning. */
function logSize({ bytes, partial, records, looked }: SessionSummary): string {
  return partial && looked > 0 ? `~${sizeText((bytes * records) / looked)}` : sizeText(bytes);
}

/** How much of a uid is needed for no two to look alike. */
function shortLength(uids: readonly string[]): number {
  const sorted = [...uids].sort();
  let length = UID_PREFIX.length + LEAST_UID_HEX;
  sorted.forEach((uid, index) => {
    const next = sorted[index + 1];
    while (next !== undefined && next !== uid && next.slice(0, length) === uid.slice(0, length)) length += 1;
  });
  return length;
}

export function sizeText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let [size, unit] = [bytes, 0];
  while (size >= 1_024 && unit < units.length - 1) {
    size /= 1_024;
    unit += 1;
  }
  const shown = unit === 0 || size >= 10 ? Math.round(size) : size.toFixed(1);
  return `${shown} ${units[unit]}`;
}

/** What stands over a transcript. */
export function transcriptHead(log: SessionSummary, style: Style, screen?: Screen): string {
  const counts = `${count(log.records, 'record')}, ${count(log.turns, 'turn')}${log.partial ? ' at least' : ''}`;
  const time = (ms: number) => (screen ? `${age(screen.now - ms)} ago` : rfc3339(ms));
  const facts = [
    log.uid,
    log.project && `project ${log.project}`,
    log.harness && `harness ${log.harness}`,
    log.model && `model ${log.model}`,
    log.state === 'deleted' && 'deleted',
    log.forkedFrom && `fork of ${log.forkedFrom.uid} at ${log.forkedFrom.seq}`,
  ].filter((each) => typeof each === 'string' && each !== '');
  const title = log.name === '' ? log.title : `${log.name}: ${log.title}`;
  return [
    style.bold(onePlainLine(title)),
    style.dim(onePlainLine(facts.join(' · '))),
    style.dim(`started ${time(log.startedAt)}, last active ${time(log.lastActivityAt)}, ${counts}`),
    '',
  ].join('\n');
}

export const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;

/** Prints entries one after the other: blocks with a blank line between them, lines of one kind together. */
export class TranscriptText {
  readonly #style: Style;
  readonly #screen: Screen | undefined;
  #before: 'nothing' | 'block' | 'line' = 'nothing';

  /** @param follows something stands before the first entry */
  constructor(style: Style, screen: Screen | undefined, follows: boolean) {
    this.#style = style;
    this.#screen = screen;
    this.#before = follows ? 'block' : 'nothing';
  }

  entry(entry: TranscriptEntry): string {
    const isBlock = entry.kind === 'question' || entry.kind === 'answer';
    const needsBlank = this.#before !== 'nothing' && (isBlock || this.#before === 'block');
    this.#before = isBlock ? 'block' : 'line';
    return `${needsBlank ? '\n' : ''}${this.#text(entry)}\n`;
  }

  #text(entry: TranscriptEntry): string {
    const { bold, dim, good, bad, warn } = this.#style;
    switch (entry.kind) {
      case 'question':
        return prefixed(plainText(entry.text).trimEnd(), '> ').split('\n').map(bold).join('\n');
      case 'answer':
        return plainText(entry.text).trimEnd();
      case 'tool': {
        const { mark, paint, end } = outcomeText(entry.outcome, this.#style);
        return this.#line(mark, paint, `${callText(entry)}${end}`);
      }
      case 'asks':
        return this.#line('?', warn, `${callText(entry)}: waits for approval`);
      case 'decided': {
        const by = entry.by === '' ? '' : ` by ${onePlainLine(entry.by)}`;
        const text = `${entry.approved ? 'approved' : 'refused'}${by}${whyText(entry.reason)}`;
        return entry.approved ? this.#line('✓', good, text) : this.#line('✗', bad, text);
      }
      case 'fact':
        return dim(this.#line('--', (mark) => mark, this.#fact(entry)));
      case 'trouble':
        return this.#line('!', bad, onePlainLine(entry.text));
    }
  }

  #fact({ word, text, at }: Extract<TranscriptEntry, { kind: 'fact' }>): string {
    const time = at === '' ? '' : `${onePlainLine(this.#screen ? clockTime(at) : at)} `;
    const what = onePlainLine(text);
    return `${time}${onePlainLine(word)}${what === '' ? '' : `: ${what}`}`;
  }

  /** One line stays one line at a terminal. */
  #line(mark: string, paint: (text: string) => string, text: string): string {
    const indent = '  ';
    const room = this.#screen && this.#screen.columns - indent.length - mark.length - 1;
    return `${indent}${paint(mark)} ${room === undefined ? text : cutTo(text, room)}`;
  }
}

const prefixed = (text: string, prefix: string): string =>
  text
    .split('\n')
    .map((line) => `${prefix}${line}`.trimEnd())
    .join('\n');

function callText({ tool, what }: { readonly tool: string; readonly what: string }): string {
  const about = cutTo(onePlainLine(what), WHAT_COLUMNS);
  return `${onePlainLine(tool)}${about === '' ? '' : ` ${about}`}`;
}

interface OutcomeText {
  readonly mark: string;
  readonly paint: (text: string) => string;
  readonly end: string;
}

function outcomeText(outcome: ToolOutcome, { bad, warn, dim }: Style): OutcomeText {
  switch (outcome.kind) {
    case 'done':
      return { mark: '·', paint: dim, end: '' };
    case 'open':
      return { mark: '…', paint: warn, end: ': no result' };
    case 'failed':
      return { mark: '✗', paint: bad, end: `: failed${whyText(outcome.why)}` };
    case 'refused':
      return { mark: '✗', paint: bad, end: `: refused${whyText(outcome.why)}` };
  }
}

function whyText(why: string): string {
  const line = cutTo(onePlainLine(why), WHAT_COLUMNS);
  return line === '' ? '' : `: ${line}`;
}
