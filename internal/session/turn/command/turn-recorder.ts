import { unreachable } from '../../../platform/errors.ts';
import { cityFact, textMessage } from '../../../protocol/events.ts';
import {
  Mediation,
  MessageSchema,
  ToolCallSchema,
  ToolResultSchema,
  UsageSchema,
} from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import { create } from '../../../protocol/protobuf.ts';
import type { HarnessSink, HarnessStart } from '../harness.ts';
import type { ProgramEffect, ResultEffect, UsageEffect } from './dialect.ts';
import { dataPart, textPart } from './lenient-json.ts';
import { type NativeFact, nativeFact, type Tokens } from './native-fact.ts';
import { recordedIn, textOfParts } from './recorded.ts';

/** Of the short form of what went wrong, beside the whole result. */
const ERROR_CHARS = 500;
const INTERRUPTED = 'interrupted: nobody knows whether it took effect';

export interface RunEnd {
  readonly failure: string | undefined;
  readonly lost: boolean;
}

/** Puts what a program did into the log: each call and each result once, a result never before its call. */
export class TurnRecorder {
  readonly #session: string;
  readonly #program: string;
  readonly #sink: HarnessSink;
  readonly #called: Set<string>;
  readonly #answered: Set<string>;
  #fact: NativeFact | undefined;
  #base = '';
  #tokensBefore: Tokens | undefined;
  #tokens: Tokens | undefined;
  /** The last message that the program named, '' when it named none. */
  #message = '';
  #end: RunEnd | undefined;
  #broken = false;

  constructor(start: HarnessStart, program: string, sink: HarnessSink) {
    const { calls } = recordedIn(start.recorded);
    this.#session = start.session;
    this.#program = program;
    this.#sink = sink;
    this.#called = new Set(calls.keys());
    this.#answered = new Set([...calls].flatMap(([id, call]) => (call.result === undefined ? [] : [id])));
  }

  /** How the program says that its turn ended; `undefined`: it has not said so. */
  get end(): RunEnd | undefined {
    return this.#end;
  }

  /** It printed something that should have been JSON and is not. */
  get broken(): boolean {
    return this.#broken;
  }

  get working(): boolean {
    return this.#called.size > this.#answered.size;
  }

  get fact(): NativeFact | undefined {
    return this.#fact;
  }

  get message(): string {
    return this.#message;
  }

  /** Before a run: which conversation it is in, where that is known, and where the run begins. */
  async begin(conversation: string | undefined, base: string, tokens: Tokens | undefined): Promise<void> {
    this.#base = base;
    this.#tokensBefore = tokens;
    this.#end = undefined;
    if (conversation !== undefined) await this.#inConversation(conversation);
  }

  /** The turn is over: what the next one goes on from. */
  async close(message: string): Promise<void> {
    if (this.#fact === undefined) return;
    const tokens = this.#tokens ?? this.#tokensBefore;
    await this.#tellFact({
      ...this.#fact,
      state: 'ended',
      message,
      ...(tokens === undefined ? {} : { tokens }),
    });
  }

  async closeWith(fact: NativeFact): Promise<void> {
    await this.#tellFact(fact);
  }

  /** The conversation cannot be gone on with: the one that is begun instead remembers nothing by itself. */
  async lost(reason: string): Promise<void> {
    const conversation = this.#fact?.conversation;
    const known = conversation === undefined ? {} : { conversation };
    await this.#sink.fact(cityFact({ conversation_lost: { program: this.#program, ...known, reason } }));
  }

  /** Calls that will never get a result of their own. */
  async interruptOpenCalls(): Promise<void> {
    for (const id of this.#called) {
      if (this.#answered.has(id)) continue;
      await this.apply({ kind: 'result', at: '', id, content: [textPart(INTERRUPTED)], isError: true });
    }
  }

  async apply(effect: ProgramEffect): Promise<void> {
    if ('at' in effect && effect.at !== '') this.#message = effect.at;
    switch (effect.kind) {
      case 'conversation':
        if (effect.conversation !== '') await this.#inConversation(effect.conversation);
        return;
      case 'call':
        return this.#call(effect.id, effect.tool, effect.args);
      case 'result':
        return this.#result(effect);
      case 'text':
        return this.#sink.output(textMessage('assistant', effect.text));
      case 'delta':
        return this.#sink.delta(effect.text);
      case 'usage':
        return this.#usage(effect);
      case 'denied':
        return this.#denied(effect.calls);
      case 'end':
        this.#end = { failure: effect.failure, lost: effect.lost === true };
        return;
      case 'broken':
        this.#broken = true;
        return;
      default:
        return unreachable(effect);
    }
  }

  async #inConversation(conversation: string): Promise<void> {
    if (this.#fact?.conversation === conversation) return;
    const tokens = this.#tokensBefore;
    await this.#tellFact({
      session: this.#session,
      program: this.#program,
      conversation,
      state: 'starting',
      message: this.#base,
      ...(tokens === undefined ? {} : { tokens }),
    });
  }

  async #tellFact(fact: NativeFact): Promise<void> {
    this.#fact = fact;
    await this.#sink.fact(nativeFact(fact));
  }

  async #call(id: string, tool: string, args: Parameters<typeof dataPart>[0]): Promise<void> {
    if (id === '' || this.#called.has(id)) return;
    this.#called.add(id);
    const mediation = Mediation.IN_HARNESS_REPORTED;
    await this.#sink.observed(create(ToolCallSchema, { id, tool, args, mediation }));
  }

  async #result({ id, content, output, isError }: ResultEffect): Promise<void> {
    if (id === '' || this.#answered.has(id)) return;
    // A result tells that there was a call, even where the program did not.
    await this.#call(id, 'unknown', {});
    this.#answered.add(id);
    const error = isError ? textOfParts(content).slice(0, ERROR_CHARS) : '';
    await this.#sink.report(
      create(ToolResultSchema, { id, content: [...content], isError, error, ...(output ? { output } : {}) }),
    );
  }

  async #usage(effect: UsageEffect): Promise<void> {
    const before = effect.cumulative ? this.#tokensBefore : undefined;
    const { input, output, reasoning } = effect;
    if (effect.cumulative) this.#tokens = { input, output, reasoning };
    const since = (now: number, then: number | undefined): bigint => BigInt(Math.max(0, now - (then ?? 0)));
    await this.#sink.usage(
      create(UsageSchema, {
        model: effect.model,
        inputTokens: since(input, before?.input),
        outputTokens: since(output, before?.output),
        reasoningTokens: since(reasoning, before?.reasoning),
      }),
    );
  }

  /** Nothing is approved silently, and nothing is refused silently either. */
  async #denied(calls: readonly { readonly id: string; readonly tool: string }[]): Promise<void> {
    for (const { id, tool } of calls) {
      await this.#call(id, tool, {});
      const content = [textPart('refused: the program was not permitted to do it')];
      await this.#result({ kind: 'result', at: '', id, content, isError: true });
    }
    const told = dataPart({ permission_denials: calls.map(({ id, tool }) => ({ id, tool })) });
    await this.#sink.output(create(MessageSchema, { role: 'assistant', parts: [told] }));
  }
}
