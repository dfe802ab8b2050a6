import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { messageOf } from '../../platform/errors.ts';
import { type Command, commandArguments, commandLine } from './quote.ts';
import { probeServer, serverFlags, serverSocketPath, socketFileExists, type TmuxServer } from './server.ts';
import { perhapsNoServer, type Reply, type RunOptions, type Transport } from './transport.ts';

/** tmux refuses a command line of about 16 KB; longer groups are read from the standard input. */
const ARGV_LIMIT_BYTES = 12_000;
/** Starting a server and a session takes longer than a question. */
const START_FACTOR = 3;
/** How often one request is made when servers come and go meanwhile. */
const ATTEMPTS = 4;
const OUTPUT_LIMIT_BYTES = 512 * 1024 * 1024;

interface Ran {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

/** One tmux process per request. */
export class PlainTransport implements Transport {
  readonly kind = 'plain';
  /** Nothing but names and options belongs on a command line: others on the machine can read it. */
  readonly argumentLimit = 0;
  readonly #server: TmuxServer;
  readonly #timeoutMs: number;
  readonly #lifetime = new AbortController();

  constructor(server: TmuxServer, timeoutMs: number) {
    this.#server = server;
    this.#timeoutMs = timeoutMs;
    // Every running child listens to it, and many may run at once.
    setMaxListeners(0, this.#lifetime.signal);
  }

  async run(commands: readonly Command[], options: RunOptions = {}): Promise<Reply> {
    const socket = serverSocketPath(this.#server);
    if (!options.startServer && !socketFileExists(socket)) {
      return { kind: 'no-server', detail: `no socket ${socket}` };
    }
    const mayRepeat = options.repeatable || options.startServer;
    for (let attempt = 1; ; attempt += 1) {
      const reply = await this.#runOnce(commands, options, socket);
      if (reply !== 'server-replaced') return reply;
      if (!mayRepeat || attempt === ATTEMPTS)
        return { kind: 'no-answer', detail: 'the tmux server was replaced' };
    }
  }

  async #runOnce(
    commands: readonly Command[],
    options: RunOptions,
    socket: string,
  ): Promise<Reply | 'server-replaced'> {
    const mark = `gc-${randomBytes(12).toString('hex')}`;
    const group = commands.flatMap((command, i) => [
      ...(i > 0 ? [['display-message', '-p', mark]] : []),
      command,
    ]);
    const ran = await this.#execute(group, options);
    const outputs = splitOutputs(ran.stdout, mark);
    if (ran.ok) return { kind: 'ok', outputs };
    if (ran.timedOut || perhapsNoServer(ran.stderr)) return this.#factOf(socket, ran);
    return { kind: 'refused', message: ran.stderr.trim(), outputs: outputs.slice(0, -1) };
  }

  park(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#lifetime.abort(new Error('closed'));
    return Promise.resolve();
  }

  /** The server that was asked may be gone, with all that it had, while another one listens already. */
  async #factOf(socket: string, ran: Ran): Promise<Reply | 'server-replaced'> {
    const fact = await probeServer(socket);
    if (fact.kind === 'absent') return { kind: 'no-server', detail: fact.detail };
    if (ran.timedOut) {
      return { kind: 'no-answer', detail: `the tmux server did not answer within ${this.#timeoutMs} ms` };
    }
    return fact.kind === 'listening' ? 'server-replaced' : { kind: 'no-answer', detail: ran.stderr.trim() };
  }

  #execute(group: readonly Command[], options: RunOptions): Promise<Ran> {
    const startServer = options.startServer ?? false;
    const direct = commandArguments(group);
    const bytes = direct.reduce((sum, word) => sum + Buffer.byteLength(word) + 1, 0);
    const viaStdin = bytes > ARGV_LIMIT_BYTES;
    const words = viaStdin
      ? commandArguments([...(startServer ? [['start-server']] : []), ['source-file', '-']])
      : direct;
    const input = viaStdin ? `${commandLine(group)}\n` : options.stdin;
    const args = [...serverFlags(this.#server, startServer), ...words];
    this.#server.onSpawn([this.#server.tmuxPath, ...args]);
    return new Promise((resolve) => {
      const child = execFile(
        this.#server.tmuxPath,
        args,
        {
          env: this.#server.env,
          cwd: '/',
          encoding: 'utf8',
          timeout: startServer ? this.#timeoutMs * START_FACTOR : this.#timeoutMs,
          killSignal: 'SIGKILL',
          maxBuffer: OUTPUT_LIMIT_BYTES,
          signal: this.#lifetime.signal,
        },
        (error, stdout, stderr) => {
          const timedOut = error?.killed === true;
          resolve({
            ok: error === null,
            stdout,
            stderr: stderr || (error ? messageOf(error) : ''),
            timedOut,
          });
        },
      );
      // tmux may end before it has read everything; its exit says why.
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(input ?? '');
    });
  }
}

/** The output of each command of a group, cut at the marks between them. */
function splitOutputs(stdout: string, mark: string): readonly string[] {
  const outputs: string[][] = [[]];
  for (const line of stdout.split('\n')) {
    if (line === mark) outputs.push([]);
    else outputs.at(-1)?.push(line);
  }
  const last = outputs.at(-1);
  if (last?.at(-1) === '') last.pop();
  return outputs.map((lines) => lines.join('\n'));
}
