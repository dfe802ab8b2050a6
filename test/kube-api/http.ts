import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Cluster } from './cluster.ts';
import { type Fault, faultStatus } from './faults.ts';
import { goneNow } from './list-watch.ts';
import { serveAttach, serveExec } from './remote-command.ts';
import { type ApiRequest, parseRequest, readBody } from './request.ts';
import { type Answer, answer } from './routes.ts';
import { asStatusError, badRequest, noSuchPath, type StatusError } from './status-error.ts';

/** One request: noted, hit by a fault, checked, answered. */
export async function serveRequest(
  cluster: Cluster,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let noted: { status: number | undefined } | undefined;
  const send = (answered: Answer, headers: Record<string, string> = {}) => {
    if (noted) noted.status = answered.code;
    if (response.headersSent || response.destroyed) return;
    const text = typeof answered.body === 'string';
    const body = text ? answered.body : JSON.stringify(answered.body);
    response.writeHead(answered.code, {
      'Content-Type': text ? 'text/plain' : 'application/json',
      ...headers,
    });
    response.end(body);
  };
  const cut = () => {
    if (noted) noted.status = 0;
    message.socket.destroy();
  };
  try {
    const request = parseRequest(message);
    noted = cluster.requests.note(request);
    const fault = cluster.faults.take(request);
    const body = await readBody(message);
    const met = await meet(fault, request);
    if (met === 'cut') return cut();
    if (met === 'never') return;
    cluster.access.check(request);
    const given = answer(cluster, { request, body, response, fault });
    if (fault?.kind === 'drop') return cut();
    if (given) send(given);
    else noted.status = response.statusCode;
  } catch (error) {
    const status = asStatusError(error);
    send({ code: status.code, body: status.body() }, status.headers);
  }
}

/** What a fault does before the work. @throws StatusError the answer it stands for */
async function meet(fault: Fault | undefined, request: ApiRequest): Promise<'go on' | 'cut' | 'never'> {
  switch (fault?.kind) {
    case 'drop':
      return fault.after === true ? 'go on' : 'cut';
    case 'half-open':
      return 'never';
    case 'delay':
      await new Promise((resolve) => setTimeout(resolve, fault.ms));
      return 'go on';
    case 'status':
      throw faultStatus(fault);
    case 'gone':
      if (request.verb !== 'watch') throw goneNow();
      return 'go on';
    case 'silent':
    case 'cut':
    case undefined:
      return 'go on';
  }
}

/** The same for an exec or attach: it becomes a WebSocket, or a refusal in plain HTTP. */
export async function serveUpgrade(
  cluster: Cluster,
  message: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  socket.on('error', () => socket.destroy());
  let noted: { status: number | undefined } | undefined;
  try {
    const request = parseRequest(message);
    noted = cluster.requests.note(request);
    const fault = cluster.faults.take(request);
    const met = await meet(fault, request);
    noted.status = 0;
    if (met === 'cut') return void socket.destroy();
    if (met === 'never') return;
    cluster.access.check(request);
    const { namespace, name, resource } = request;
    if (namespace === undefined || name === undefined) throw noSuchPath();
    cluster.checkNamespace(namespace);
    const pod = cluster.pods.get(namespace, name);
    const upgrade = {
      request,
      message,
      socket,
      head,
      protocols: cluster.protocols,
      streams: cluster.streams,
      fault,
    };
    noted.status = 101;
    if (resource === 'pods/exec') await serveExec(cluster.node, pod, upgrade);
    else if (resource === 'pods/attach') await serveAttach(cluster.node, pod, upgrade);
    else throw badRequest('Upgrade request required');
  } catch (error) {
    const status = asStatusError(error);
    if (noted) noted.status = status.code;
    refuse(socket, status);
  }
}

function refuse(socket: Duplex, status: StatusError): void {
  const body = JSON.stringify(status.body());
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
    ...status.headers,
  };
  const lines = Object.entries(headers).map(([key, value]) => `${key}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status.code} ${status.reason}\r\n${lines.join('')}\r\n${body}`);
}
