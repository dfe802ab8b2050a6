import assert from 'node:assert/strict';
import { textMessage } from '../../internal/protocol/events.ts';
import {
  EventKind,
  type LogRecord,
  type Message,
} from '../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import type { Session } from '../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import { ChainWalk } from '../../internal/protocol/hash-chain.ts';
import {
  CallFailed,
  type ExecOutcome,
  type PeerScript,
  type RegistryCaller,
  type ScriptedPeer,
  type ServiceSubject,
  type SessionsCaller,
  type Status,
} from './case.ts';

/** A project of its own for each run of a case: the server may hold other people's sessions. */
let counter = 0;
export function freshProject(): string {
  counter += 1;
  return `conformance-${process.pid}-${counter}-${Math.random().toString(16).slice(2, 10)}`;
}

export const say = (text: string): Message => textMessage('user', text);

export const uidOf = (session: Session): string => session.metadata?.uid ?? '';

export async function newSession(
  sessions: SessionsCaller,
  harness = 'echo',
  project = freshProject(),
): Promise<string> {
  const uid = uidOf(await sessions.create({ session: { metadata: { project }, harness } }));
  assert.match(uid, /^sess-[0-9a-f]{24}$/, 'a new session has a uid of the published form');
  return uid;
}

/** One turn that must go well. */
export async function turn(sessions: SessionsCaller, uid: string, text: string): Promise<ExecOutcome> {
  const outcome = await sessions.exec({ session: uid, inputs: [say(text)] });
  if (outcome.failure)
    throw new Error(`the turn failed: ${outcome.failure.status} ${outcome.failure.message}`);
  return outcome;
}

export function recordsOf(outcome: ExecOutcome): readonly LogRecord[] {
  return outcome.updates.flatMap(({ update }) => (update.case === 'record' ? [update.value] : []));
}

export function kindsOf(records: readonly LogRecord[]): readonly string[] {
  return records.map(({ event }) => EventKind[event?.kind ?? 0]?.replace('EVENT_', '') ?? 'none');
}

export function textsOf(records: readonly LogRecord[], kind = EventKind.EVENT_OUTPUT): readonly string[] {
  return records.flatMap(({ event }) => {
    if (event?.kind !== kind || event.body.case !== 'message') return [];
    return [event.body.value.parts.map(({ part }) => (part.case === 'text' ? part.value.text : '')).join('')];
  });
}

export async function logOf(sessions: SessionsCaller, uid: string): Promise<readonly LogRecord[]> {
  return sessions.replay({ session: uid });
}

/** Numbers, links and hashes of a whole log, computed here. */
export function assertChain(records: readonly LogRecord[]): void {
  const walk = new ChainWalk();
  for (const { seq, prevHash, contentHash, fence, event } of records) {
    assert.ok(event, `record ${seq} has an event`);
    walk.check({ seq: Number(seq), prevHash, contentHash, fence: Number(fence), event });
  }
}

export async function refused(
  work: Promise<unknown>,
  status: Status | readonly Status[],
  what: string,
): Promise<CallFailed> {
  const allowed = typeof status === 'string' ? [status] : status;
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof CallFailed, `${what}: expected ${allowed.join(' or ')}, got ${String(error)}`);
    assert.ok(
      allowed.includes(error.status),
      `${what}: expected ${allowed.join(' or ')}, got ${error.status} "${error.message}"`,
    );
    return error;
  }
  throw new assert.AssertionError({ message: `${what}: expected ${allowed.join(' or ')}, got success` });
}

export function failedWith(outcome: ExecOutcome, status: Status, what: string): void {
  assert.equal(outcome.failure?.status, status, `${what}: ${outcome.failure?.message ?? 'it succeeded'}`);
}

/** A harness of the suite, registered under a name of its own, and a session that uses it. */
export interface Stage {
  readonly peer: ScriptedPeer;
  readonly name: string;
  readonly uid: string;
}

export const DESCRIPTOR = {
  id: 'conformance-peer',
  version: '1',
  models: ['echo'],
  capabilities: { resumability: 1, forkSafe: true },
} as const;

export const SPEC_CAPABILITIES = { resumability: 1 } as const;

export async function withPeer(
  subject: ServiceSubject,
  script: PeerScript,
  work: (stage: Stage & { readonly registry: RegistryCaller }) => Promise<void>,
): Promise<void> {
  const { registry, servePeer } = subject;
  assert.ok(registry && servePeer, 'this case needs a registry');
  const peer = await servePeer();
  const name = `peer-${freshProject()
    .replaceAll(/[^a-z0-9]/g, '')
    .slice(-20)}`;
  try {
    peer.describe({ ...DESCRIPTOR, models: [...DESCRIPTOR.models] });
    peer.play(script);
    await registry.register({ name, spec: specOf(peer.address) });
    await work({ peer, name, registry, uid: await newSession(subject.sessions, name) });
  } finally {
    await registry.retire({ name, reason: 'the case is over' }).catch(() => undefined);
    await peer.close();
  }
}

export function specOf(address: string) {
  return {
    placement: { case: 'remote' as const, value: { address } },
    capabilities: { ...SPEC_CAPABILITIES },
    descriptorId: DESCRIPTOR.id,
  };
}

/** The Start frame, and the id that every event of this execution must carry. */
export async function begin(turn: Parameters<PeerScript>[0]) {
  const frame = await turn.receive();
  assert.equal(frame?.frame.case, 'start', 'the first frame is Start');
  assert.notEqual(frame.executionId, '', 'Start names the execution');
  assert.ok(frame.frame.case === 'start');
  return { executionId: frame.executionId, session: frame.session, start: frame.frame.value };
}
