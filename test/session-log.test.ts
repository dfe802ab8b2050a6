import { existsSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../internal/platform/clock.ts';
import { systemIds } from '../internal/platform/ids.ts';
import { cityFactOf, textOf } from '../internal/protocol/events.ts';
import { EventKind } from '../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import { type ChainedRecord, ChainWalk } from '../internal/protocol/hash-chain.ts';
import { openSessionLogStore } from '../internal/session/log/sqlite/session-log-store.ts';
import { HAS_TMUX } from './support/cities.ts';
import { until, World } from './support/program.ts';
import { answerTo, type ScriptedModel, startScriptedModel } from './support/scripted-messages.ts';

const CLAUDE =
  process.env['GC_TEST_CLAUDE'] ??
  join(
    process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
    'gas-city-agents/claude/node_modules/.bin/claude',
  );
const INSTALLED = existsSync(CLAUDE);
const TURN_LIMIT_MS = 60_000;

let world: World;
let model: ScriptedModel | undefined;
afterEach(async () => {
  await world?.dispose();
  await model?.close();
  model = undefined;
});

/** The one log of a city's session; its chain is sound from the first record to the last. */
async function logOf(city: string, name: string): Promise<readonly ChainedRecord[]> {
  const store = openSessionLogStore(join(city, '.gc', 'sessions.db'), {
    clock: systemClock,
    ids: systemIds,
  });
  try {
    const rows = (await store.list({ limit: 100 })).filter((row) => row.name === name);
    expect(rows.map(({ harness }) => harness)).toEqual(['gascity']);
    const records = await store.read(rows[0]?.uid ?? '', { from: 1, limit: 10_000 });
    const walk = new ChainWalk();
    for (const record of records) walk.check(record);
    return records;
  } finally {
    await store.close();
  }
}

function shown({ event }: ChainedRecord): string {
  const { body, kind } = event;
  switch (body.case) {
    case 'lifecycle': {
      const fact = cityFactOf(event);
      return `${fact?.['kind']}`;
    }
    case 'message':
      return `${kind === EventKind.EVENT_INPUT ? 'input' : 'output'} ${textOf(body.value)}`;
    case 'tool':
      return `call ${body.value.tool} ${body.value.args?.['command']}`;
    case 'result':
      return `result ${body.value.content.map(({ part }) => (part.case === 'text' ? part.value.text : '')).join('')}`;
    case 'end':
      return `end ${body.value.state}`;
    default:
      return body.case ?? '';
  }
}

const facts = (records: readonly ChainedRecord[]) =>
  records.map(({ event }) => cityFactOf(event)).filter((fact) => fact !== undefined);

const MAYOR = `
workspace: { name: log-city, provider: claude }
session: { startup_timeout: 90s }
agents:
  - name: mayor
    env: { IS_SANDBOX: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_TELEMETRY: "1", DISABLE_AUTOUPDATER: "1" }
named_sessions: [{ template: mayor, mode: always }]
`;

const skipped = INSTALLED
  ? HAS_TMUX
    ? ''
    : ' (skipped: tmux is not installed)'
  : ' (skipped: Claude Code is not installed)';

describe('the log of a real Claude Code in a city', () => {
  it.runIf(INSTALLED && HAS_TMUX)(
    `holds what it was told, what it called, what came of it and what it said, in order and once, also over a kill -9 of the controller${skipped}`,
    async () => {
      const scripted = await startScriptedModel();
      model = scripted;
      world = new World('tmux', {
        ANTHROPIC_BASE_URL: scripted.url,
        ANTHROPIC_API_KEY: 'sk-ant-scripted-scripted',
        PATH: `${dirname(CLAUDE)}${delimiter}${process.env['PATH']}`,
      });
      writeFileSync(
        join(world.home, '.claude.json'),
        JSON.stringify({ hasCompletedOnboarding: true, theme: 'dark' }),
      );
      const city = world.city('log-city', {
        'city.yaml': MAYOR,
        'agents/mayor/prompt.template.md': 'You are {{.AgentName}}. Say hello and wait.\n',
      });
      await world.ok(['--city', city, 'start'], { timeoutMs: 120_000 });
      const first = await until('the first turn', () => scripted.turns[0], TURN_LIMIT_MS);
      const told = async () => (await logOf(city, 'mayor')).map(shown);
      const answered = (out: string) =>
        until(
          `the answer to ${out}`,
          async () => (await told()).includes(`output ${answerTo(out)}`),
          TURN_LIMIT_MS,
        );
      await answered(first.text);

      const nudge = async (command: string, out: string) => {
        await world.ok(['nudge', 'mayor', `RUN: ${command}`], { cwd: city, timeoutMs: 90_000 });
        await answered(out);
      };
      await nudge('echo one', 'one');
      const controller = (await world.status(city)).controller.pid ?? 0;
      process.kill(controller, 'SIGKILL');
      await until('no controller', async () => !(await world.status(city)).controller.running);
      await world.ok(['--city', city, 'start'], { timeoutMs: 120_000 });
      await nudge('echo two', 'two');
      await world.ok(['--city', city, 'stop'], { timeoutMs: 90_000 });

      const records = await logOf(city, 'mayor');
      const lines = records.map(shown).filter((line) => line !== 'usage' && line !== 'accepted');
      const turn = (command: string, out: string) => [
        'nudged',
        'typed',
        'executionStart',
        `input RUN: ${command}`,
        `call Bash ${command}`,
        `result ${out}`,
        `output ${answerTo(out)}`,
        'end COMPLETED',
      ];
      const greeting = [
        'executionStart',
        `input ${first.text}`,
        `output ${answerTo(first.text)}`,
        'end COMPLETED',
      ];
      expect(lines.filter((line) => line !== 'started')).toEqual([
        'created',
        'starting',
        ...greeting,
        ...turn('echo one', 'one'),
        ...turn('echo two', 'two'),
        'stopping',
        'stopped',
      ]);
      expect(facts(records).filter(({ kind }) => kind === 'accepted')).toHaveLength(2);
      expect(facts(records).find(({ kind }) => kind === 'stopped')).toMatchObject({ cause: 'city stopped' });
    },
    240_000,
  );
});

describe('the log of an agent that says nothing', () => {
  it('tells of its start, crash, restart, suspension, wake and kill, each with its reason', async () => {
    world = new World('subprocess');
    const city = world.city('quiet', {
      'city.yaml': [
        'workspace: { name: quiet }',
        'agents: [{ name: a, start_command: "sh -c \'trap : TERM; echo up; sleep 3600\'", prompt_mode: none }]',
        'named_sessions: [{ template: a, mode: always }]',
        '',
      ].join('\n'),
    });
    const session = async () => (await world.status(city)).sessions[0];
    const up = (other?: number) =>
      until('up', async () => {
        const now = await session();
        return now?.pid !== undefined && now.pid !== other && now.condition !== 'starting' && now.pid;
      });
    await world.ok(['--city', city, 'start']);
    const pid = await up();
    process.kill(pid, 'SIGKILL');
    const second = await up(pid);
    await world.ok(['--city', city, 'session', 'suspend', 'a']);
    await world.ok(['--city', city, 'session', 'wake', 'a']);
    const third = await up(second);
    await world.ok(['--city', city, 'session', 'kill', 'a']);
    await up(third);
    await world.ok(['--city', city, 'stop']);
    const records = await logOf(city, 'a');
    const told = facts(records);
    expect(told.map(({ kind }) => kind)).toEqual([
      'created',
      'starting',
      'started',
      'crashed',
      'starting',
      'started',
      'stopping',
      'stopped',
      'suspended',
      'resumed',
      'starting',
      'started',
      'stopping',
      'killed',
      'starting',
      'started',
      'stopping',
      'stopped',
    ]);
    const fact = (kind: string) => told.find((candidate) => candidate['kind'] === kind);
    expect(fact('crashed')).toMatchObject({
      evidence: 'runtime',
      exit: { signal: 'SIGKILL' },
      reason: expect.stringContaining('SIGKILL'),
    });
    expect(fact('stopped')).toMatchObject({ cause: 'suspended by a person', actor: 'human' });
    expect(fact('resumed')).toMatchObject({ reason: 'by a person', actor: 'human' });
    expect(fact('killed')).toMatchObject({ cause: 'killed by a person', actor: 'human' });
    expect(told.at(-1)).toMatchObject({ cause: 'city stopped', actor: 'gc' });
    for (const each of told)
      expect(each).toMatchObject({ at: expect.any(String), evidence: expect.any(String) });
    const incarnations = new Set(records.map(({ fence }) => fence));
    expect([...incarnations]).toEqual([0, 1, 2, 3, 4]);
  });
});
