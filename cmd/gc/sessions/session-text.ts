import {
  ComputeState,
  ExecState,
  type Session,
} from '../../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import { onePlainLine } from '../output/plain.ts';
import type { Screen } from '../output/session-log-text.ts';
import { renderTable } from '../output/table.ts';
import { age } from '../output/times.ts';
import { uidOf } from './request.ts';

/** `LIVE`, `COLD` …: without the prefix of the enumeration. */
const computeWord = ({ computeState }: Session): string => stateWord(ComputeState[computeState], 'COMPUTE_');
const execWord = ({ execState }: Session): string => stateWord(ExecState[execState], 'EXEC_');

function stateWord(name: string | undefined, prefix: string): string {
  return name?.startsWith(prefix) ? name.slice(prefix.length) : (name ?? 'UNKNOWN');
}

/** One session in a pipe: tab-separated. Source: agentsessions.v1 client; `exec=` and `pending=` are ours. */
export function sessionLine(session: Session): string {
  const cells = [
    uidOf(session),
    `last_seq=${session.lastSeq}`,
    `compute=${computeWord(session)}`,
    `harness=${onePlainLine(session.harness)}`,
    `name=${onePlainLine(session.metadata?.name ?? '')}`,
  ];
  return `${cells.join('\t')}\n`;
}

/** `gc sessions get` in a pipe. */
export function sessionDetail(session: Session): string {
  const { pendingApproval: asked, parentUid, forkSeq, metadata, model } = session;
  const more = [
    `exec=${execWord(session)}`,
    `project=${onePlainLine(metadata?.project ?? '')}`,
    ...(model === '' ? [] : [`model=${onePlainLine(model)}`]),
    ...(parentUid === '' ? [] : [`parent=${parentUid}`, `fork_seq=${forkSeq}`]),
    ...(asked ? [`pending=${[asked.executionId, asked.toolCallId, asked.requestSeq].join('/')}`] : []),
  ];
  return `${sessionLine(session).trimEnd()}\t${more.join('\t')}\n`;
}

/** After suspend, resume and the like. Source: agentsessions.v1 client. */
export function stateLine(session: Session): string {
  return `compute=${ComputeState[session.computeState] ?? session.computeState} last_seq=${session.lastSeq}\n`;
}

export function childLine(child: Session): string {
  return `child ${uidOf(child)} parent=${child.parentUid} fork_seq=${child.forkSeq} name=${onePlainLine(child.metadata?.name ?? '')}\n`;
}

/** `gc sessions list` at a terminal. */
export function renderSessions(sessions: readonly Session[], screen: Screen): string {
  if (sessions.length === 0) return 'No sessions.\n';
  const rows = sessions.map((session) => [
    uidOf(session),
    word(session.metadata?.name ?? ''),
    word(session.harness),
    wordsOfState(session),
    String(session.lastSeq),
    age(screen.now - Number(session.metadata?.updateTime?.seconds ?? 0n) * 1_000),
  ]);
  const header = ['SESSION', 'NAME', 'HARNESS', 'STATE', 'RECORDS', 'ACTIVE'];
  return renderTable(header, rows, { maxColumns: screen.columns, shrinks: [1, 2] });
}

/** `gc sessions get` at a terminal; `asks` is what the call that waits would do. */
export function sessionBoard(session: Session, screen: Screen, asks: string): string {
  const { metadata, harness, model, parentUid, forkSeq, lastSeq, pendingApproval } = session;
  const updated = age(screen.now - Number(metadata?.updateTime?.seconds ?? 0n) * 1_000);
  const facts = [
    `project ${word(metadata?.project ?? '')}`,
    `harness ${word(harness)}`,
    ...(model === '' ? [] : [`model ${word(model)}`]),
    `${lastSeq} records`,
    wordsOfState(session),
    updated,
  ];
  const uid = uidOf(session);
  const name = onePlainLine(metadata?.name ?? '');
  const lines = [
    `${uid}${name === '' ? '' : `  ${name}`}`,
    `  ${facts.join(' · ')}`,
    ...(parentUid === '' ? [] : [`  forked from ${parentUid} at ${forkSeq}`]),
    ...(pendingApproval ? [`  waits for you: ${asks}`, `    gc sessions approve ${uid}`] : []),
  ];
  return `${lines.join('\n')}\n`;
}

const wordsOfState = (session: Session): string =>
  session.execState === ExecState.EXEC_AWAITING ? 'waits' : computeWord(session).toLowerCase();

const word = (text: string): string => onePlainLine(text) || '-';
