import type { Clock } from '../../../platform/clock.ts';
import { GcError } from '../../../platform/errors.ts';
import type { ClusterAccess } from '../api/cluster-access.ts';
import { ChannelError, type PodContainer } from './channel-errors.ts';
import {
  endOfStdinFrame,
  type RemoteExit,
  readStatus,
  type ServerFrame,
  stdinFrame,
} from './channel-frames.ts';
import { type ChannelSocket, HIGH_WATER_BYTES, openChannel } from './channel-socket.ts';

/** What the command still had to say may follow its status; the server closes once it is all sent. */
const AFTER_STATUS_MS = 2_000;
/** An API server takes messages of up to 32 KiB without cutting them. */
const STDIN_PIECE_BYTES = 32_000;
const STDERR_TAIL_BYTES = 8_192;
const DEFAULT_MAX_OUTPUT_BYTES = 8_388_608;

/** Input that is not one piece. */
export interface StreamedInput {
  /**
   * Exactly what `chunks` gives. `self-ending`: the command knows the end from what it reads, as `tar` does; nothing
   * is put before it, and one that reads on would not end.
   */
  readonly bytes: number | 'self-ending';
  readonly chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

export interface ExecRequest extends PodContainer {
  /** No shell is added. The command line is part of the address, so it is kept short, and no secret may be in it. */
  readonly argv: readonly string[];
  /**
   * The command's whole input, of which it sees the end: the container's `sh` and `head -c` count it, as the older
   * protocol cannot tell that an input is over. Absent: the command has none.
   */
  readonly stdin?: Uint8Array | StreamedInput;
  /** Of the whole call, milliseconds. */
  readonly timeoutMs: number;
  /** More on stdout ends the call with `k8s-output-too-large`. Default 8 MiB. */
  readonly maxOutputBytes?: number;
  readonly signal?: AbortSignal;
}

export interface ExecResult {
  readonly exit: number;
  readonly stdout: Buffer;
  /** The last 8 KiB. */
  readonly stderrTail: string;
}

/**
 * Runs a command in a container of a pod. Resolves when its status is here and its output is whole: never before its
 * end, and never with success when no status came.
 * @throws ChannelError; GcError `k8s-bad-status`, `k8s-credentials`; the signal's reason
 */
export async function execInPod(
  access: ClusterAccess,
  request: ExecRequest,
  clock: Clock,
): Promise<ExecResult> {
  const lifetime = new AbortController();
  const signal = request.signal ? AbortSignal.any([request.signal, lifetime.signal]) : lifetime.signal;
  const timer = new AbortController();
  const late = new ChannelError(
    'k8s-timeout',
    request,
    `no end of ${nameOf(request)} within ${request.timeoutMs} ms`,
  );
  clock.sleep(request.timeoutMs, timer.signal).then(
    () => lifetime.abort(late),
    () => undefined, // over in time
  );
  try {
    return await run(access, request, clock, signal);
  } finally {
    timer.abort();
    lifetime.abort(new GcError('internal', 'the call is over'));
  }
}

async function run(
  access: ClusterAccess,
  request: ExecRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<ExecResult> {
  const { stdin } = request;
  const input = stdin instanceof Uint8Array ? { bytes: stdin.length, chunks: [stdin] } : stdin;
  const conversation = new Conversation(request, clock);
  const socket = await openChannel(
    {
      access,
      target: request,
      verb: 'exec',
      query: [
        ...argvFor(request, input).map((word) => ['command', word] as const),
        ['stdin', String(input !== undefined)],
        ['stdout', 'true'],
        ['stderr', 'true'],
        ['tty', 'false'],
      ],
      clock,
      signal,
    },
    conversation,
  );
  const give = () => conversation.fail(signal.reason);
  signal.addEventListener('abort', give, { once: true });
  try {
    if (input) sendInput(socket, input, conversation.over).catch((error) => conversation.fail(error));
    return await conversation.result;
  } finally {
    signal.removeEventListener('abort', give);
    conversation.stop();
    socket.close();
  }
}

/**
 * A command that reads to the end of its input would never end with the older protocol, which cannot tell the end. Which
 * protocol is spoken is not known before the command is named: so the length is always told.
 */
function argvFor({ argv }: ExecRequest, input: StreamedInput | undefined): readonly string[] {
  if (!input || input.bytes === 'self-ending') return argv;
  return ['sh', '-c', 'head -c "$0" | "$@"', String(input.bytes), ...argv];
}

async function sendInput(socket: ChannelSocket, input: StreamedInput, over: AbortSignal): Promise<void> {
  for await (const chunk of input.chunks) {
    for (let from = 0; from < chunk.length; from += STDIN_PIECE_BYTES) {
      if (over.aborted) return; // it may end without reading everything
      const sent = socket.send(stdinFrame(chunk.subarray(from, from + STDIN_PIECE_BYTES)));
      if (socket.waitingBytes > HIGH_WATER_BYTES) await sent;
    }
  }
  if (socket.halfCloses && !over.aborted) await socket.send(endOfStdinFrame());
}

/** What has been heard of one command. */
class Conversation {
  readonly result: Promise<ExecResult>;
  readonly #request: ExecRequest;
  readonly #clock: Clock;
  readonly #over = new AbortController();
  readonly #stdout: Buffer[] = [];
  #stdoutBytes = 0;
  #stderr = Buffer.alloc(0);
  #status: Buffer[] = [];
  #statusSeen = false;
  #resolve: (result: ExecResult) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  #heard = 0;

  constructor(request: ExecRequest, clock: Clock) {
    this.#request = request;
    this.#clock = clock;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.result.catch(() => undefined); // it may fail before anybody waits for it
  }

  /** Aborts when nothing more will be heard. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  stop(): void {
    this.#over.abort();
  }

  fail(error: unknown): void {
    this.#reject(error);
    this.stop();
  }

  onFrame(frame: ServerFrame): void {
    if (this.#over.signal.aborted) return;
    this.#heard += 1;
    switch (frame.kind) {
      case 'stdout':
        this.#keep(frame.bytes);
        return;
      case 'stderr':
        this.#stderr = Buffer.from(Buffer.concat([this.#stderr, frame.bytes]).subarray(-STDERR_TAIL_BYTES));
        return;
      case 'status':
        this.#status.push(frame.bytes);
        if (!this.#statusSeen) this.#afterStatus();
        this.#statusSeen = true;
        return;
      case 'closed':
      case 'nothing':
        return;
    }
  }

  onEnd(why: string | undefined): void {
    if (this.#over.signal.aborted) return;
    if (this.#statusSeen) {
      this.#finish();
      return;
    }
    const how = why === undefined ? 'closed' : `broke: ${why}`;
    this.fail(
      new ChannelError(
        'k8s-lost',
        this.#request,
        `the connection ${how} before ${nameOf(this.#request)} had a status: it may have run or not`,
      ),
    );
  }

  #keep(bytes: Buffer): void {
    const limit = this.#request.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES;
    this.#stdoutBytes += bytes.length;
    if (this.#stdoutBytes > limit) {
      const what = `${nameOf(this.#request)} wrote more than ${limit} bytes`;
      this.fail(new ChannelError('k8s-output-too-large', this.#request, what));
      return;
    }
    this.#stdout.push(bytes);
  }

  /** A server that does not close is not waited for longer than it goes on speaking. */
  async #afterStatus(): Promise<void> {
    try {
      for (let seen = -1; seen !== this.#heard; ) {
        seen = this.#heard;
        await this.#clock.sleep(AFTER_STATUS_MS, this.#over.signal);
      }
    } catch {
      return; // it closed
    }
    this.#finish();
  }

  #finish(): void {
    try {
      const exit = readStatus(Buffer.concat(this.#status));
      this.#resolve(this.#resultOf(exit));
    } catch (error) {
      this.#reject(error);
    }
    this.stop();
  }

  #resultOf(exit: RemoteExit): ExecResult {
    const stderrTail = this.#stderr.toString('utf8');
    if (exit.kind === 'exited') return { exit: exit.code, stdout: Buffer.concat(this.#stdout), stderrTail };
    const said = stderrTail === '' ? exit.message : `${stderrTail.trimEnd()}: ${exit.message}`;
    throw new ChannelError('k8s-exec-failed', this.#request, `${nameOf(this.#request)}: ${said}`);
  }
}

const nameOf = ({ argv }: ExecRequest): string => argv[0] ?? 'the command';
