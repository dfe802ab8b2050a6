import {
  EventKind,
  type ExecutionStart,
  type Lifecycle,
  Lifecycle_Kind,
  type Message,
  type ToolCall,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { type ApprovalProgress, type Gate, GateScan, invalidLog } from './gate-grammar.ts';
import { LegacyScan, type LegacyView } from './legacy-log.ts';

/** One turn, by its records. */
export interface ExecutionView {
  readonly id: string;
  readonly firstSeq: number;
  /** Of its newest record. */
  readonly lastSeq: number;
  /** Absent: it began without a start record. */
  readonly start: ExecutionStart | undefined;
  /** How many inputs are committed. */
  readonly inputCount: number;
  /** Empty for executions of which they are not held. */
  readonly inputs: readonly Message[];
  /** Model calls, outputs, tool calls and results, usage, approvals; as `inputs`. */
  readonly effects: readonly ChainedRecord[];
  readonly end: { readonly seq: number; readonly state: string } | undefined;
  /** The newest error since the newest effect; a turn may go on after it. */
  readonly error: string | undefined;
  /** Why its records cannot be run again. */
  readonly damage: string | undefined;
}

/** A gated call. `inherited`: it was made before the session was forked off, and can only be answered in the parent. */
export type ApprovalState = ApprovalProgress & {
  readonly executionId: string;
  readonly call: ToolCall;
  readonly callSeq: number;
  readonly inherited: boolean;
};

export interface LogView {
  readonly lastSeq: number;
  /** In the order of their first records. */
  readonly executions: readonly ExecutionView[];
  readonly latest: ExecutionView | undefined;
  /** All, in the order of their calls. */
  readonly approvals: readonly ApprovalState[];
  /** The last gated call of the latest execution, while that has no end and the call no result; inherited ones too. */
  readonly openApproval: ApprovalState | undefined;
  /** The same when it is the session's own: no new input may be run. */
  readonly blockingApproval: ApprovalState | undefined;
  /** The same when it waits for a person. */
  readonly pendingApproval: (ApprovalState & { readonly state: 'undecided' }) | undefined;
  /** The newest fork marker; 0 without. What comes before it was inherited. */
  readonly forkSeq: number;
  /** The newest suspension of this very session, not of one that it was forked from. */
  readonly lastOwnSuspend: { readonly seq: number; readonly lifecycle: Lifecycle } | undefined;
  /** Records without execution ids, from before there were any. */
  readonly legacy: LegacyView | undefined;
}

interface Building {
  readonly id: string;
  readonly firstSeq: number;
  readonly start: ExecutionStart | undefined;
  readonly gates: GateScan;
  lastSeq: number;
  inputCount: number;
  inputs: Message[];
  effects: ChainedRecord[];
  end: ExecutionView['end'];
  error: string | undefined;
  damage: string | undefined;
  /** Made when it is asked for; absent since the last change. */
  view: ExecutionView | undefined;
}

export interface AnalyzeOptions {
  /** Whose log it is; decides which suspensions are its own. */
  readonly uid: string;
  /** Of which executions inputs and effects are held. */
  readonly keep?: 'all' | 'latest' | 'none';
}

/**
 * Reads a log record by record; the view can be asked for at any time, and more records given after.
 * Source: agentsessions.v1, grouping of the log and approval gate.
 */
export class LogAnalyzer {
  readonly #uid: string;
  readonly #keep: NonNullable<AnalyzeOptions['keep']>;
  readonly #byId = new Map<string, Building>();
  readonly #gates: { readonly execution: Building; readonly gate: Gate }[] = [];
  #latest: Building | undefined;
  #legacy: LegacyScan | undefined;
  #lastSeq = 0;
  #forkSeq = 0;
  #suspend: LogView['lastOwnSuspend'];

  constructor({ uid, keep = 'all' }: AnalyzeOptions) {
    this.#uid = uid;
    this.#keep = keep;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** @throws TurnError `invalid-log`; then the analyzer is of no more use */
  add(record: ChainedRecord): void {
    const { seq, event } = record;
    this.#lastSeq = seq;
    if (event.body.case === 'lifecycle' && event.kind === EventKind.EVENT_LIFECYCLE) {
      this.#lifecycle(seq, event.body.value);
      return;
    }
    if (!EXECUTION_SCOPED.has(event.kind)) return;
    if (event.executionId === '') this.#idless(record);
    else this.#ofExecution(record);
  }

  view(): LogView {
    const approvals = this.#gates.map(({ execution, gate }) => this.#approval(execution, gate));
    const executions: readonly ExecutionView[] = [...this.#byId.values()].map(snapshot);
    const latest = executions.at(-1);
    const openApproval = this.#openApproval();
    const blockingApproval = openApproval?.inherited === false ? openApproval : undefined;
    return {
      lastSeq: this.#lastSeq,
      executions,
      latest,
      approvals,
      openApproval,
      blockingApproval,
      pendingApproval: blockingApproval?.state === 'undecided' ? blockingApproval : undefined,
      forkSeq: this.#forkSeq,
      lastOwnSuspend: this.#suspend,
      legacy: this.#legacy?.view(),
    };
  }

  #lifecycle(seq: number, lifecycle: Lifecycle): void {
    if (lifecycle.kind === Lifecycle_Kind.LIFECYCLE_FORK) this.#forkSeq = seq;
    else if (lifecycle.kind === Lifecycle_Kind.LIFECYCLE_SUSPEND && lifecycle.snapshotLocal === this.#uid)
      this.#suspend = { seq, lifecycle };
  }

  #idless(record: ChainedRecord): void {
    if (this.#latest) invalidLog(record.seq, 'it has no execution id, and records before it have');
    this.#legacy ??= new LegacyScan(this.#keep === 'all');
    this.#legacy.add(record);
  }

  #ofExecution(record: ChainedRecord): void {
    const { seq, event } = record;
    const { executionId: id, kind } = event;
    if (!this.#latest && kind !== EventKind.EVENT_EXECUTION_START && this.#legacy?.isOpen === true)
      invalidLog(seq, 'it has an execution id, and the turn before it, without one, has no end');
    const known = this.#byId.get(id);
    if (kind === EventKind.EVENT_EXECUTION_START) {
      if (known) invalidLog(seq, `execution ${id} begins here, and has records before`);
      if (event.body.case !== 'executionStart') invalidLog(seq, 'a start without content');
      this.#begin(id, seq, event.body.value);
      return;
    }
    this.#addTo(known ?? this.#begin(id, seq, undefined), record);
  }

  #begin(id: string, seq: number, start: ExecutionStart | undefined): Building {
    const begun: Building = {
      id,
      firstSeq: seq,
      lastSeq: seq,
      start,
      gates: new GateScan(),
      inputCount: 0,
      inputs: [],
      effects: [],
      end: undefined,
      error: undefined,
      damage: undefined,
      view: undefined,
    };
    if (this.#latest && this.#keep === 'latest') {
      this.#latest.view = undefined;
      this.#latest.inputs = [];
      this.#latest.effects = [];
    }
    this.#byId.set(id, begun);
    this.#latest = begun;
    return begun;
  }

  #addTo(execution: Building, record: ChainedRecord): void {
    const { seq, event } = record;
    const { kind, body } = event;
    execution.lastSeq = seq;
    execution.view = undefined;
    const gate = execution.gates.add(record);
    if (gate) this.#gates.push({ execution, gate });
    if (kind === EventKind.EVENT_ERROR) {
      execution.error = body.case === 'error' ? body.value.description : '';
      return;
    }
    if (execution.end) execution.damage ??= `record ${seq} comes after its end`;
    if (kind === EventKind.EVENT_END) {
      execution.end ??= { seq, state: body.case === 'end' ? body.value.state : '' };
      execution.gates.close();
      return;
    }
    if (body.case !== BODY_OF.get(kind)) execution.damage ??= `record ${seq} has no content of its kind`;
    const kept = this.#keep === 'all' || (this.#keep === 'latest' && execution === this.#latest);
    if (kind === EventKind.EVENT_INPUT) {
      execution.inputCount += 1;
      if (kept && body.case === 'message') execution.inputs.push(body.value);
      return;
    }
    execution.error = undefined;
    if (kept) execution.effects.push(record);
  }

  #openApproval(): ApprovalState | undefined {
    const execution = this.#latest;
    const gate = execution?.gates.last;
    if (!execution || !gate || execution.end || gate.progress.state === 'receipt') return undefined;
    return this.#approval(execution, gate);
  }

  #approval(execution: Building, { call, callSeq, progress }: Gate): ApprovalState {
    return { ...progress, executionId: execution.id, call, callSeq, inherited: callSeq < this.#forkSeq };
  }
}

function snapshot(execution: Building): ExecutionView {
  if (execution.view) return execution.view;
  const { gates: _gates, view: _view, inputs, effects, ...rest } = execution;
  execution.view = { ...rest, inputs: [...inputs], effects: [...effects] };
  return execution.view;
}

/** The content that a record of a kind has. */
const BODY_OF: ReadonlyMap<EventKind, string> = new Map([
  [EventKind.EVENT_INPUT, 'message'],
  [EventKind.EVENT_MODEL_CALL, 'model'],
  [EventKind.EVENT_OUTPUT, 'message'],
  [EventKind.EVENT_TOOL_CALL, 'tool'],
  [EventKind.EVENT_TOOL_RESULT, 'result'],
  [EventKind.EVENT_APPROVAL_REQUEST, 'approval'],
  [EventKind.EVENT_APPROVAL_RESULT, 'approvalResult'],
  [EventKind.EVENT_USAGE, 'usage'],
]);

const EXECUTION_SCOPED: ReadonlySet<EventKind> = new Set([
  ...BODY_OF.keys(),
  EventKind.EVENT_EXECUTION_START,
  EventKind.EVENT_END,
  EventKind.EVENT_ERROR,
]);
