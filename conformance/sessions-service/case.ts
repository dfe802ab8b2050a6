import type { EventSchema, LogRecord } from '../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import type {
  ControllerFrame,
  HarnessDescriptorSchema,
} from '../../internal/protocol/generated/agentsessions/v1/harness_pb.ts';
import type {
  GetHarnessRequestSchema,
  HarnessRegistration,
  ListHarnessesRequestSchema,
  ListHarnessesResponse,
  RegisterHarnessRequestSchema,
  RegisterHarnessResponse,
  RetireHarnessRequestSchema,
} from '../../internal/protocol/generated/agentsessions/v1/harness_registry_pb.ts';
import type {
  ApproveRequestSchema,
  ApproveResponse,
  CancelRequestSchema,
  CreateSessionRequestSchema,
  ExecRequestSchema,
  ExecUpdate,
  ForkRequestSchema,
  ForkResponse,
  ListSessionsRequestSchema,
  ListSessionsResponse,
  ReplayRequestSchema,
  Session,
} from '../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import type { MessageInitShape } from '../../internal/protocol/protobuf.ts';

/** The name of a gRPC status code, such as `NOT_FOUND`. */
export type Status = string;

/** What the server refused a call with. Clients given to the suite reject with this and nothing else. */
export class CallFailed extends Error {
  readonly status: Status;

  constructor(status: Status, message: string) {
    super(message);
    this.status = status;
  }
}

/** A turn as a client saw it: every update in order, and how the stream ended. */
export interface ExecOutcome {
  readonly updates: readonly ExecUpdate[];
  readonly failure: CallFailed | undefined;
}

/** The calls of the Sessions service, one method each. They reject with CallFailed. */
export interface SessionsCaller {
  create(request: MessageInitShape<typeof CreateSessionRequestSchema>): Promise<Session>;
  get(uid: string): Promise<Session>;
  list(request: MessageInitShape<typeof ListSessionsRequestSchema>): Promise<ListSessionsResponse>;
  delete(uid: string): Promise<Session>;
  /** Drains the stream; does not reject. Aborting the signal leaves the call, as a client that goes away does. */
  exec(
    request: MessageInitShape<typeof ExecRequestSchema>,
    options?: { readonly signal?: AbortSignal; readonly seen?: (update: ExecUpdate) => void },
  ): Promise<ExecOutcome>;
  replay(request: MessageInitShape<typeof ReplayRequestSchema>): Promise<readonly LogRecord[]>;
  approve(request: MessageInitShape<typeof ApproveRequestSchema>): Promise<ApproveResponse>;
  cancel(request: MessageInitShape<typeof CancelRequestSchema>): Promise<Session>;
  suspend(uid: string): Promise<Session>;
  resume(uid: string): Promise<Session>;
  fork(request: MessageInitShape<typeof ForkRequestSchema>): Promise<ForkResponse>;
}

/** The calls of the HarnessRegistry service. They reject with CallFailed. */
export interface RegistryCaller {
  register(request: MessageInitShape<typeof RegisterHarnessRequestSchema>): Promise<RegisterHarnessResponse>;
  get(request: MessageInitShape<typeof GetHarnessRequestSchema>): Promise<HarnessRegistration>;
  list(request: MessageInitShape<typeof ListHarnessesRequestSchema>): Promise<ListHarnessesResponse>;
  retire(request: MessageInitShape<typeof RetireHarnessRequestSchema>): Promise<HarnessRegistration>;
}

/** One execution as a harness sees it, frame by frame, with nothing done for it. */
export interface PeerTurn {
  /** The next frame of the host; `undefined` when the host ended the stream. */
  receive(): Promise<ControllerFrame | undefined>;
  send(event: MessageInitShape<typeof EventSchema>): void;
  /** Aborts when the host leaves. */
  readonly signal: AbortSignal;
}

/** What a harness of the suite does with an execution. Returning ends the stream; throwing ends it with an error. */
export type PeerScript = (turn: PeerTurn) => Promise<void>;

export interface ScriptedPeer {
  /** host:port */
  readonly address: string;
  /** What it says of itself from now on. */
  describe(descriptor: MessageInitShape<typeof HarnessDescriptorSchema>): void;
  /** What it does from the next execution on. */
  play(script: PeerScript): void;
  /** Executions begun so far. */
  readonly turns: () => number;
  close(): Promise<void>;
}

/** What a case may need beyond a Sessions address. */
export type ServiceNeed =
  /** The built-in echo harness answers `echo:` and what it was told; with a real model behind it, it does not. */
  | 'echo'
  /** The address of the registry, on a machine where the server reaches loopback ports of the suite. */
  | 'registry'
  /** Cutting a log behind the server's back, with a restart, as a crash would. */
  | 'journal'
  /** The host carries out tool calls, and the suite sees how often. */
  | 'tools';

export interface ServiceSubject {
  readonly sessions: SessionsCaller;
  /** The built-in echo harness has the built-in model, or one that answers the same. */
  readonly echoes: boolean;
  readonly registry?: RegistryCaller;
  /** Serves a harness of the suite on loopback. */
  servePeer?(): Promise<ScriptedPeer>;
  /** Keeps the first `keep` records of a log, drops the rest, and starts the server again. */
  cutLog?(uid: string, keep: number): Promise<void>;
  /** How often the host carried out the call with this key. */
  toolRuns?(idempotencyKey: string): number;
}

export interface ServiceCase {
  readonly name: string;
  readonly needs: readonly ServiceNeed[];
  /** What a user loses when it fails. */
  readonly proves: string;
  /** Holds when it resolves; rejects with what was found otherwise. */
  run(desk: ServiceSubject): Promise<void>;
}

export type CaseOutcome =
  | { readonly kind: 'passed' }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'not-applicable'; readonly missing: readonly ServiceNeed[] };

export function missingNeeds(subject: ServiceSubject, needs: readonly ServiceNeed[]): readonly ServiceNeed[] {
  const has: Readonly<Record<ServiceNeed, boolean>> = {
    echo: subject.echoes,
    registry: subject.registry !== undefined && subject.servePeer !== undefined,
    journal: subject.cutLog !== undefined,
    tools: subject.toolRuns !== undefined,
  };
  return needs.filter((need) => !has[need]);
}

/** A case that takes longer than this hangs. */
const CASE_TIMEOUT_MS = 30_000;

/** Runs one case. Never rejects. */
export async function runServiceCase(each: ServiceCase, subject: ServiceSubject): Promise<CaseOutcome> {
  const missing = missingNeeds(subject, each.needs);
  if (missing.length > 0) return { kind: 'not-applicable', missing };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`no end within ${CASE_TIMEOUT_MS / 1_000} s`)),
      CASE_TIMEOUT_MS,
    );
  });
  try {
    await Promise.race([each.run(subject), late]);
    return { kind: 'passed' };
  } catch (error) {
    return { kind: 'failed', reason: error instanceof Error ? error.message : String(error) };
  } finally {
    clearTimeout(timer);
  }
}
