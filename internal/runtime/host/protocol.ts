import { messageOf } from '../../platform/errors.ts';
import { isSessionName } from '../name-rule.ts';
import {
  BadMessageError,
  flag,
  integer,
  listOf,
  literal,
  mapOf,
  object,
  optional,
  type Shape,
  type ShapeOf,
  text,
  union,
} from './shape.ts';

/**
 * What the session host and its clients say to each other over `host.sock`: one JSON object per line, UTF-8, terminal
 * bytes as base64. A client greets first and names the versions that it speaks; the host picks the highest that both
 * know, or refuses. Then the client sends numbered requests, answered in any order, and the host sends events to
 * connections that asked for them. A connection that sends `attach` becomes one person's terminal and carries nothing else.
 */
export const PROTOCOL_VERSION = 2;
/** The host and the client each accept the version before their own: one of them may be the older program. */
export const OLDEST_PROTOCOL_VERSION = PROTOCOL_VERSION - 1;

/** Longer lines end the connection. A long paste or history is sent in parts. */
export const MAX_LINE_BYTES = 4_194_304;
/** Parts of a paste and of a history are at most this long, in UTF-16 units (six bytes each at worst, when escaped). */
export const PART_CHARS = 262_144;
/** Everything that one paste may hold. */
export const MAX_PASTE_CHARS = 67_108_864;

/** Longest metadata value or environment entry is bounded by the line. Terminal sizes beyond this are mistakes. */
const MAX_TERMINAL_SIDE = 1_000;
const COUNTER = integer(0, Number.MAX_SAFE_INTEGER);
const SIDE = integer(1, MAX_TERMINAL_SIDE);

const sessionName: Shape<string> = (value, at) => {
  if (typeof value === 'string' && isSessionName(value)) return value;
  throw new BadMessageError(at, 'a session name (letters, digits, "_" and "-", at most 200)');
};

const size = object({ columns: SIDE, rows: SIDE });
const exit = object({ code: optional(integer(0, 255)), signal: optional(text) });
const named = object({ name: sessionName });

/** Since version 2: the agent speaks the Agent Client Protocol on its pipes, to the host itself. */
const acpLaunch = object({
  /** The agent's id of the conversation to go on with; `''`: a new one. */
  conversation: text,
  /** From the first byte to an open conversation, milliseconds. */
  handshakeMs: integer(1, 3_600_000),
  /** What the host says it is. */
  clientVersion: text,
});

/** Since version 2: the agent runs elsewhere, and the host holds a stream to its terminal. What is in `target` belongs to the driver. */
const remoteLaunch = object({ driver: literal('kubernetes'), target: mapOf(text) });

const launch = object({
  argv: listOf(text),
  cwd: text,
  env: mapOf(text),
  pty: flag,
  columns: SIDE,
  rows: SIDE,
  acp: optional(acpLaunch),
  remote: optional(remoteLaunch),
});

/** A part of a prompt. Files are named, not sent: the agent reads what it may. */
const acpBlock = union('type', {
  text: object({ text }),
  link: object({ uri: text, name: text }),
});

const acpQuestion = object({
  id: text,
  /** `permission`. */
  kind: text,
  /** What is asked for, one line: the tool call's title. */
  title: text,
  /** More of it, several lines: the command, the file, the difference; cut to a bound. */
  detail: text,
  options: listOf(object({ id: text, name: text, kind: text })),
  /** The kind of tool it is about, in the agent's words: `execute`, `edit` ... */
  tool: optional(text),
  /** The command or the file, to the letter; absent where that is not known. */
  input: optional(text),
  /** Milliseconds since the epoch. */
  askedAt: COUNTER,
});

const acpState = object({
  phase: literal('connecting', 'ready', 'failed'),
  /** What a failed handshake, or a connection that broke later, ended with. */
  failure: optional(object({ code: text, message: text, next: optional(text) })),
  /** Name and version, as the agent says; `''` before it did. */
  agent: text,
  conversation: text,
  /** The agent can go on with an earlier conversation. */
  resumes: flag,
  busy: flag,
  /** Prompts handed over in this life. */
  turn: COUNTER,
  /** How the last turn ended: a stop reason of the protocol, or `error: ...`; absent before the first end. */
  lastStop: optional(text),
  questions: listOf(acpQuestion),
});

const request = union('op', {
  create: object({ name: sessionName, launch }),
  inspect: named,
  list: object({}),
  kill: object({ name: sessionName, graceMs: integer(0, 3_600_000) }),
  interrupt: named,
  capture: object({ name: sessionName, lines: integer(-1, Number.MAX_SAFE_INTEGER) }),
  /** Earlier parts of a long paste are kept for the connection until `done`. */
  paste: object({ name: sessionName, text, done: flag }),
  keys: object({ name: sessionName, keys: listOf(text) }),
  inputLimit: named,
  wake: named,
  clear: named,
  setMeta: object({ name: sessionName, key: text, value: text }),
  getMeta: object({ name: sessionName, key: text }),
  removeMeta: object({ name: sessionName, key: text }),
  /** From now on this connection is told events, first of all the exits that nobody acknowledged. */
  watch: object({}),
  /** The exit of this session was seen; it is not announced again. */
  acknowledge: named,
  acpState: named,
  /** Answered as soon as the handshake is over (`ready`: also when it failed) or no turn is open (`idle`), at the latest after the time. */
  acpWait: object({ name: sessionName, until: literal('ready', 'idle'), timeoutMs: integer(0, 3_600_000) }),
  /** Answered when the agent's side has taken the whole prompt; fails with `agent-busy` while a turn is open. */
  acpPrompt: object({ name: sessionName, blocks: listOf(acpBlock) }),
  /** Ends the open turn: questions are answered as cancelled, then the agent is told. No open turn is fine. */
  acpCancel: named,
  /** Without an option: cancelled. The first answer wins; a later one fails with `already-answered`, an unknown one with `no-such-question`. */
  acpAnswer: object({ name: sessionName, question: text, option: optional(text) }),
  /** Nobody is coming back: the host ends now when it has no session. */
  leave: object({}),
});

const clientMessage = union('t', {
  hello: object({ version: COUNTER, oldest: COUNTER, city: text }),
  request: object({ id: COUNTER, request }),
  attach: object({ name: sessionName, size }),
  input: object({ data: text }),
  resize: object({ size }),
});

const session = object({
  name: sessionName,
  /** Set while the agent lives. */
  pid: optional(COUNTER),
  /** Set once it ended. */
  exit: optional(exit),
  lastLines: optional(text),
  attached: COUNTER,
  lastActivity: COUNTER,
  processNames: listOf(text),
  meta: mapOf(text),
});

const screen = object({
  lines: listOf(text),
  cursor: object({ row: COUNTER, column: COUNTER }),
  visibleRows: COUNTER,
  bracketedPaste: flag,
});

const event = union('kind', {
  exited: object({ name: sessionName, exit, lastLines: text }),
  activity: object({ name: sessionName }),
  attached: object({ name: sessionName }),
  detached: object({ name: sessionName }),
  /** Since version 2: something that `acpState` tells is different. */
  changed: object({ name: sessionName }),
});

const hostMessage = union('t', {
  welcome: object({ version: COUNTER, incarnation: text, pid: COUNTER }),
  refused: object({ code: text, message: text }),
  /** `result` is read by the shape that belongs to the request. */
  reply: object({ id: COUNTER, result: ((value) => value) as Shape<unknown> }),
  /** Older history of a capture, oldest first, before its reply. */
  part: object({ id: COUNTER, text }),
  failed: object({ id: COUNTER, code: text, message: text, next: optional(text) }),
  event: object({ event }),
  output: object({ data: text }),
  ended: object({ reason: literal('exited', 'removed', 'closing') }),
});

/** What each request is answered with; the others answer nothing. */
export const RESULTS = {
  inspect: object({ session: optional(session) }),
  list: object({ sessions: listOf(session) }),
  capture: object({ screen, continued: flag }),
  inputLimit: object({ bytes: optional(COUNTER) }),
  getMeta: object({ value: text }),
  leave: object({ leaving: flag }),
  acpState,
  acpWait: acpState,
  acpPrompt: object({ turn: COUNTER }),
} as const;

export type ClientMessage = ShapeOf<typeof clientMessage>;
export type HostMessage = ShapeOf<typeof hostMessage>;
export type HostRequest = ShapeOf<typeof request>;
export type HostEvent = ShapeOf<typeof event>;
export type WireSession = ShapeOf<typeof session>;
export type WireLaunch = ShapeOf<typeof launch>;
export type WireAcpLaunch = ShapeOf<typeof acpLaunch>;
export type WireAcpState = ShapeOf<typeof acpState>;
export type WireAcpQuestion = ShapeOf<typeof acpQuestion>;
export type WireAcpBlock = ShapeOf<typeof acpBlock>;
export type WireScreen = ShapeOf<typeof screen>;
export type EndReason = Extract<HostMessage, { t: 'ended' }>['reason'];

/** @throws BadMessageError */
export const parseClientMessage = (line: string): ClientMessage => clientMessage(parseJson(line), 'message');
/** @throws BadMessageError */
export const parseHostMessage = (line: string): HostMessage => hostMessage(parseJson(line), 'message');

export const encodeMessage = (message: ClientMessage | HostMessage): string => `${JSON.stringify(message)}\n`;

/** The highest version that both sides speak, `undefined` when there is none. */
export function negotiate(
  theirs: { readonly version: number; readonly oldest: number },
  ours = { version: PROTOCOL_VERSION, oldest: OLDEST_PROTOCOL_VERSION },
): number | undefined {
  const highest = Math.min(theirs.version, ours.version);
  return highest >= Math.max(theirs.oldest, ours.oldest) ? highest : undefined;
}

/** Cuts a byte stream into lines. @throws BadMessageError for one that is longer than `MAX_LINE_BYTES` */
export class LineSplitter {
  #parts: Buffer[] = [];
  #length = 0;

  push(chunk: Buffer): readonly string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      this.#keep(chunk.subarray(from, end));
      lines.push(Buffer.concat(this.#parts).toString('utf8'));
      this.#parts = [];
      this.#length = 0;
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  #keep(bytes: Buffer): void {
    this.#length += bytes.length;
    if (this.#length > MAX_LINE_BYTES) {
      throw new BadMessageError('line', `at most ${MAX_LINE_BYTES} bytes long`);
    }
    if (bytes.length > 0) this.#parts.push(bytes);
  }
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new BadMessageError('line', `JSON (${messageOf(error).slice(0, 80)})`);
  }
}
