import { FakeClock } from '../../../platform/fake-clock.ts';
import { type Ids, seededIds } from '../../../platform/ids.ts';
import { textMessage, textOf } from '../../../protocol/events.ts';
import {
  EventKind,
  Lifecycle_Kind,
  Mediation,
  type Message,
  ModelCallSchema,
  type ToolCall,
  ToolCallSchema,
  type ToolResult,
  ToolResultSchema,
} from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  HarnessDescriptorSchema,
  ModelResultSchema,
  Resumability,
} from '../../../protocol/generated/agentsessions/v1/harness_pb.ts';
import type { ExecUpdate, Session } from '../../../protocol/generated/agentsessions/v1/session_pb.ts';
import type { ChainedRecord } from '../../../protocol/hash-chain.ts';
import { create } from '../../../protocol/protobuf.ts';
import type { BlobStore } from '../../log/blobs/blob-store.ts';
import type { SessionLogStore } from '../../log/session-log.ts';
import { MemoryLogStore } from '../../log/testing/memory-log-store.ts';
import type { Harness, HarnessSink, HarnessStart, ModelProvider, ToolExecutor } from '../../turn/harness.ts';
import { createSessionsHost } from '../create-sessions-host.ts';
import { HarnessRoster } from '../harness-roster.ts';
import type { ServiceLogFields } from '../operation-log.ts';
import type { ServiceCode, SessionsHost } from '../sessions-host.ts';
import { ServiceError } from '../sessions-host.ts';
import { type Calls, callsOf } from './calls.ts';
import { MemoryHarnessTable } from './memory-harness-table.ts';

export type Script = (start: HarnessStart, sink: HarnessSink, signal: AbortSignal) => Promise<void>;

export interface ScriptedOptions {
  readonly id?: string;
  readonly version?: string;
  readonly resumability?: Resumability;
  /** What it does instead of describing itself. */
  readonly describe?: () => Promise<never>;
}

/** A harness that does what a test says. */
export function scripted(run: Script, options: ScriptedOptions = {}): Harness {
  const { id = 'scripted', version = '1', resumability = Resumability.STATELESS_REPLAY } = options;
  return {
    observes: false,
    describe: async () =>
      options.describe === undefined
        ? create(HarnessDescriptorSchema, { id, version, capabilities: { resumability } })
        : await options.describe(),
    run,
  };
}

/** Asks the model once with the last input's text. */
export const echoHarness: Harness = scripted(
  async ({ inputs }, sink) => {
    const messages = [textMessage('user', textOf(inputs.at(-1)))];
    await sink.model(create(ModelCallSchema, { model: 'echo', messages }));
  },
  { id: 'echo' },
);

export interface CountingModel extends ModelProvider {
  calls: number;
}

export function echoModel(streams = false): CountingModel {
  return {
    calls: 0,
    streams,
    async complete({ messages, id }, { delta }) {
      this.calls += 1;
      const text = `echo:${textOf(messages.at(-1))}`;
      if (streams) for (const chunk of [text.slice(0, 3), '', text.slice(3)]) delta?.(chunk);
      return create(ModelResultSchema, { message: textMessage('assistant', text), modelCallId: id });
    },
  };
}

/** Remembers what it did, by key. */
export class CountingTools implements ToolExecutor {
  readonly done: string[] = [];

  async execute(_session: string, call: ToolCall): Promise<ToolResult> {
    this.done.push(call.idempotencyKey);
    return create(ToolResultSchema, { id: call.id, output: { ok: true } });
  }
}

export function gatedCall(id = 'call-1'): ToolCall {
  return create(ToolCallSchema, {
    id,
    tool: 'deploy',
    args: { where: 'prod' },
    mediation: Mediation.REQUIRES_APPROVAL,
    idempotencyKey: `key-${id}`,
  });
}

export interface Bench {
  readonly host: SessionsHost;
  readonly call: Calls;
  readonly store: SessionLogStore;
  readonly table: MemoryHarnessTable;
  readonly roster: HarnessRoster;
  readonly clock: FakeClock;
  readonly model: CountingModel;
  readonly tools: CountingTools;
  readonly logged: ServiceLogFields[];
  /** Another process on the same store, with what it was started with. */
  another(options?: Partial<BenchOptions>): Promise<Bench>;
}

export interface BenchOptions {
  readonly harnesses: Readonly<Record<string, Harness>>;
  readonly store: SessionLogStore;
  readonly table: MemoryHarnessTable;
  readonly clock: FakeClock;
  readonly ids: Ids;
  readonly model: CountingModel;
  readonly tools: CountingTools;
  readonly connect: (address: string) => Harness;
  /** Whether the host has somebody who carries out calls. */
  readonly hasTools: boolean;
  /** Who does, instead of `tools`. */
  readonly executor: ToolExecutor;
  readonly blobs: Pick<BlobStore, 'put'>;
}

/** A host over a store in memory; the default harness is `echo`. */
export async function openBench(options: Partial<BenchOptions> = {}): Promise<Bench> {
  const { clock = new FakeClock(), table = new MemoryHarnessTable(), ids = seededIds(1) } = options;
  const {
    store = new MemoryLogStore(() => clock.now()),
    model = echoModel(),
    tools = new CountingTools(),
  } = options;
  const { connect = () => echoHarness, hasTools = true, executor = tools, blobs } = options;
  const harnesses = new Map(Object.entries({ echo: echoHarness, ...options.harnesses }));
  const roster = await HarnessRoster.open({
    harnesses,
    defaultName: 'echo',
    reserved: ['chat'],
    table,
    remote: { connect },
  });
  const logged: ServiceLogFields[] = [];
  const log = (fields: ServiceLogFields): void => void logged.push(fields);
  const host = createSessionsHost({
    ...{ store, roster, model, project: 'default', clock, ids, log },
    ...(hasTools ? { tools: executor } : {}),
    ...(blobs ? { blobs } : {}),
  });
  return {
    host,
    call: callsOf(host),
    store,
    table,
    roster,
    clock,
    model,
    tools,
    logged,
    another: (other = {}) => openBench({ ...options, store, table, clock, ids, model, tools, ...other }),
  };
}

export const say = (text: string): Message => textMessage('user', text);

/** What a frame or a record is, in one word; sessions with their last record. */
export function wordOf(frame: ExecUpdate): string {
  const { update } = frame;
  switch (update.case) {
    case 'session':
      return `session@${update.value.lastSeq}`;
    case 'record':
      return `${update.value.seq}:${kindOf(update.value.event)}`;
    case 'delta':
      return update.value.done ? 'done' : `delta:${update.value.chunk}`;
    case undefined:
      return 'nothing';
  }
}

export function kindOf(event: ChainedRecord['event'] | undefined): string {
  if (event === undefined) return 'none';
  if (event.body.case === 'lifecycle') return (Lifecycle_Kind[event.body.value.kind] ?? '').slice(10);
  return (EventKind[event.kind] ?? '').slice(6);
}

/** The kinds of everything in a log, in order. */
export async function kindsOf(store: SessionLogStore, uid: string): Promise<string[]> {
  return (await store.read(uid, {})).map(({ event }) => kindOf(event));
}

export function uidOf(session: Session | undefined): string {
  return session?.metadata?.uid ?? '';
}

/** The session that the first frame of a stream tells of. */
export function sessionIn(frame: ExecUpdate | undefined): Session | undefined {
  return frame?.update.case === 'session' ? frame.update.value : undefined;
}

/** The code that a call is refused with; `OK` when it is not. */
export async function codeOfCall(call: Promise<unknown>): Promise<ServiceCode | 'OK'> {
  try {
    await call;
    return 'OK';
  } catch (error) {
    if (error instanceof ServiceError) return error.status;
    throw error;
  }
}

/** A promise that somebody else settles. */
export function gate<T = void>(): { readonly opened: Promise<T>; readonly open: (value: T) => void } {
  let open: (value: T) => void = () => undefined;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
