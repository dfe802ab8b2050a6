import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sessionsCaller } from '../cmd/gc/conformance/service-subject.ts';
import type { SessionsCaller } from '../conformance/sessions-service/case.ts';
import {
  assertChain,
  kindsOf,
  logOf,
  newSession,
  say,
  textsOf,
  turn,
  uidOf,
} from '../conformance/sessions-service/steps.ts';
import { readArguments } from '../internal/platform/process-table.ts';
import { EventKind } from '../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import { ComputeState } from '../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import { agentHome, agentProgram } from '../internal/session/turn/command/testing/agent-home.ts';
import {
  type ScriptedModel,
  startScriptedModel,
} from '../internal/session/turn/command/testing/scripted-model.ts';
import { until, World } from './support/program.ts';
import { ServedProgram } from './support/served.ts';

const CLAUDE = agentProgram('claude', 'GC_TEST_CLAUDE');
const REASON = CLAUDE ? '' : ' (skipped: Claude Code is not installed)';
const LIMIT_MS = 60_000;
const NEVER = new AbortController().signal;

let world: World;
let model: ScriptedModel;
let served: ServedProgram;
let sessions: SessionsCaller;
let work: string;

beforeEach(async () => {
  world = new World();
  work = join(world.root, 'work');
  mkdirSync(work);
  model = await startScriptedModel();
  const command = `--command=coder=claude:${CLAUDE} --dangerously-skip-permissions`;
  const env = agentHome(join(world.root, 'agent'), work, model.url);
  served = new ServedProgram(world, [command, `--work-dir=${work}`], env);
  await served.start();
  sessions = sessionsCaller(served.sessions, NEVER);
});
afterEach(async () => {
  await served.kill();
  await model.close();
  await world.dispose();
});

const lines = (file: string): readonly string[] => readFileSync(join(work, file), 'utf8').trim().split('\n');
const writes = (word: string): string => `RUN: echo ${word} >> log.txt; tail -n 1 log.txt`;

async function restart(): Promise<void> {
  await served.kill();
  await served.start();
}

/** Where each execution of a log ended. */
async function ends(uid: string): Promise<readonly bigint[]> {
  const log = await logOf(sessions, uid);
  return log.flatMap(({ seq, event }) => (event?.kind === EventKind.EVENT_END ? [seq] : []));
}

describe.runIf(CLAUDE)(`real Claude Code behind gc serve, driven by calls alone${REASON}`, () => {
  it(
    'outlives its server, keeps what was done, and its fork knows its own part only',
    async () => {
      const uid = await newSession(sessions, 'coder');
      for (const word of ['first', 'second', 'third']) await turn(sessions, uid, writes(word));
      expect(textsOf(await logOf(sessions, uid))).toEqual(['done: first', 'done: second', 'done: third']);
      expect((await sessions.suspend(uid)).computeState).toBe(ComputeState.COMPUTE_COLD);
      const before = await logOf(sessions, uid);

      await restart();
      expect((await sessions.resume(uid)).computeState).toBe(ComputeState.COMPUTE_LIVE);
      const after = await logOf(sessions, uid);
      expect(after.slice(0, before.length)).toEqual(before);
      expect(kindsOf(after.slice(before.length))).toEqual(['LIFECYCLE']);
      assertChain(after);
      expect(lines('log.txt')).toEqual(['first', 'second', 'third']);

      const [, atSeq] = await ends(uid);
      const { children } = await sessions.fork({ session: uid, atSeq: atSeq ?? 0n });
      const child = uidOf(children[0] ?? (await Promise.reject(new Error('no child'))));
      await turn(sessions, child, writes('other'));
      const known = model.asked.at(-1)?.join('\n');
      for (const word of ['first', 'second', 'other']) expect(known).toContain(`echo ${word} `);
      expect(known).not.toContain('echo third ');
      const forked = await logOf(sessions, child);
      assertChain(forked);
      expect(textsOf(forked)).toEqual(['done: first', 'done: second', 'done: other']);
      expect(await logOf(sessions, uid)).toEqual(after);

      await turn(sessions, uid, writes('fourth'));
      expect(model.asked.at(-1)?.join('\n')).toContain('echo third ');
      expect(model.asked.at(-1)?.join('\n')).not.toContain('echo other ');
      expect(lines('log.txt')).toEqual(['first', 'second', 'third', 'other', 'fourth']);
    },
    LIMIT_MS,
  );

  it(
    'goes on after its server was killed in the middle of a call, and does nothing twice',
    async () => {
      const uid = await newSession(sessions, 'coder');
      await turn(sessions, uid, 'remember blue');
      const text = 'RUN: echo once >> log.txt; sleep 61; echo never >> log.txt';
      let called = false;
      const cut = sessions.exec(
        { session: uid, inputs: [say(text)] },
        {
          seen: ({ update }) => {
            if (update.case === 'record' && update.value.event?.kind === EventKind.EVENT_TOOL_CALL)
              called = true;
          },
        },
      );
      await until('the call under way', () => called && existsSync(join(work, 'log.txt')));
      await restart();
      expect((await cut).failure).toMatchObject({ status: 'UNAVAILABLE' });
      const before = await logOf(sessions, uid);

      await sessions.resume(uid);
      const log = await logOf(sessions, uid);
      expect(log.slice(0, before.length)).toEqual(before);
      assertChain(log);
      expect(kindsOf(log.slice(-2))).toEqual(['END', 'LIFECYCLE']);
      expect(lines('log.txt')).toEqual(['once']);
      const sleeping = world.processes().filter((pid) => readArguments(pid).includes('61'));
      expect(sleeping, 'what the killed server had started does not go on beside it').toEqual([]);

      await turn(sessions, uid, writes('then'));
      expect(lines('log.txt')).toEqual(['once', 'then']);
      expect(model.asked.at(-1)).toContain('remember blue');
    },
    LIMIT_MS,
  );
});
