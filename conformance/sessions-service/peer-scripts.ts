import assert from 'node:assert/strict';
import { textMessage } from '../../internal/protocol/events.ts';
import { EventKind, Mediation } from '../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import type { PeerScript, PeerTurn } from './case.ts';
import { begin } from './steps.ts';

export const end = (turn: PeerTurn, executionId: string, state = 'COMPLETED', description = ''): void =>
  turn.send({
    executionId,
    kind: EventKind.EVENT_END,
    body: { case: 'end', value: { state, ...(description === '' ? {} : { error: { description } }) } },
  });

export const output = (turn: PeerTurn, executionId: string, text: string): void =>
  turn.send({
    executionId,
    kind: EventKind.EVENT_OUTPUT,
    body: { case: 'message', value: textMessage('assistant', text) },
  });

export const modelCall = (turn: PeerTurn, executionId: string, text: string, id = 'call-1'): void =>
  turn.send({
    executionId,
    kind: EventKind.EVENT_MODEL_CALL,
    body: { case: 'model', value: { model: 'echo', id, messages: [textMessage('user', text)] } },
  });

export const toolCall = (
  turn: PeerTurn,
  executionId: string,
  mediation: Mediation,
  key = 'key-1',
  id = 'tool-1',
): void =>
  turn.send({
    executionId,
    kind: EventKind.EVENT_TOOL_CALL,
    body: {
      case: 'tool',
      value: { id, tool: 'write', args: { path: 'a.txt', n: 1 }, mediation, idempotencyKey: key },
    },
  });

export const speaks =
  (text: string): PeerScript =>
  async (turn) => {
    const { executionId } = await begin(turn);
    output(turn, executionId, text);
    end(turn, executionId);
  };

/** Asks a person before it acts, and says afterwards what came of it. */
export const gated: PeerScript = async (turn) => {
  const { executionId } = await begin(turn);
  toolCall(turn, executionId, Mediation.REQUIRES_APPROVAL);
  const frame = await turn.receive();
  if (frame?.frame.case === 'park') {
    const { toolCallId, requestSeq } = frame.frame.value;
    turn.send({
      executionId,
      kind: EventKind.EVENT_PARKED,
      body: { case: 'parked', value: { executionId, toolCallId, requestSeq } },
    });
    return;
  }
  assert.equal(frame?.frame.case, 'approval', 'the decision comes before the receipt');
  const receipt = await turn.receive();
  assert.ok(receipt?.frame.case === 'tool');
  output(turn, executionId, receipt.frame.value.isError ? `refused: ${receipt.frame.value.error}` : 'done');
  end(turn, executionId);
};

/** Everything after the first frame, until the host leaves. */
export const hangs: PeerScript = async (turn) => {
  await begin(turn);
  while ((await turn.receive()) !== undefined);
};
