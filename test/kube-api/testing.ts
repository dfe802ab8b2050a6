import { WebSocket } from 'ws';
import type { KubeApi } from './server.ts';

/** A pod with one container `agent`, a terminal and a workspace. */
export function podManifest(name: string, script: string, change: PodChange = {}): Record<string, unknown> {
  const { metadata = {}, spec = {}, container = {} } = change;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'gc-agent' }, ...metadata },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: 'ws', emptyDir: {} }],
      containers: [
        {
          name: 'agent',
          image: 'agent:1',
          command: ['/bin/sh', '-c', script],
          stdin: true,
          tty: true,
          workingDir: '/workspace',
          volumeMounts: [{ name: 'ws', mountPath: '/workspace' }],
          ...container,
        },
      ],
      ...spec,
    },
  };
}

export interface PodChange {
  readonly metadata?: object;
  readonly spec?: object;
  readonly container?: object;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** Reads a value deep in an answer. */
export function at(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );
}

export async function call(
  api: KubeApi,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const response = await fetch(`${api.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${api.token}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const json = response.headers.get('content-type')?.includes('json');
  return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text };
}

/** For `expect.poll`: a machine that is busy may take its time. */
export const POLL = { timeout: 10_000, interval: 10 };

export const PODS = '/api/v1/namespaces/gc/pods';

export interface WatchEvent {
  readonly type: string;
  readonly object: unknown;
}

/** A watch whose events are asked for one at a time. */
export async function openWatch(
  api: KubeApi,
  path: string,
): Promise<{
  readonly status: number;
  /** `undefined`: the server ended it. @throws when the connection broke */
  next(): Promise<WatchEvent | undefined>;
  /** The first event that is so. */
  until(holds: (event: WatchEvent) => boolean): Promise<WatchEvent>;
  close(): void;
}> {
  const abort = new AbortController();
  const response = await fetch(`${api.url}${path}`, {
    headers: { authorization: `Bearer ${api.token}` },
    signal: abort.signal,
  });
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  const next = async (): Promise<WatchEvent | undefined> => {
    for (;;) {
      const end = text.indexOf('\n');
      if (end >= 0) {
        const line = text.slice(0, end);
        text = text.slice(end + 1);
        return JSON.parse(line);
      }
      const piece = await reader?.read();
      if (!piece || piece.done) return undefined;
      text += decoder.decode(piece.value, { stream: true });
    }
  };
  return {
    status: response.status,
    next,
    until: async (holds) => {
      for (;;) {
        const event = await next();
        if (!event) throw new Error('the watch ended');
        if (holds(event)) return event;
      }
    },
    close: () => abort.abort(),
  };
}

/** An exec or attach that collects what comes. */
export class Remote {
  readonly socket: WebSocket;
  readonly channels = new Map<number, string>();
  readonly closed: Promise<number>;
  readonly #listeners = new Set<() => void>();

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer) => {
      const channel = data[0] ?? -1;
      this.channels.set(channel, (this.channels.get(channel) ?? '') + data.subarray(1).toString('utf8'));
      for (const listener of [...this.#listeners]) listener();
    });
    this.closed = new Promise((resolve) => socket.once('close', (code) => resolve(code)));
  }

  /** @throws Error with the answer when the server refuses */
  static async open(
    api: KubeApi,
    path: string,
    protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'],
  ): Promise<Remote> {
    const socket = new WebSocket(`${api.url.replace('http', 'ws')}${path}`, protocols, {
      headers: { authorization: `Bearer ${api.token}` },
    });
    const remote = new Remote(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('open', () => resolve());
      socket.once('error', reject);
      socket.once('unexpected-response', (_request, response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => reject(new Error(`${response.statusCode} ${Buffer.concat(chunks)}`)));
      });
    });
    return remote;
  }

  send(channel: number, text: string): void {
    this.socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(text)]));
  }

  /** Resolves when the channel's text so far matches. */
  async saw(channel: number, pattern: RegExp): Promise<void> {
    await new Promise<void>((resolve) => {
      const check = () => {
        if (!pattern.test(this.channels.get(channel) ?? '')) return;
        this.#listeners.delete(check);
        resolve();
      };
      this.#listeners.add(check);
      check();
    });
  }

  get status(): unknown {
    return JSON.parse(this.channels.get(3) ?? 'null');
  }
}

export const execPath = (pod: string, command: readonly string[], flags: string): string =>
  `${PODS}/${pod}/exec?${flags}&${command.map((word) => `command=${encodeURIComponent(word)}`).join('&')}`;
