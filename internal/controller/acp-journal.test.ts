import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CityDatabase, openCityDatabase } from '../beads/sqlite/city-database.ts';
import { FakeClock } from '../platform/fake-clock.ts';
import { seededIds } from '../platform/ids.ts';
import { cityFactOf, textOf } from '../protocol/events.ts';
import { type Event, EventKind } from '../protocol/generated/agentsessions/v1/common_pb.ts';
import type { JsonObject } from '../protocol/protobuf.ts';
import { journalOf } from '../runtime/acp/journal-files.ts';
import { AgentRun } from '../runtime/acp/testing/agent-run.ts';
import type { AgentScript } from '../runtime/acp/testing/scripted-agent.ts';
import { FakeProvider } from '../runtime/fake.ts';
import { META_CONVERSATION } from '../runtime/provider.ts';
import { cityJournal, placeOf } from '../session/journal/city-journal.ts';
import { LOG_UID_KEY } from '../session/journal/facts.ts';
import type { SessionLogStore } from '../session/log/session-log.ts';
import { openSessionLogStore } from '../session/log/sqlite/session-log-store.ts';
import { verifyLog } from '../session/log/verify.ts';
import type { SessionRecord } from '../session/record.ts';
import { SessionStore } from '../session/session-store.ts';
import { AcpTranscriptReader } from '../session/transcript/acp/acp-reader.ts';
import { WrittenJournal } from '../session/transcript/testing/acp-journal.ts';
import { acpDir } from './acp-sessions.ts';
import { JournalPump } from './journal-pump.ts';
import { CityHarness } from './testing/city-harness.ts';

const WORD: Partial<Record<EventKind, string>> = {
  [EventKind.EVENT_INPUT]: 'input',
  [EventKind.EVENT_OUTPUT]: 'output',
  [EventKind.EVENT_TOOL_CALL]: 'call',
  [EventKind.EVENT_TOOL_RESULT]: 'result',
};

function shown(event: Event): string {
  const { kind, body } = event;
  if (body.case === 'executionStart') return `start ${body.value.inputCount}`;
  if (body.case === 'end') return `end ${body.value.state}`;
  if (body.case === 'message') return `${WORD[kind]} ${textOf(body.value).trimEnd()}`;
  if (body.case === 'error') return 'error';
  if (body.case === 'tool' || body.case === 'result') return `${WORD[kind]} ${body.value.id}`;
  return Object.keys(cityFactOf(event) ?? {}).join();
}

describe('the log of a session with a real agent of the protocol', () => {
  let dir: string;
  let db: CityDatabase;
  let store: SessionStore;
  let logs: SessionLogStore;
  let record: SessionRecord;
  const clock = new FakeClock();
  const troubles: unknown[] = [];

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'gc-acp-pump-'));
    const ids = seededIds(1);
    db = openCityDatabase(join(dir, 'city.db'), clock, ids, cityJournal(ids));
    store = new SessionStore(db);
    logs = openSessionLogStore(join(dir, 'sessions.db'), { clock, ids });
    troubles.length = 0;
    record = await store.create({
      template: 'worker',
      sessionName: 'worker',
      origin: 'manual',
      provider: 'claude',
      providerKind: 'claude',
      transport: 'acp',
      workDir: dir,
      command: 'agent',
      instanceToken: 't',
      state: 'active',
    });
  });
  afterEach(async () => {
    db.close();
    await logs.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const uid = () => record.metadata[LOG_UID_KEY] ?? '';
  /** A controller that has just come up. */
  const aPump = () =>
    new JournalPump({
      parts: {
        db,
        store,
        transcripts: [new AcpTranscriptReader(dir)],
        logs: async () => logs,
        logFile: join(dir, 'sessions.db'),
        clock,
      },
      city: 'test',
      trouble: (error) => troubles.push(error),
    });
  const told = async () =>
    (await logs.read(uid(), {}))
      .map(({ event }) => shown(event))
      .filter((line) => !line.includes('work_dir'));
  const life = (script: AgentScript, conversation: string, use: (run: AgentRun) => Promise<void>) =>
    AgentRun.with(script, use, { dir, conversation, journal: journalOf(dir, 'worker') });

  it('DUR-09 has each turn once over killed controllers, lives of the agent and a resumed conversation, and is sound', async () => {
    const script: AgentScript = {
      conversation: 'c1',
      store: join(dir, 'store'),
      capabilities: { loadSession: true },
      prompts: [
        {
          when: 'ask',
          steps: [
            {
              update: {
                sessionUpdate: 'tool_call',
                toolCallId: 't1',
                title: 'ls',
                rawInput: { command: 'ls' },
              },
            },
            { ask: { title: 'ls' } },
            { update: { sessionUpdate: 'tool_call_update', toolCallId: 't1', status: 'completed' } },
          ],
        },
        { when: 'die', steps: [{ say: 'half' }, { signal: 'SIGKILL' }] },
      ],
    };
    const place = { ...placeOf(record), since: 0 };
    await life(script, '', async (run) => {
      await run.prompt('ask');
      const { id } = await run.question();
      await aPump().look(uid(), place);
      expect(await told()).toEqual(['start 1', 'input ask', 'call t1', 'asked']);
      await run.agent.answer(id, 'yes');
      await run.idle();
      await aPump().look(uid(), { ...place, key: 'c1' });
      await run.prompt('die');
      await run.until('it is gone', () => run.exit);
      await run.idle();
    });
    await life(script, 'c1', async (run) => {
      await run.turn('hello');
      expect((await run.idle()).conversation).toBe('c1');
    });
    const pump = aPump();
    await pump.look(uid(), { ...place, key: 'c1' });
    await pump.look(uid(), { ...place, key: 'c1' });
    await aPump().look(uid(), { ...place, key: 'c1' });
    const lines = (await told()).map((line) => line.replace(/\[permission\] .*/, 'permitted'));
    expect(lines).toEqual([
      ...[
        'start 1',
        'input ask',
        'call t1',
        'asked',
        'answered',
        'output permitted',
        'result t1',
        'end COMPLETED',
      ],
      ...['start 1', 'input die', 'output half', 'error', 'end FAILED'],
      ...['start 1', 'input hello', 'output you said: hello', 'end COMPLETED'],
    ]);
    expect((await verifyLog(logs, uid())).records).toBeGreaterThan(lines.length);
    expect(troubles).toEqual([]);
  });

  it('tells once of a journal in another form, and goes on with everything else', async () => {
    const journal = new WrittenJournal({ runtimeDir: dir, session: 'worker', clock }).open('c1');
    appendFileSync(journal.path, '{"v":2,"seq":2}\n');
    const pump = aPump();
    const place = { ...placeOf(record), key: 'c1', since: 0 };
    await pump.look(uid(), place);
    await pump.look(uid(), place);
    await pump.deliver();
    expect(troubles).toMatchObject([{ code: 'journal-version' }]);
  });
});

describe('in a city', () => {
  let h: CityHarness;
  let acp: FakeProvider;
  afterEach(() => h.end());

  const YAML = [
    'workspace: { name: test }',
    'daemon: { patrol_interval: 1s }',
    'providers:',
    '  talker: { command: sh, acp_command: sh, supports_acp: true }',
    'agents: [{ name: coder, provider: talker, session: acp }]',
    'named_sessions: [{ template: coder, mode: always }]',
    '',
  ].join('\n');

  async function up(): Promise<void> {
    h = new CityHarness(YAML, {
      acp: (clock) => {
        acp = new FakeProvider(clock, 'acp');
        return acp;
      },
    });
    await h.up();
    await h.running(1);
  }

  const uidOf = async () => (await h.records())[0]?.metadata[LOG_UID_KEY] ?? '';
  const eventsOf = async () =>
    (await (await h.city.logs()).read(await uidOf(), {})).map(({ event }) => event);
  const factsOf = async (): Promise<readonly JsonObject[]> =>
    (await eventsOf()).map(cityFactOf).filter((fact) => fact !== undefined);

  it('the conversation is in the log soon after it was said, also for the next controller, and gc session logs shows it', async () => {
    await up();
    const runtimeDir = acpDir({ city: h.city.city, env: h.city.env });
    const journal = new WrittenJournal({ runtimeDir, session: 'coder', clock: h.clock });
    journal.open('c1').turn(1);
    await acp.setMeta('coder', META_CONVERSATION, 'c1');
    await h.pass(31_000);
    const turn = (n: number) => [
      ...[
        'start 1',
        `input do ${n}`,
        `call call${n}`,
        `result call${n}`,
        `output done ${n}`,
        'end COMPLETED',
      ],
    ];
    const conversation = async () => (await eventsOf()).filter((event) => !cityFactOf(event)).map(shown);
    expect(await conversation()).toEqual(turn(1));
    await h.down();
    journal.turn(2);
    await h.up();
    await h.pass(31_000);
    expect(await conversation()).toEqual([...turn(1), ...turn(2)]);
    const shownLines = await h.settled(h.api.logs('coder', { tail: 1 }));
    expect(shownLines.map(({ type, text }) => `${type} ${text}`)).toEqual([
      'user do 1',
      'assistant tool_use: Run echo 1',
      'assistant done 1',
      'user do 2',
      'assistant tool_use: Run echo 2',
      'assistant done 2',
    ]);
  });

  it('the log says who answered a question, under the id that it has in the protocol', async () => {
    await up();
    const asked = { request_id: 'q1', kind: 'approval', prompt: 'Bash: touch x', options: ['Yes', 'No'] };
    acp.pendingInteractions.set('coder', asked);
    await h.settled(h.api.answer('coder', { action: 'yes', request_id: 'q1' }));
    await h.pass(1_000);
    expect((await factsOf()).filter(({ kind }) => kind === 'answered')).toEqual([
      {
        kind: 'answered',
        interaction: 'q1',
        verdict: 'allow',
        cause: 'user',
        id: 'q1',
        reason: '"Bash: touch x": Yes',
        at: expect.any(String),
        actor: 'human',
        evidence: 'record',
      },
    ]);
  });
});
