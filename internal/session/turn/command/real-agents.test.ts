import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import { systemIds } from '../../../platform/ids.ts';
import { readProcesses } from '../../../platform/process-table.ts';
import type { Event } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import { startedWith } from '../../../runtime/host/process-evidence.ts';
import type { Harness } from '../harness.ts';
import { type CommandDeps, commandHarness } from './command-harness.ts';
import type { CommandKind, CommandSpec } from './command-spec.ts';
import { agentHome, agentProgram } from './testing/agent-home.ts';
import { holds, killTurn } from './testing/killed-turn.ts';
import { nativesIn, RecordingSink, startOf, told, turnOf } from './testing/recording-sink.ts';
import { type ScriptedModel, startScriptedModel } from './testing/scripted-model.ts';

interface Agent {
  readonly kind: Exclude<CommandKind, 'shell'>;
  readonly title: string;
  readonly program: string | undefined;
  readonly args: readonly string[];
}

const AGENTS: readonly Agent[] = [
  {
    kind: 'claude',
    title: 'Claude Code',
    program: agentProgram('claude', 'GC_TEST_CLAUDE'),
    args: ['--dangerously-skip-permissions'],
  },
  {
    kind: 'codex',
    title: 'Codex',
    program: agentProgram('codex', 'GC_TEST_CODEX'),
    args: ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'],
  },
];

let dir = '';
let work = '';
let model: ScriptedModel;
let deps: CommandDeps;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gc-command-'));
  work = join(dir, 'work');
  mkdirSync(work);
  model = await startScriptedModel();
  deps = {
    clock: systemClock,
    ids: systemIds,
    ledgerDir: join(dir, 'ledger'),
    workDirOf: async (session) => (session === CHILD_ELSEWHERE ? join(dir, 'elsewhere') : work),
  };
});
afterEach(async () => {
  await model.close();
  rmSync(dir, { recursive: true, force: true });
});

const CHILD = 'sess-00000000000000000000000c';
const CHILD_ELSEWHERE = 'sess-00000000000000000000000e';

function specOf(agent: Agent): CommandSpec {
  const env = agentHome(join(dir, 'home'), work, model.url);
  return { name: 'coder', kind: agent.kind, program: agent.program ?? '', args: agent.args, env };
}

async function turn(
  made: Harness,
  execution: string,
  text: string,
  history: readonly Event[],
  more: { readonly session?: string; readonly recorded?: readonly Event[] } = {},
): Promise<readonly Event[]> {
  const sink = new RecordingSink(execution);
  const start = startOf(text, { executionId: execution, history, ...more });
  await made.run(start, sink, new AbortController().signal);
  return sink.events;
}

const lines = (file: string) => readFileSync(join(work, file), 'utf8').trim().split('\n');
const transcripts = () =>
  readdirSync(join(dir, 'home'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.jsonl'))
    .map((file) => ({ file, text: readFileSync(join(dir, 'home', file), 'utf8') }));

describe.each(AGENTS)('real $title', (agent) => {
  const reason = agent.program ? '' : ` (skipped: ${agent.title} is not installed)`;

  it.runIf(agent.program)(
    `goes through three turns with a tool call each, and forks know their part of them alone${reason}`,
    async () => {
      const made = commandHarness(specOf(agent), deps);
      const turns: (readonly Event[])[] = [];
      for (const n of [1, 2, 3]) {
        const text = `RUN: echo secret${n} >> log.txt; tail -n 1 log.txt`;
        const events = await turn(made, `e${n}`, text, turns.flat());
        const [call = '', ...rest] = told(events).filter((line) => !line.startsWith('uses'));
        expect(call).toContain(`echo secret${n} >> log.txt`);
        expect(rest.map((line) => line.trim())).toEqual([`gets secret${n}`, `says done: secret${n}`]);
        // Each turn calls the model twice: once more with the result.
        expect(told(events).filter((line) => line.startsWith('uses'))).toEqual(['uses 20 20']);
        turns.push(turnOf(`e${n}`, text, events));
      }
      expect(lines('log.txt')).toEqual(['secret1', 'secret2', 'secret3']);
      const natives = turns.flatMap((events) => nativesIn(events));
      expect(new Set(natives.map((native) => native.conversation)).size).toBe(1);

      // The host died after the program had done everything: what the log lacks is read, nothing is run.
      const [, , third = []] = turns;
      const whole = told(third).filter((line) => !line.startsWith('uses'));
      const asked = model.asked.length;
      for (const kept of [3, 4, 5]) {
        const text = 'RUN: echo secret3 >> log.txt; tail -n 1 log.txt';
        const recorded = third.slice(2, kept);
        const rest = await turn(made, 'e3', text, turns.slice(0, 2).flat(), { recorded });
        expect(told([...recorded, ...rest]).map((line) => line.split(' ')[0])).toEqual(
          whole.map((line) => line.split(' ')[0]),
        );
      }
      expect(model.asked).toHaveLength(asked);
      expect(lines('log.txt')).toHaveLength(3);
      const before = transcripts();

      mkdirSync(join(dir, 'elsewhere'));
      for (const session of [CHILD, CHILD_ELSEWHERE]) {
        const history = turns.slice(0, 2).flat();
        const child = await turn(made, 'c1', 'what do you know?', history, { session });
        expect(told(child)[0]).toBe('says heard: what do you know?');
        const known = model.asked.at(-1)?.join('\n');
        expect(known).toContain('echo secret2 >> log.txt');
        expect(known).not.toContain('secret3');
        expect(nativesIn(child).every((native) => native.session === session)).toBe(true);
        expect(nativesIn(child)[0]?.conversation).not.toBe(natives[0]?.conversation);
        if (session === CHILD_ELSEWHERE) continue;
        const next = [...history, ...turnOf('c1', 'what do you know?', child)];
        await turn(made, 'c2', 'and now?', next, { session });
        expect(model.asked.at(-1)).toContain('what do you know?');
      }
      for (const { file, text } of before) {
        expect(readFileSync(join(dir, 'home', file), 'utf8'), 'the parent is untouched').toBe(text);
      }
      await turn(made, 'e4', 'still there?', turns.flat());
      expect(model.asked.at(-1)?.join('\n')).toContain('secret3');
      expect(model.asked.at(-1)?.join('\n')).not.toContain('what do you know?');
    },
    60_000,
  );

  it.runIf(agent.program)(
    `goes on after its host was killed in the middle of a tool call, and does nothing twice${reason}`,
    async () => {
      const made = commandHarness(specOf(agent), deps);
      const first = await turn(made, 'e1', 'remember blue', []);
      const history = turnOf('e1', 'remember blue', first);
      const text = 'RUN: echo once >> once.txt; sleep 60; echo never >> once.txt';
      const job = { spec: specOf(agent), work, ledgerDir: deps.ledgerDir, log: join(dir, 'log') };
      const cut = await killTurn({ ...job, text, execution: 'e2', history }, (recorded) => {
        return told(recorded).some((line) => line.startsWith('calls')) && holds(work, 'once.txt', 'once');
      });
      const rest = await turn(made, 'e2', text, history, { recorded: cut });
      expect(lines('once.txt')).toEqual(['once']);
      const ours = (pid: number) => startedWith(pid, 'HOME') === join(dir, 'home');
      const leftovers = readProcesses().filter(({ pid, state }) => state !== 'Z' && ours(pid));
      expect(leftovers).toEqual([]);
      const results = told(rest).filter((line) => line.startsWith('fails') || line.startsWith('gets'));
      expect(results).toEqual(['fails interrupted: nobody knows whether it took effect']);
      expect(told(rest).some((line) => line.startsWith('says heard: You were interrupted'))).toBe(true);
      const asked = model.asked.at(-1) ?? [];
      expect(asked).toContain('remember blue');
      expect(asked.at(-1)).toContain('nobody knows how it came out');
      expect(asked.at(-1)).toContain('echo once >> once.txt');
      expect(nativesIn(rest).at(-1)).toMatchObject({
        state: 'ended',
        conversation: nativesIn(first)[0]?.conversation,
      });
    },
    60_000,
  );
});
