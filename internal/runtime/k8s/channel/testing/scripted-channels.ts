import { Agent, createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { ClusterAccess } from '../../api/cluster-access.ts';

export interface ScriptedConnection {
  readonly url: URL;
  readonly socket: WebSocket;
  /** Every message so far: channel number and bytes. */
  readonly received: { readonly channel: number; readonly bytes: Buffer }[];
  say(channel: number, text: string): void;
  /** The status of a command that ended. */
  status(code: number): void;
}

export interface ScriptedServer {
  readonly access: ClusterAccess;
  readonly port: number;
  /** `GET /path`, `WS /path` in the order they came. */
  readonly requests: readonly string[];
  readonly renewals: () => number;
  /** Breaks every connection and takes none, until `open` is called. */
  shut(): Promise<void>;
  open(): Promise<void>;
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly body: string | Buffer;
}

export interface ScriptOptions {
  /** Protocols that it speaks. */
  readonly protocols?: readonly string[];
  readonly autoPong?: boolean;
  /** Answers plain requests; without it, or without an answer, they are 404. */
  readonly answer?: (
    url: URL,
    body: string,
    method: string,
  ) => Answer | undefined | Promise<Answer | undefined>;
  /** Refuses the n-th upgrade (from 0) with a status and a body. */
  readonly refuse?: (n: number) => { readonly status: number; readonly body: string } | undefined;
}

/** A server on loopback that does with each channel connection what the script says, frame by frame. */
export async function scriptedServer(
  script: (connection: ScriptedConnection) => void,
  options: ScriptOptions = {},
): Promise<ScriptedServer> {
  const protocols = options.protocols ?? ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
  const requests: string[] = [];
  const http: Server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://x');
    requests.push(`${request.method} ${url.pathname}`);
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const method = request.method ?? '';
    const answer = await options.answer?.(url, Buffer.concat(parts).toString('utf8'), method);
    response.writeHead(answer?.status ?? 404).end(answer?.body ?? '{"message":"not found"}');
  });
  const sockets = new WebSocketServer({
    noServer: true,
    autoPong: options.autoPong ?? true,
    handleProtocols: (offered) => protocols.find((each) => offered.has(each)) ?? false,
  });
  let upgrades = 0;
  let renewals = 0;
  http.on('upgrade', (request, stream, head) => {
    requests.push(`WS ${new URL(request.url ?? '/', 'http://x').pathname}`);
    const refusal = options.refuse?.(upgrades++);
    if (refusal) {
      const { status, body } = refusal;
      stream.end(
        `HTTP/1.1 ${status} No\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
      );
      return;
    }
    sockets.handleUpgrade(request, stream, head, (socket) => {
      const connection = speak(new URL(request.url ?? '/', 'http://x'), socket);
      script(connection);
    });
  });
  const listen = (on: number) => new Promise<void>((resolve) => http.listen(on, '127.0.0.1', resolve));
  await listen(0);
  const { port } = http.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true });
  const shut = async () => {
    for (const client of sockets.clients) client.terminate();
    const closed = new Promise((resolve) => http.close(resolve));
    http.closeAllConnections();
    await closed;
  };
  return {
    port,
    requests,
    shut,
    open: () => listen(port),
    renewals: () => renewals,
    access: {
      server: new URL(`http://127.0.0.1:${port}`),
      connection: async () => ({ headers: { authorization: 'Bearer t' }, agent, tls: {} }),
      renew: () => {
        renewals += 1;
      },
      close: () => agent.destroy(),
    },
    close: async () => {
      agent.destroy();
      await shut();
    },
  };
}

function speak(url: URL, socket: WebSocket): ScriptedConnection {
  const received: { channel: number; bytes: Buffer }[] = [];
  socket.on('message', (data: Buffer) => received.push({ channel: data[0] ?? -1, bytes: data.subarray(1) }));
  const say = (channel: number, text: string) =>
    socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(text)]));
  return {
    url,
    socket,
    received,
    say,
    status: (code) => say(3, JSON.stringify(code === 0 ? { status: 'Success' } : failure(code))),
  };
}

const failure = (code: number) => ({
  status: 'Failure',
  reason: 'NonZeroExitCode',
  message: `command terminated with non-zero exit code: exit status ${code}`,
  details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
});
