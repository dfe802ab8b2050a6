import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connectRegistry, connectSessions } from '../../internal/api/grpc/connect-sessions.ts';
import { systemClock } from '../../internal/platform/clock.ts';
import { PROJECT_ROOT, type World } from './program.ts';

const MAIN = join(PROJECT_ROOT, 'dist', 'main.js');
const START_LIMIT_MS = 20_000;

interface Ready {
  readonly sessions: string;
  readonly registry: string;
}

/** The built `gc serve` as a process of its own, that can be killed and started again on the same logs. */
export class ServedProgram {
  readonly file: string;
  readonly #world: World;
  readonly #args: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;
  #sessions: ReturnType<typeof connectSessions> | undefined;
  #registry: ReturnType<typeof connectRegistry> | undefined;

  constructor(world: World, args: readonly string[], env: Readonly<Record<string, string | undefined>> = {}) {
    this.#world = world;
    this.#args = args;
    this.#env = Object.fromEntries(
      Object.entries({ ...world.env, ...env }).filter(
        (entry): entry is [string, string] => entry[1] !== undefined,
      ),
    );
    this.file = join(world.root, 'served.db');
  }

  async start(): Promise<void> {
    const child = spawn(
      process.execPath,
      [
        MAIN,
        'serve',
        '--json',
        '--grpc=127.0.0.1:0',
        '--registry=127.0.0.1:0',
        `--journal=${this.file}`,
        ...this.#args,
      ],
      { cwd: this.#world.root, env: this.#env, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    this.#child = child;
    const ready = await firstLine(child);
    this.#sessions?.close();
    this.#registry?.close();
    this.#sessions = connectSessions(ready.sessions, { clock: systemClock, cwd: '/' });
    this.#registry = connectRegistry(ready.registry, { clock: systemClock, cwd: '/' });
  }

  /** As power loss or the kernel ends it: nothing of it runs any more. Its clients find out by themselves. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    }
  }

  readonly sessions = () => running(this.#sessions);
  readonly registry = () => running(this.#registry);
}

function running<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('gc serve has not been started');
  return part;
}

async function firstLine({ stdout, stderr }: ChildProcess): Promise<Ready> {
  return new Promise((resolve, reject) => {
    let [out, err] = ['', ''];
    const fail = (why: string) => reject(new Error(`gc serve ${why}\n${out}${err}`));
    const timer = setTimeout(() => fail(`was not ready within ${START_LIMIT_MS} ms`), START_LIMIT_MS);
    stderr?.on('data', (chunk: Buffer) => {
      err += chunk.toString('utf8');
    });
    stdout?.on('data', (chunk: Buffer) => {
      out += chunk.toString('utf8');
      if (!out.includes('\n')) return;
      clearTimeout(timer);
      resolve(JSON.parse(out.slice(0, out.indexOf('\n'))) as Ready);
    });
    stdout?.on('close', () => {
      clearTimeout(timer);
      fail('ended');
    });
  });
}

/** An OpenAI-compatible model on loopback that answers `echo:` and the last text, in pieces. */
export async function startEchoingModel(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
        messages: readonly { content: string }[];
      };
      const text = `echo:${body.messages.at(-1)?.content ?? ''}`;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const content of [text.slice(0, 3), text.slice(3)])
        response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
      const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
      response.end(`data: ${JSON.stringify(end)}\n\ndata: [DONE]\n\n`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
