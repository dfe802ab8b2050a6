import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { openCityDatabase } from '../../../internal/beads/sqlite/city-database.ts';
import { systemClock } from '../../../internal/platform/clock.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import {
  cityFact,
  executionEnd,
  executionStart,
  input,
  output,
  textMessage,
  toolCall,
  toolResult,
} from '../../../internal/protocol/events.ts';
import {
  type Event,
  ToolCallSchema,
  ToolResultSchema,
} from '../../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import {
  CreateSessionRequestSchema,
  ExecRequestSchema,
} from '../../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import { create } from '../../../internal/protocol/protobuf.ts';
import { FixedHarnessTable } from '../../../internal/session/log/jsonl/fixed-harness-table.ts';
import type { SessionLogStore } from '../../../internal/session/log/session-log.ts';
import { openSessionLogStore } from '../../../internal/session/log/sqlite/session-log-store.ts';
import { createSessionsHost } from '../../../internal/session/service/create-sessions-host.ts';
import { HarnessRoster } from '../../../internal/session/service/harness-roster.ts';
import { SessionStore } from '../../../internal/session/session-store.ts';
import { echoHarness } from '../../../internal/session/turn/builtin/echo-harness.ts';
import { echoModel } from '../../../internal/session/turn/builtin/echo-model.ts';
import { type RunOptions, runIn } from './fake-city.ts';

export const MAYOR = 'sess-aaaa00000000000000000001';
export const WORKER = 'sess-aaaa00000000000000000002';
const THEN = Date.UTC(2026, 0, 1, 12);
export const AT = '2026-01-01T12:00:00Z';

/** Where the city of the test that runs is. */
export const at = { base: '', root: '', file: '' };

/** A city of its own for each test of the file that calls this. */
export function useLogCity(): void {
  beforeEach(() => {
    at.base = realpathSync(mkdtempSync(join(tmpdir(), 'gc-log-')));
    at.root = join(at.base, 'town');
    at.file = join(at.root, '.gc', 'sessions.db');
    mkdirSync(dirname(at.file), { recursive: true, mode: 0o700 });
    writeFileSync(join(at.root, 'city.yaml'), 'workspace: { name: town }\nagents: [{ name: mayor }]\n');
  });
  afterEach(() => rmSync(at.base, { recursive: true, force: true }));
}

export const run = (line: string | readonly string[], options: RunOptions = {}) =>
  runIn(typeof line === 'string' ? line.split(' ') : line, {
    cwd: at.root,
    ...options,
    env: { HOME: at.base, GC_HOME: join(at.base, '.gc'), ...options.env },
  });

export async function printed(line: string | readonly string[]): Promise<string> {
  const { code, out, err } = await run(line);
  expect([code, err]).toEqual([0, '']);
  return out;
}

export async function failed(line: string | readonly string[]): Promise<string> {
  const { code, out, err } = await run(line);
  expect([code, out]).toEqual([1, '']);
  return err;
}

export async function withStore<T>(work: (store: SessionLogStore) => Promise<T>, now = THEN): Promise<T> {
  const store = openSessionLogStore(at.file, { clock: { ...systemClock, now: () => now }, ids: systemIds });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

export const TURN: readonly Event[] = [
  executionStart('e1', { inputCount: 1, harness: 'claude', harnessVersion: '2' }),
  input('e1', textMessage('user', 'What is the state?\nIn short.')),
  output('e1', textMessage('assistant', 'I look.')),
  toolCall('e1', create(ToolCallSchema, { id: 'a', tool: 'Bash', args: { command: 'git status' } })),
  toolResult('e1', create(ToolResultSchema, { id: 'a' })),
  toolCall('e1', create(ToolCallSchema, { id: 'b', tool: 'Bash', args: { command: 'make' } })),
  toolResult('e1', create(ToolResultSchema, { id: 'b', isError: true, error: 'exit 2' })),
  output('e1', textMessage('assistant', 'Nearly \u001b[31mdone\u001b[0m.')),
  executionEnd('e1'),
];
const STARTED = cityFact({
  kind: 'started',
  generation: 1,
  reason: 'wanted: always',
  at: AT,
  by: 'gc',
  evidence: 'runtime',
});

export async function makeMayor(): Promise<void> {
  await withStore(async (store) => {
    await store.create({ uid: MAYOR, project: 'town', harness: 'claude' });
    await store.append(MAYOR, [STARTED, ...TURN]);
  });
}

export interface EchoHost {
  /** Turns of the echo harness in a new session; the uid of it. */
  (...texts: string[]): Promise<string>;
  to(session: string, ...texts: string[]): Promise<string>;
}

export async function echoHost(store: SessionLogStore): Promise<EchoHost> {
  const roster = await HarnessRoster.open({
    harnesses: new Map([['echo', echoHarness]]),
    defaultName: 'echo',
    table: new FixedHarnessTable('', systemClock),
    remote: { refused: 'no' },
  });
  const host = createSessionsHost({
    store,
    roster,
    model: echoModel,
    project: 'p',
    clock: systemClock,
    ids: systemIds,
    log: () => undefined,
  });
  const never = new AbortController().signal;
  const to = async (session: string, ...texts: string[]) => {
    for (const text of texts) {
      const request = create(ExecRequestSchema, { session, inputs: [textMessage('user', text)] });
      for await (const _ of host.exec(request, never));
    }
    return session;
  };
  const start = async (...texts: string[]) => {
    const { metadata } = await host.createSession(create(CreateSessionRequestSchema), never);
    return await to(metadata?.uid ?? '', ...texts);
  };
  return Object.assign(start, { to });
}

export async function makeRecord(alias: string, logUid: string): Promise<string> {
  const db = openCityDatabase(join(at.root, '.gc', 'city.db'), systemClock);
  try {
    const record = await new SessionStore(db).create({
      template: alias,
      sessionName: alias,
      alias,
      origin: 'ephemeral',
      provider: '',
      workDir: at.root,
      command: 'sleep 60',
      instanceToken: 't',
      state: 'active',
      metadata: { log_uid: logUid },
    });
    return record.id;
  } finally {
    db.close();
  }
}
