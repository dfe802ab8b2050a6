import { rfc3339 } from '../../../internal/platform/clock.ts';
import { textOf } from '../../../internal/protocol/events.ts';
import {
  type Event,
  EventKind,
  Mediation,
  type ToolCall,
  type ToolResult,
} from '../../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../../internal/protocol/hash-chain.ts';
import { TranscriptFold } from '../../../internal/session/log/transcript.ts';
import { argsText } from '../../../internal/session/log/transcript-words.ts';
import { onePlainLine } from './plain.ts';
import type { Screen } from './session-log-text.ts';
import { clockTime } from './times.ts';
import { cutTo, padTo } from './width.ts';

const SEQ_COLUMNS = 6;
const KIND_COLUMNS = 16;
/** In a pipe, where there is no width. */
const TEXT_COLUMNS = 200;
const NO_TIME = '-';

/** `gc log show --records`: number, when it was appended (milliseconds; 0: not known), kind, and what it says in short. */
export function recordLine(record: ChainedRecord, recordedAt: number, screen?: Screen): string {
  const at = recordedAt === 0 ? NO_TIME : rfc3339(recordedAt);
  const time = screen && recordedAt !== 0 ? clockTime(at) : at;
  const kind = EventKind[record.event.kind] ?? String(record.event.kind);
  const text = cutTo(onePlainLine(recordText(record)), TEXT_COLUMNS);
  const line = `${String(record.seq).padStart(SEQ_COLUMNS)}  ${time}  ${padTo(kind.replace('EVENT_', ''), KIND_COLUMNS)}  ${text}`;
  return `${(screen ? cutTo(line, screen.columns) : line).trimEnd()}\n`;
}

/** What a record says, in short; texts are whole and as they were said. */
export function recordText(record: ChainedRecord): string {
  const { body } = record.event;
  switch (body.case) {
    case 'executionStart': {
      const { harness, harnessVersion, inputCount } = body.value;
      const inputs = inputCount === undefined ? '' : `, inputs ${inputCount}`;
      return `harness ${`${harness} ${harnessVersion}`.trim()}${inputs}`;
    }
    case 'message':
      return `${body.value.role}: ${textOf(body.value)}`;
    case 'model':
      return body.value.model;
    case 'tool':
      return callText(body.value);
    case 'result':
      return resultText(body.value);
    case 'approval':
      return `call ${body.value.toolCallId} ${body.value.reason}`;
    case 'approvalResult':
      return decisionText(record.event, body.value);
    case 'usage': {
      const { model, inputTokens, outputTokens } = body.value;
      return `${model} in ${inputTokens} out ${outputTokens}`;
    }
    case 'lifecycle':
      return new TranscriptFold()
        .add(record)
        .map((entry) => (entry.kind === 'fact' ? `${entry.word} ${entry.text}` : ''))
        .join('; ');
    case 'end':
      return `${body.value.state} ${body.value.error?.description ?? ''}`;
    case 'error':
      return body.value.description;
    default:
      return '';
  }
}

function callText({ id, tool, args, mediation }: ToolCall): string {
  const asked = mediation === Mediation.REQUIRES_APPROVAL ? ' (asks first)' : '';
  return `${id} ${tool}${asked} ${argsText(args)}`;
}

function resultText({ id, isError, error, content, outputUri }: ToolResult): string {
  const text = content.map(({ part }) => (part.case === 'text' ? part.value.text : '')).join(' ');
  const said = error === '' ? text : error;
  return `${id} ${isError ? 'failed' : 'ok'} ${outputUri === '' ? said : `${outputUri} ${said}`}`;
}

function decisionText(
  { actor }: Event,
  decision: { readonly toolCallId: string; readonly approved: boolean; readonly reason: string },
): string {
  const by = actor?.principal || actor?.subject || '';
  const what = decision.approved ? 'approved' : 'refused';
  return `call ${decision.toolCallId} ${what}${by === '' ? '' : ` by ${by}`} ${decision.reason}`;
}
