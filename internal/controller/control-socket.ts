import type { Ids } from '../platform/ids.ts';
import type { LifetimeLock } from '../platform/lifetime-lock.ts';
import { serveLines } from '../platform/line-socket.ts';
import type { Environment } from '../platform/paths.ts';
import { type SocketPlace, socketPlace } from './control-socket-client.ts';
import { type PublishedSocket, publishSocket } from './control-socket-file.ts';

/** What the words do. Each returns at once; the work goes on after the reply. */
export interface ControlHandlers {
  /** Begins the graceful shutdown of the city. */
  stop(): void;
  /** Asks for one full pass now. */
  poke(): void;
  /** Marks the config as changed and pokes. */
  reload(): void;
}

export interface ControlSocketOptions {
  readonly cityDir: string;
  readonly env: Environment;
  readonly pid: number;
  readonly ids: Pick<Ids, 'hex'>;
  /** Proof that this process is the city's controller: only then is a leftover socket replaced. */
  readonly lock: LifetimeLock;
  readonly handlers: ControlHandlers;
  /** Ends the server and removes its file. */
  readonly signal: AbortSignal;
}

/**
 * Serves the city's one-line protocol: one request line, one reply line, connection closed. Unknown words are ignored
 * and get no reply. Source: Gas City's controller socket.
 */
export async function serveControl(options: ControlSocketOptions): Promise<PublishedSocket> {
  const { handlers, pid } = options;
  return serveWords(
    socketPlace(options.cityDir, 'controller.sock', options.env),
    {
      ping: () => String(pid),
      stop: () => afterReply(handlers.stop),
      poke: () => acknowledge(handlers.poke),
      reload: () => acknowledge(handlers.reload),
    },
    options.ids,
    options.signal,
  );
}

type WordTable = Readonly<Record<string, () => string | Promise<string>>>;

/** Serves a table of words on an owner-only socket until the signal aborts. */
export async function serveWords(
  place: SocketPlace,
  words: WordTable,
  ids: Pick<Ids, 'hex'>,
  signal: AbortSignal,
): Promise<PublishedSocket> {
  const answer = async (line: string): Promise<string | undefined> => {
    const word = line.trim();
    return Object.hasOwn(words, word) ? words[word]?.() : undefined;
  };
  const published = await publishSocket(place, ids, async (staged) => {
    await serveLines(staged, answer, signal);
  });
  signal.addEventListener('abort', () => published.remove(), { once: true });
  return published;
}

function acknowledge(work: () => void): string {
  work();
  return 'ok';
}

/** For words that may end this server: the reply leaves first. */
export function afterReply(work: () => void): string {
  setImmediate(work);
  return 'ok';
}
