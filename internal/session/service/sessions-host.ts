import { GcError } from '../../platform/errors.ts';
import type { LogRecord } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type {
  GetHarnessRequest,
  HarnessRegistration,
  ListHarnessesRequest,
  ListHarnessesResponse,
  RegisterHarnessRequest,
  RegisterHarnessResponse,
  RetireHarnessRequest,
} from '../../protocol/generated/agentsessions/v1/harness_registry_pb.ts';
import type {
  ApproveRequest,
  ApproveResponse,
  CancelRequest,
  CreateSessionRequest,
  DeleteSessionRequest,
  ExecRequest,
  ExecUpdate,
  ForkRequest,
  ForkResponse,
  GetSessionRequest,
  ListSessionsRequest,
  ListSessionsResponse,
  ReplayRequest,
  ResumeRequest,
  Session,
  SuspendRequest,
} from '../../protocol/generated/agentsessions/v1/session_pb.ts';

/** The gRPC codes that the service answers with. */
export type ServiceCode =
  | 'CANCELLED'
  | 'INVALID_ARGUMENT'
  | 'DEADLINE_EXCEEDED'
  | 'NOT_FOUND'
  | 'ALREADY_EXISTS'
  | 'RESOURCE_EXHAUSTED'
  | 'FAILED_PRECONDITION'
  | 'ABORTED'
  | 'UNIMPLEMENTED'
  | 'INTERNAL'
  | 'UNAVAILABLE'
  | 'DATA_LOSS';

/** What a call is refused with, whatever it came over. */
export class ServiceError extends GcError {
  readonly status: ServiceCode;

  constructor(status: ServiceCode, message: string, options: { cause?: unknown; next?: string } = {}) {
    super(`sessions-${status.toLowerCase().replaceAll('_', '-')}`, message, options);
    this.status = status;
  }
}

/** Aborts when the client goes away or its deadline passes; then `reason` is a ServiceError of that code. */
export type CallSignal = AbortSignal;

/**
 * The Sessions service without a transport.
 * Source: agentsessions.v1, every check and code in its order.
 * @throws ServiceError from every method
 */
export interface SessionsHost {
  createSession(request: CreateSessionRequest, signal: CallSignal): Promise<Session>;
  getSession(request: GetSessionRequest, signal: CallSignal): Promise<Session>;
  listSessions(request: ListSessionsRequest, signal: CallSignal): Promise<ListSessionsResponse>;
  deleteSession(request: DeleteSessionRequest, signal: CallSignal): Promise<Session>;
  /** Updates in order; an error after the first of them ends the stream. Leaving the iteration early cancels the turn. */
  exec(request: ExecRequest, signal: CallSignal): AsyncIterable<ExecUpdate>;
  replay(request: ReplayRequest, signal: CallSignal): AsyncIterable<LogRecord>;
  approve(request: ApproveRequest, signal: CallSignal): Promise<ApproveResponse>;
  cancel(request: CancelRequest, signal: CallSignal): Promise<Session>;
  suspend(request: SuspendRequest, signal: CallSignal): Promise<Session>;
  resume(request: ResumeRequest, signal: CallSignal): Promise<Session>;
  fork(request: ForkRequest, signal: CallSignal): Promise<ForkResponse>;
}

/** The HarnessRegistry service without a transport. @throws ServiceError from every method */
export interface HarnessRegistryHost {
  registerHarness(request: RegisterHarnessRequest, signal: CallSignal): Promise<RegisterHarnessResponse>;
  getHarness(request: GetHarnessRequest, signal: CallSignal): Promise<HarnessRegistration>;
  listHarnesses(request: ListHarnessesRequest, signal: CallSignal): Promise<ListHarnessesResponse>;
  retireHarness(request: RetireHarnessRequest, signal: CallSignal): Promise<HarnessRegistration>;
}
