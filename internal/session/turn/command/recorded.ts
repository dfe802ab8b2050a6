import { textOf } from '../../../protocol/events.ts';
import { type Event, EventKind, type Part } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { JsonObject } from '../../../protocol/protobuf.ts';
import type { CallEffect, Happened, ResultEffect, TextEffect } from './dialect.ts';

/** A tool call and how it came out. */
export interface KnownCall {
  readonly tool: string;
  readonly args: JsonObject;
  /** Absent: nobody knows. */
  readonly result?: { readonly text: string; readonly isError: boolean };
}

/** The effects among events of one execution. */
export interface Recorded {
  readonly calls: ReadonlyMap<string, KnownCall>;
  readonly texts: readonly string[];
}

export function recordedIn(events: readonly Event[]): Recorded {
  const calls = new Map<string, KnownCall>();
  const texts: string[] = [];
  for (const { kind, body } of events) {
    if (kind === EventKind.EVENT_OUTPUT && body.case === 'message') texts.push(textOf(body.value));
    if (body.case === 'tool')
      calls.set(body.value.id, { tool: body.value.tool, args: body.value.args ?? {} });
    if (body.case === 'result') {
      const { id, content, isError } = body.value;
      const call = calls.get(id) ?? { tool: '', args: {} };
      calls.set(id, { ...call, result: { text: textOfParts(content), isError } });
    }
  }
  return { calls, texts };
}

export function textOfParts(parts: readonly Part[]): string {
  return parts.map(({ part }) => (part.case === 'text' ? part.value.text : `[${part.case}]`)).join('\n');
}

export type TailEffect = CallEffect | ResultEffect | TextEffect;

/**
 * Parts what happened in a conversation into what the log has and what it lacks. Calls and results are told apart by their
 * ids, texts by what they say, each of them once.
 */
export function compare(
  happened: readonly Happened[],
  recorded: Recorded,
): { readonly known: readonly TailEffect[]; readonly missing: readonly TailEffect[] } {
  const texts = [...recorded.texts];
  const known: TailEffect[] = [];
  const missing: TailEffect[] = [];
  for (const effect of happened) {
    if (effect.kind === 'prompt') continue;
    const isKnown = effect.kind === 'text' ? takeFrom(texts, effect.text) : isRecorded(effect, recorded);
    (isKnown ? known : missing).push(effect);
  }
  return { known, missing };
}

function isRecorded(effect: CallEffect | ResultEffect, { calls }: Recorded): boolean {
  const call = calls.get(effect.id);
  return effect.kind === 'call' ? call !== undefined : call?.result !== undefined;
}

function takeFrom(texts: string[], text: string): boolean {
  const index = texts.indexOf(text);
  if (index !== -1) texts.splice(index, 1);
  return index !== -1;
}

/** The message up to which a log tells a conversation: that of its last text or result; calls that were still open are no place to go on from. */
export function placeOf(happened: readonly Happened[], recorded: Recorded): string | undefined {
  const { known } = compare(happened, recorded);
  return known.findLast((effect) => effect.kind !== 'call')?.at;
}

/** Everything that is known of the calls of a turn, from the log and from the program's own transcript. */
export function allCalls(happened: readonly Happened[], recorded: Recorded): ReadonlyMap<string, KnownCall> {
  const calls = new Map(recorded.calls);
  for (const effect of happened) {
    if (effect.kind === 'call' && !calls.has(effect.id)) {
      calls.set(effect.id, { tool: effect.tool, args: effect.args });
    }
    if (effect.kind === 'result') {
      const call = calls.get(effect.id) ?? { tool: '', args: {} };
      if (call.result === undefined) {
        calls.set(effect.id, {
          ...call,
          result: { text: textOfParts(effect.content), isError: effect.isError },
        });
      }
    }
  }
  return calls;
}
