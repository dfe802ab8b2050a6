import { FakeClock } from '../../../platform/fake-clock.ts';
import { seededIds } from '../../../platform/ids.ts';
import { event, textMessage } from '../../../protocol/events.ts';
import {
  ApprovalResultSchema,
  EventKind,
  Mediation,
  type ModelCall,
  ModelCallSchema,
  type ToolCall,
  ToolCallSchema,
  type ToolResult,
  ToolResultSchema,
  UsageSchema,
} from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  HarnessDescriptorSchema,
  ModelResultSchema,
  Resumability,
} from '../../../protocol/generated/agentsessions/v1/harness_pb.ts';
import type { ChainedRecord } from '../../../protocol/hash-chain.ts';
import { create } from '../../../protocol/protobuf.ts';
import { MemoryLogStore } from '../../log/testing/memory-log-store.ts';
import type { Harness, HarnessSink, HarnessStart, ModelProvider, ToolExecutor } from '../harness.ts';
import { type ReplayReport, replayTurns } from '../replay-turns.ts';
import { resumeTurn } from '../resume-turn.ts';
import { runTurn } from '../run-turn.ts';
import type { Invocation, TurnContext, TurnOutcome } from '../turn.ts';

export const UID = 'sess-00000000000000000000000a';
export const never: AbortSignal = new AbortController().signal;

/** One thing that a scripted harness does. */
export type Step =
  | { readonly do: 'model'; readonly ask: string }
  | { readonly do: 'output'; readonly text: string }
  | { readonly do: 'tool'; readonly id: string }
  | { readonly do: 'gate'; readonly id: string }
  | { readonly do: 'report'; readonly id: string }
  | { readonly do: 'usage'; readonly tokens: number };

export const modelCall = (ask: string, id = 'wire-1'): ModelCall =>
  create(ModelCallSchema, { model: 'm', id, messages: [textMessage('user', ask)] });

export function toolCall(id: string, mediation = Mediation.CONTROLLER_MEDIATED, key = `key-${id}`): ToolCall {
  return create(ToolCallSchema, { id, tool: 'work', args: { id }, mediation, idempotencyKey: key });
}

export interface HarnessOptions {
  readonly observes?: boolean;
  readonly version?: string;
  readonly resumability?: Resumability;
}

export function harnessOf(
  run: (start: HarnessStart, sink: HarnessSink, signal: AbortSignal) => Promise<void>,
  { observes = false, version = '1', resumability = Resumability.STATELESS_REPLAY }: HarnessOptions = {},
): Harness {
  return {
    observes,
    describe: async () =>
      create(HarnessDescriptorSchema, { id: 'script', version, capabilities: { resumability } }),
    run,
  };
}

export function scripted(steps: readonly Step[] | ((start: HarnessStart) => readonly Step[])): Harness {
  return harnessOf(async (start, sink) => {
    const list = typeof steps === 'function' ? steps(start) : steps;
    for (const step of list) await carryOut(step, sink);
  });
}

async function carryOut(step: Step, sink: HarnessSink): Promise<void> {
  switch (step.do) {
    case 'model':
      await sink.model(modelCall(step.ask));
      return;
    case 'output':
      return await sink.output(textMessage('assistant', step.text));
    case 'tool':
      await sink.toolCall(toolCall(step.id));
      return;
    case 'gate':
      await sink.toolCall(toolCall(step.id, Mediation.REQUIRES_APPROVAL));
      return;
    case 'report':
      return await sink.report(create(ToolResultSchema, { id: step.id, output: { done: true } }));
    case 'usage':
      return await sink.usage(create(UsageSchema, { model: 'm', outputTokens: BigInt(step.tokens) }));
  }
}

/** Never answers the same twice, so that a served answer can be told from a new one. */
export class CountingModel implements ModelProvider {
  streams = false;
  readonly calls: ModelCall[] = [];

  async complete(call: ModelCall, options: Parameters<ModelProvider['complete']>[1]) {
    this.calls.push(call);
    const text = `answer ${this.calls.length}`;
    if (this.streams) for (const piece of ['', ...text.split(' ')]) options.delta?.(piece);
    return create(ModelResultSchema, { message: textMessage('assistant', text) });
  }
}

/** Dedupes as the contract wants it: an effect is had once per key, however often it is asked for. */
export class CountingTools implements ToolExecutor {
  readonly asked: ToolCall[] = [];
  readonly effects = new Map<string, number>();
  fail: string | undefined;

  async execute(session: string, call: ToolCall): Promise<ToolResult> {
    this.asked.push(call);
    if (this.fail !== undefined) throw new Error(this.fail);
    const key = `${session}/${call.idempotencyKey}`;
    this.effects.set(key, this.effects.get(key) ?? this.effects.size + 1);
    return create(ToolResultSchema, { id: 'not its id', output: { nth: this.effects.get(key) ?? 0 } });
  }
}

export interface RigOptions {
  readonly store?: MemoryLogStore;
  readonly uid?: string;
  readonly name?: string;
  readonly seed?: string;
  readonly noTools?: boolean;
}

/** One session and all that its turns need; each operation is a new incarnation, as in a host. */
export class TurnRig {
  readonly store: MemoryLogStore;
  readonly uid: string;
  readonly model = new CountingModel();
  readonly tools = new CountingTools();
  readonly clock = new FakeClock();
  readonly seen: ChainedRecord[] = [];
  readonly deltas: { readonly chunk: string; readonly done: boolean }[] = [];
  readonly #ids;
  readonly #options: RigOptions;
  harness: Harness;

  constructor(harness: Harness, options: RigOptions = {}) {
    this.harness = harness;
    this.#options = options;
    this.store = options.store ?? new MemoryLogStore();
    this.uid = options.uid ?? UID;
    this.#ids = seededIds(options.seed ?? 'rig');
  }

  async context(): Promise<TurnContext> {
    return {
      uid: this.uid,
      log: this.store,
      harness: this.harness,
      harnessName: this.#options.name ?? 'script',
      model: this.model,
      ...(this.#options.noTools ? {} : { tools: this.tools }),
      observer: {
        record: (record) => this.seen.push(record),
        delta: (_, chunk, done) => this.deltas.push({ chunk, done }),
      },
      fence: await this.store.newFence(this.uid),
      clock: this.clock,
      ids: this.#ids,
    };
  }

  async run(text: string, change: Partial<Invocation> = {}, signal = never): Promise<TurnOutcome> {
    const { seq } = await this.store.head(this.uid);
    const inputs = [textMessage('user', text)];
    const invocation = { inputs, config: new Uint8Array(), resumeFromSeq: 0n, expected: seq, ...change };
    return await runTurn(await this.context(), invocation, signal);
  }

  async resume(signal = never): Promise<TurnOutcome> {
    return await resumeTurn(await this.context(), signal);
  }

  /** Every ended turn again, by this rig's harness. */
  async replay(): Promise<ReplayReport> {
    const { uid, log, clock, harness } = await this.context();
    return await replayTurns({ uid, log, clock, harnessOf: () => harness }, never);
  }

  async decide(outcome: TurnOutcome, approved: boolean): Promise<void> {
    if (outcome.kind !== 'parked') throw new Error(`not parked: ${outcome.kind}`);
    const { executionId, toolCallId, requestSeq } = outcome.ref;
    const value = create(ApprovalResultSchema, { toolCallId, requestSeq, approved, reason: 'because' });
    await this.store.append(this.uid, [
      event(executionId, EventKind.EVENT_APPROVAL_RESULT, { case: 'approvalResult', value }),
    ]);
  }

  async records(): Promise<readonly ChainedRecord[]> {
    return await this.store.read(this.uid, { limit: 10_000 });
  }

  async kinds(): Promise<readonly string[]> {
    return (await this.records()).map(({ event: { kind } }) => EventKind[kind].replace('EVENT_', ''));
  }

  /** The same session in a new store, as if the host had died after record `to`. */
  async cutAfter(to: number, options: RigOptions = {}): Promise<TurnRig> {
    const rig = new TurnRig(this.harness, { ...this.#options, store: new MemoryLogStore(), ...options });
    const records = await this.store.read(this.uid, { to, limit: 10_000 });
    await rig.store.append(
      rig.uid,
      records.map((record) => record.event),
    );
    return rig;
  }

  /** A child that shares the records up to `atSeq`. */
  async forkAt(atSeq: number, uid = 'sess-00000000000000000000000b'): Promise<TurnRig> {
    const marker = event('', EventKind.EVENT_LIFECYCLE, {
      case: 'lifecycle',
      value: { kind: 3, detail: `${this.uid}@${atSeq}` },
    });
    await this.store.fork({ parent: this.uid, atSeq, marker, children: [{ uid, name: '', labels: {} }] });
    return new TurnRig(this.harness, { ...this.#options, store: this.store, uid });
  }
}
