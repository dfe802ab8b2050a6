import { unreachable } from '../../platform/errors.ts';
import { canonicalJson } from '../../protocol/canonical-json.ts';
import { cityFactOf, textMessage, textOf } from '../../protocol/events.ts';
import {
  type ApprovalResult,
  type Event,
  Mediation,
  type Message,
  type ModelCall,
  type ToolCall,
  ToolCallSchema,
  type ToolResult,
  type Usage,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { type ModelResult, ModelResultSchema } from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { modelInputHash } from '../../protocol/model-input-hash.ts';
import { create } from '../../protocol/protobuf.ts';
import { claimsApproval } from './gate-grammar.ts';
import type { HarnessSink } from './harness.ts';
import type { LiveEffects } from './live-effects.ts';
import type { RecordedEffects } from './recorded-effects.ts';
import { ParkedError, TurnError } from './turn.ts';

export interface SinkOptions {
  readonly recorded: RecordedEffects;
  /** What is done once the record is used up. Absent: nothing may be, the turn is only looked at. */
  readonly live: LiveEffects | undefined;
  /** The turn was canceled: its record may end anywhere. Only for one that is looked at. */
  readonly endsAnywhere?: boolean;
  /** Whether the harness acts by itself. */
  readonly observes: boolean;
  /** Why no call may wait for a person here. */
  readonly gateRefusal?: string;
  /** What the turn did before this sink and that is not served by it. */
  readonly before?: readonly ChainedRecord[];
  /** A log without execution ids: a model call that was cut is not made again, and usage is not compared. */
  readonly isLegacy?: boolean;
}

/** The record of a canceled turn is used up. */
export class RecordEndsError extends TurnError {
  constructor() {
    super('canceled', 'the turn was canceled here');
  }
}

/**
 * Takes the effects of one run of a harness, one after the other: recorded ones are served, then they are made.
 * Once something made further effects impossible, every call fails with it.
 */
export class TurnSink implements HarnessSink {
  readonly #options: SinkOptions;
  readonly #used = new Set<string>();
  /** Ids of calls whose results the host brings. */
  readonly #hosted = new Set<string>();
  readonly #gated = new Set<string>();
  #tail: Promise<void> = Promise.resolve();
  #closed = false;
  #speaking = false;
  #sealed: { readonly error: unknown } | undefined;
  #onSeal: (error: unknown) => void = () => undefined;

  constructor(options: SinkOptions) {
    this.#options = options;
    for (const { event } of options.before ?? [])
      if (event.body.case === 'tool') this.#note(event.body.value);
  }

  get sealed(): { readonly error: unknown } | undefined {
    return this.#sealed;
  }

  /** Nothing more may be done, for this reason; the first one counts. */
  readonly seal = (error: unknown): void => {
    if (this.#sealed) return;
    this.#sealed = { error };
    this.#onSeal(error);
  };

  onSeal(told: (error: unknown) => void): void {
    this.#onSeal = told;
  }

  /** Refuses what comes from now on, and waits for what is under way. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#tail;
    this.#endSpeech();
  }

  model(call: ModelCall): Promise<ModelResult> {
    return this.#effect(async () => {
      const { recorded, isLegacy } = this.#options;
      if (recorded.done) return await this.#live('a model call').model(call);
      const was = recorded.model(modelInputHash(call));
      switch (was.kind) {
        case 'answered':
          return create(ModelResultSchema, { message: was.message, modelCallId: call.id });
        case 'cut':
          if (isLegacy) throw new TurnError('diverged', 'the recorded answer of the model is missing');
          return await this.#live('the answer of a model call').answer(call);
        case 'lost':
          throw new TurnError('harness-failed', 'the recorded answer of the model is missing');
        default:
          return unreachable(was);
      }
    });
  }

  output(message: Message): Promise<void> {
    return this.#effect(async () => {
      const { recorded, observes } = this.#options;
      const text = textOf(message);
      if (!recorded.done) return recorded.output(text);
      const live = this.#live('an output');
      this.#endSpeech();
      await live.output(observes ? message : textMessage('assistant', text));
    });
  }

  toolCall(call: ToolCall, decided?: (decision: ApprovalResult) => void): Promise<ToolResult> {
    return this.#effect(async () => {
      canonicalJson(call.args ?? {});
      switch (call.mediation) {
        case Mediation.CONTROLLER_MEDIATED:
          return await this.#mediated(call);
        case Mediation.REQUIRES_APPROVAL:
          return await this.#gate(call, decided);
        case Mediation.UNSPECIFIED:
        case Mediation.IN_HARNESS_REPORTED:
          throw invalidCall(call, 'the host carries out mediated calls and calls that need approval only');
        default:
          throw invalidCall(call, `mediation ${call.mediation} is not known`);
      }
    });
  }

  report(result: ToolResult): Promise<void> {
    return this.#effect(async () => {
      if (claimsApproval(result)) {
        throw new TurnError(
          'forged-receipt',
          `a harness reported a result of ${JSON.stringify(result.id)} as if a person had decided`,
        );
      }
      if (this.#hosted.has(result.id)) {
        throw new TurnError('invalid-call', `the host brings the result of ${JSON.stringify(result.id)}`);
      }
      const { recorded } = this.#options;
      if (!recorded.done) return recorded.report(result);
      await this.#live('a result').report(result);
    });
  }

  usage(usage: Usage): Promise<void> {
    return this.#effect(async () => {
      const { recorded, isLegacy, live } = this.#options;
      if (isLegacy && (!recorded.done || !live)) return;
      if (!recorded.done) return recorded.usage(usage);
      await this.#live('usage').usage(usage);
    });
  }

  observed(call: ToolCall): Promise<void> {
    return this.#effect(async () => {
      if (!this.#options.observes)
        throw invalidCall(call, 'this harness has its calls carried out by the host');
      if (this.#gated.has(call.id)) throw invalidCall(call, 'a gated call had the same id');
      const reported = create(ToolCallSchema, { ...call, mediation: Mediation.IN_HARNESS_REPORTED });
      this.#note(reported);
      await this.#live('a call').observed(reported);
    });
  }

  fact(fact: Event): Promise<void> {
    return this.#effect(async () => {
      if (!this.#options.observes || !cityFactOf(fact)) {
        throw new TurnError(
          'invalid-call',
          'only facts of ours, from a harness that acts by itself, are recorded',
        );
      }
      await this.#live('a fact').fact(fact);
    });
  }

  delta(chunk: string): void {
    const { live, recorded } = this.#options;
    if (chunk === '' || this.#closed || this.#sealed || !recorded.done || !live) return;
    this.#speaking = true;
    live.speak(chunk);
  }

  #endSpeech(): void {
    if (this.#speaking) this.#options.live?.spoken();
    this.#speaking = false;
  }

  async #mediated(call: ToolCall): Promise<ToolResult> {
    if (call.idempotencyKey === '') throw invalidCall(call, 'it has no idempotency key');
    if (this.#gated.has(call.id)) throw invalidCall(call, 'a gated call had the same id');
    this.#note(call);
    const { recorded } = this.#options;
    if (recorded.done) return await this.#live('a tool call').tool(call);
    const was = recorded.tool(call);
    switch (was.kind) {
      case 'answered':
        return was.result;
      case 'cut':
        return await this.#live('the result of a tool call').carryOut(was.call);
      case 'lost':
        throw new TurnError(
          'harness-failed',
          `call ${JSON.stringify(call.id)} was made before, without a result`,
        );
      default:
        return unreachable(was);
    }
  }

  async #gate(
    call: ToolCall,
    decided: ((decision: ApprovalResult) => void) | undefined,
  ): Promise<ToolResult> {
    const { gateRefusal, recorded } = this.#options;
    if (gateRefusal !== undefined) throw new TurnError('approval-unavailable', gateRefusal);
    if (call.id === '' || call.idempotencyKey === '')
      throw invalidCall(call, 'it has no id or no idempotency key');
    if (this.#used.has(call.id)) throw invalidCall(call, 'another call of this turn had the same id');
    this.#note(call);
    if (recorded.done) return await this.#live('a gated call').openGate(call);
    const was = recorded.gate(call);
    decided?.(was.decision.result);
    if (was.receipt) return was.receipt;
    const requestSeq = Number(was.decision.result.requestSeq);
    return await this.#live('the result of a gated call').settle(was.call, requestSeq, was.decision);
  }

  #note({ id, mediation }: ToolCall): void {
    this.#used.add(id);
    if (mediation !== Mediation.IN_HARNESS_REPORTED) this.#hosted.add(id);
    if (mediation === Mediation.REQUIRES_APPROVAL) this.#gated.add(id);
  }

  #live(what: string): LiveEffects {
    const { live, endsAnywhere } = this.#options;
    if (live) return live;
    if (endsAnywhere) throw new RecordEndsError();
    throw new TurnError('diverged', `the harness makes ${what} that was not recorded`);
  }

  /** Not async: the promise that is handed out must be the one whose failure is seen here, awaited or not. */
  #effect<T>(work: () => Promise<T>): Promise<T> {
    const effect = this.#tail.then(async () => {
      if (this.#sealed) throw this.#sealed.error;
      if (this.#closed)
        throw new TurnError('invalid-call', 'the turn is over: nothing more can be done in it');
      return await work();
    });
    this.#tail = effect.then(
      () => undefined,
      (error) => {
        if (isFinal(error)) this.seal(error);
      },
    );
    return effect;
  }
}

/** What a harness cannot swallow and go on. */
function isFinal(error: unknown): boolean {
  if (error instanceof ParkedError || error instanceof RecordEndsError) return true;
  return error instanceof TurnError && error.failure === 'diverged';
}

function invalidCall(call: ToolCall, why: string): TurnError {
  const what = `call ${JSON.stringify(call.id)} of ${JSON.stringify(call.tool)}`;
  return new TurnError('invalid-call', `${what} is refused: ${why}`);
}
