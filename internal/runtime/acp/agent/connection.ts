import {
  type AnyMessage,
  type CreateTerminalRequest,
  client,
  methods,
  PROTOCOL_VERSION,
  type ReadTextFileRequest,
  RequestError,
  type RequestPermissionRequest,
  type TerminalOutputRequest,
  type TerminalOutputResponse,
  type WaitForTerminalExitResponse,
  type WriteTextFileRequest,
} from '@agentclientprotocol/sdk';

/** The one place that knows the protocol's library. */
export type {
  CreateTerminalRequest,
  ReadTextFileRequest,
  RequestPermissionRequest,
  TerminalOutputResponse,
  WaitForTerminalExitResponse,
  WriteTextFileRequest,
};
export type WireOut = AnyMessage;
export const SPOKEN_VERSION = PROTOCOL_VERSION;

/** Both directions as whole messages; bytes, bounds and order are the transport's. */
export interface MessageStream {
  readonly readable: ReadableStream<AnyMessage>;
  readonly writable: WritableStream<AnyMessage>;
}

/** What the agent may ask of us. */
export interface AgentRequests {
  permission(params: RequestPermissionRequest): Promise<{ readonly option: string | undefined }>;
  readTextFile(params: ReadTextFileRequest): Promise<string>;
  writeTextFile(params: WriteTextFileRequest): Promise<void>;
  createTerminal(params: CreateTerminalRequest): Promise<string>;
  terminalOutput(id: string): TerminalOutputResponse;
  terminalExit(id: string): Promise<WaitForTerminalExitResponse>;
  killTerminal(id: string): void;
  releaseTerminal(id: string): void;
}

/** Requests to the agent. Answers are `unknown`: the library does not check them. */
export interface AcpConnection {
  request(method: string, params: object): Promise<unknown>;
  notify(method: string, params: object): Promise<void>;
  /** Fails everything that waits with this cause. */
  close(cause: Error): void;
}

export function connect(stream: MessageStream, requests: AgentRequests): AcpConnection {
  const { session, fs, terminal } = methods.client;
  const idOf = ({ params }: { params: TerminalOutputRequest }) => params.terminalId;
  const connection = client({ name: 'gc' })
    .onRequest(session.requestPermission, async ({ params }) => {
      const { option } = await requests.permission(params);
      if (option === undefined) return { outcome: { outcome: 'cancelled' } };
      return { outcome: { outcome: 'selected', optionId: option } };
    })
    .onRequest(fs.readTextFile, async ({ params }) => ({ content: await requests.readTextFile(params) }))
    .onRequest(fs.writeTextFile, async ({ params }) => {
      await requests.writeTextFile(params);
      return {};
    })
    .onRequest(terminal.create, async ({ params }) => ({
      terminalId: await requests.createTerminal(params),
    }))
    .onRequest(terminal.output, (context) => requests.terminalOutput(idOf(context)))
    .onRequest(terminal.waitForExit, (context) => requests.terminalExit(idOf(context)))
    .onRequest(terminal.kill, (context) => {
      requests.killTerminal(idOf(context));
      return {};
    })
    .onRequest(terminal.release, (context) => {
      requests.releaseTerminal(idOf(context));
      return {};
    })
    .connect(stream);
  return {
    request: (method, params) => connection.agent.request<unknown, object>(method, params),
    notify: (method, params) => connection.agent.notify(method, params),
    close: (cause) => connection.close(cause),
  };
}

/** What an agent's request is refused with. */
export const refusal = (code: number, message: string, data?: unknown): Error =>
  new RequestError(code, message, data);

/** The JSON-RPC error that the other side answered with, `undefined` for any other failure. */
export function answeredError(
  error: unknown,
): { readonly code: number; readonly message: string; readonly data: unknown } | undefined {
  if (!(error instanceof RequestError)) return undefined;
  return { code: error.code, message: error.message, data: error.data };
}
