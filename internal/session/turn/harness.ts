import type {
  ApprovalResult,
  Event,
  Message,
  ModelCall,
  ToolCall,
  ToolResult,
  Usage,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { HarnessDescriptor, ModelResult } from '../../protocol/generated/agentsessions/v1/harness_pb.ts';

/**
 * What runs a turn. In this process, or behind the Harness protocol.
 * Source: agentsessions.v1 Harness service; `observes` is ours.
 */
export interface Harness {
  /**
   * The harness acts by itself and reports what it did: its tool calls are not mediated by the host, its recorded effects
   * are not served again on a resume; it gets them instead, and goes on from there.
   */
  readonly observes: boolean;
  describe(signal: AbortSignal): Promise<HarnessDescriptor>;
  /** Runs one turn. Resolves when the turn is over; rejects with what went wrong. */
  run(start: HarnessStart, sink: HarnessSink, signal: AbortSignal): Promise<void>;
}

export interface HarnessStart {
  readonly session: string;
  readonly executionId: string;
  readonly inputs: readonly Message[];
  readonly config: Uint8Array;
  readonly resumeFromSeq: bigint;
  /** Everything before this execution. */
  readonly history: readonly Event[];
  /** What this execution recorded before it was cut; empty for a fresh one. Only for a harness that `observes`. */
  readonly recorded: readonly Event[];
}

/** Where a harness puts what it does. Calls are carried out one after the other. After `run` has returned, all are refused. */
export interface HarnessSink {
  /** The host calls the model; the call is in the log before, the answer before this resolves. */
  model(call: ModelCall): Promise<ModelResult>;
  output(message: Message): Promise<void>;
  /**
   * A call that the host carries out, or asks a person about first: then it rejects with ParkedError, and once a person has
   * answered and the turn is resumed, the same call gets its result; `decided` is told the answer before, and must not
   * call the sink.
   */
  toolCall(call: ToolCall, decided?: (decision: ApprovalResult) => void): Promise<ToolResult>;
  /** A result that the harness brings about itself. */
  report(result: ToolResult): Promise<void>;
  usage(usage: Usage): Promise<void>;
  /** A call that the harness itself carries out, told before it does; its result comes by `report`. For one that `observes`. */
  observed(call: ToolCall): Promise<void>;
  /** A fact of ours about the session, such as which conversation of the agent program it is. */
  fact(event: Event): Promise<void>;
  /** A piece of what is being said: shown live, never in the log. */
  delta(chunk: string): void;
}

/** Answers model calls of harnesses that are mediated. */
export interface ModelProvider {
  /** Pieces go to `delta` as they come, when the provider streams. */
  complete(
    call: ModelCall,
    options: { readonly signal: AbortSignal; readonly delta?: (chunk: string) => void },
  ): Promise<ModelResult>;
  readonly streams: boolean;
}

/** Carries out tool calls for harnesses. It dedupes durably on (session, idempotency key): a call may come again after a crash. */
export interface ToolExecutor {
  execute(session: string, call: ToolCall, signal: AbortSignal): Promise<ToolResult>;
}
