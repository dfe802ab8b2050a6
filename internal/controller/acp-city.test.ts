import { afterEach, describe, expect, it } from 'vitest';
import type { Clock } from '../platform/clock.ts';
import { StartFailedError } from '../runtime/errors.ts';
import { FakeProvider } from '../runtime/fake.ts';
import { META_CONVERSATION, type StartOptions, type StartResult } from '../runtime/provider.ts';
import type { RuntimeConfig } from '../runtime/runtime-config.ts';
import type { SessionRecord } from '../session/record.ts';
import { KEY_HISTORY_KEY } from './endings.ts';
import { CityHarness } from './testing/city-harness.ts';

/** Agents that name their conversations themselves, and go on with one they know. */
class Talkers extends FakeProvider {
  readonly known = new Set<string>();

  constructor(clock: Clock) {
    super(clock, 'acp');
  }

  override async start(name: string, config: RuntimeConfig, options: StartOptions): Promise<StartResult> {
    const { conversation } = config;
    if (conversation !== '' && !this.known.has(conversation)) {
      this.log.record('Start', name, { config });
      const text = `the agent does not have the conversation "${conversation}" any more: Session not found (code -32002)`;
      throw new StartFailedError('conversation-lost', text, { lastLines: text });
    }
    const result = await super.start(name, config, options);
    const opened = conversation || `conversation-${this.log.count('Start', name)}`;
    this.known.add(opened);
    await this.setMeta(name, META_CONVERSATION, opened);
    return result;
  }
}

let h: CityHarness;
let talkers: Talkers;
afterEach(() => h.end());

const YAML = [
  'workspace: { name: test }',
  'daemon: { patrol_interval: 1s }',
  'providers:',
  '  talker: { command: sh, args: [-i], acp_command: sh, acp_args: [-c, talk], supports_acp: true, process_names: [sh] }',
  'agents:',
  '  - { name: mayor, start_command: run-mayor }',
  '  - { name: coder, provider: talker, session: acp, prompt_mode: arg }',
  'named_sessions:',
  '  - { template: mayor, mode: always }',
  '  - { template: coder, mode: always }',
  '',
].join('\n');

async function up(): Promise<void> {
  h = new CityHarness(YAML, {
    acp: (clock) => {
      talkers = new Talkers(clock);
      return talkers;
    },
  });
  await h.up();
  await h.running(2);
}

const recordOf = (name: string): Promise<SessionRecord> => h.record(name);
const viewOf = async (name: string) => h.settled(h.api.session(name));
const configOf = (name: string) => talkers.log.lastStartConfig(name);

describe('an agent with session: acp', () => {
  it('runs on the ACP side with its ACP command, and its record says so', async () => {
    await up();
    expect([...h.provider.sessions.keys()]).toEqual(['mayor']);
    expect([...talkers.sessions.keys()]).toEqual(['coder']);
    expect(configOf('coder')).toMatchObject({ command: 'sh -c talk', processNames: [], conversation: '' });
    expect([(await recordOf('coder')).transport, (await recordOf('mayor')).transport]).toEqual(['acp', '']);
    expect(await viewOf('coder')).toMatchObject({ transport: 'acp', session_key: 'conversation-1' });
  });

  it('goes on with its own conversation, until it does not know it itself', async () => {
    await up();
    talkers.crash('coder', { code: 1 });
    await h.until(() => talkers.log.count('Start', 'coder') === 2);
    await h.running(2);
    expect(configOf('coder')).toMatchObject({ command: 'sh -c talk', conversation: 'conversation-1' });
    talkers.known.clear();
    talkers.crash('coder', { code: 1 });
    await h.until(() => talkers.log.count('Start', 'coder') === 4);
    await h.running(2);
    expect(configOf('coder')?.conversation).toBe('');
    const { sessionKey, metadata } = await recordOf('coder');
    expect([sessionKey, metadata[KEY_HISTORY_KEY]]).toEqual(['conversation-4', 'conversation-1']);
    const told = await h.city.db.events.list({ type: 'session.updated' });
    expect(told.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('its program does not know conversation conversation-1'),
    );
  });
});

describe('an agent that cannot go on with a conversation', () => {
  it('begins a new one in its next life, which is no failed start, and says so', async () => {
    await up();
    talkers.sleepCapabilityValue = 'timed_only';
    await h.settled(h.api.kill('coder'));
    await h.running(2);
    talkers.crash('coder', { code: 1 });
    await h.until(() => talkers.log.count('Start', 'coder') === 3);
    await h.running(2);
    expect(configOf('coder')?.conversation).toBe('');
    const { sessionKey, metadata } = await recordOf('coder');
    expect([sessionKey, metadata[KEY_HISTORY_KEY]]).toEqual(['conversation-3', 'conversation-1']);
    const crashes = await h.city.db.events.list({ type: 'session.crashed' });
    expect(crashes.map(({ message }) => message)).toEqual([expect.stringContaining('exit 1')]);
    const told = await h.city.db.events.list({ type: 'session.updated' });
    expect(told.map(({ message }) => message)).toEqual([
      'begins a new conversation: its program cannot go on with conversation conversation-1',
    ]);
  });
});

describe('an interrupt', () => {
  it('ends what an agent does now, is written down, and leaves one alone that does nothing', async () => {
    await up();
    const interrupts = () => talkers.log.count('Interrupt', 'coder');
    talkers.busyUntil.set('coder', h.now() + 60_000);
    await h.settled(h.api.interrupt('coder'));
    expect(interrupts()).toBe(1);
    const { decisions } = await h.settled(h.api.explain('coder'));
    expect(decisions.at(-1)).toMatchObject({ what: 'interrupt', why: 'human asked for it' });
    talkers.busyUntil.set('coder', 0);
    await expect(h.settled(h.api.interrupt('coder'))).rejects.toMatchObject({ code: 'session-idle' });
    talkers.busyUntil.delete('coder'); // nothing can be told
    await h.settled(h.api.interrupt('coder'));
    expect(interrupts()).toBe(2);
    await h.settled(h.api.suspend('coder'));
    await expect(h.settled(h.api.interrupt('coder'))).rejects.toMatchObject({ code: 'session-not-active' });
  });
});

describe('a route', () => {
  it('is known to the next controller and to commands from the record', async () => {
    await up();
    await h.down();
    const visitor = await h.visitor();
    expect(
      (await h.settled(visitor.sessions())).map(({ display_name: name, condition }) => [name, condition]),
    ).toEqual([
      ['mayor', 'working'],
      ['coder', 'working'],
    ]);
    await h.settled(visitor.kill('coder'));
    expect(talkers.sessions.has('coder')).toBe(false);
    expect(h.provider.sessions.has('mayor')).toBe(true);
    await h.city.close();
    await h.up();
    await h.until(() => talkers.sessions.has('coder'));
    expect(h.provider.sessions.has('coder')).toBe(false);
  });

  it('that the record has wrong is corrected by what is seen, and the session reached meanwhile', async () => {
    await up();
    await h.down();
    const visitor = await h.visitor();
    const record = await recordOf('coder');
    await h.city.store.apply(record.id, { transport: '' });
    await h.settled(visitor.nudge('coder', { text: 'hello', wait_idle_ms: 0 }));
    expect(talkers.sessions.get('coder')?.messages).toEqual(expect.arrayContaining(['hello']));
    await h.city.close();
    await h.up();
    await h.until(async () => (await recordOf('coder')).transport === 'acp');
    expect([talkers.log.count('Start', 'coder'), h.starts('coder')]).toEqual([1, 0]);
    await h.settled(h.runtime.stop());
    expect([talkers.sessions.size, h.provider.sessions.size]).toEqual([0, 0]);
  });
});

describe('when one side', () => {
  it('could not tell, its sessions are unknown and the others are led on', async () => {
    await up();
    talkers.broken = true;
    h.provider.crash('mayor', { code: 1 });
    await h.until(() => h.starts('mayor') === 2);
    await h.pass(1_000);
    const status = await h.settled(h.api.status());
    expect(status.sessions.map(({ condition }) => condition)).toEqual([
      expect.stringMatching(/ing$/),
      'unknown',
    ]);
    expect(status.problems).toContain('the runtime could not be asked: acp backend: session unavailable');
    expect(talkers.log.count('Start', 'coder')).toBe(1);
    talkers.broken = false;
    await h.until(async () => (await viewOf('coder')).condition !== 'unknown');
    expect((await recordOf('coder')).lastWokeAt).toBeDefined();
  });

  it('lost its host, only its sessions were lost, and nobody has a strike', async () => {
    await up();
    talkers.loseInfrastructure('the session host is gone');
    await h.until(() => talkers.log.count('Start', 'coder') === 2);
    await h.running(2);
    expect(h.starts('mayor')).toBe(1);
    const types = await h.eventTypes();
    expect(types).toContain('provider.lost');
    expect(types).not.toContain('session.crashed');
  });
});

describe('a stop of the city', () => {
  it('ends what it can reach, and says what it could not', async () => {
    await up();
    talkers.broken = true;
    const reply = await h.settled(h.runtime.stop());
    expect(reply).toEqual({ stopped: ['mayor'], left: ['coder'] });
    talkers.broken = false;
    expect([h.provider.sessions.size, talkers.sessions.size]).toEqual([0, 1]);
  });
});

describe('a question of an agent', () => {
  const ASKED = {
    request_id: 'q1',
    kind: 'approval',
    prompt: 'Bash: touch x\nin /city',
    options: ['Yes', 'Yes, always', 'No'],
  };

  it('is listed from both sides, and answered once', async () => {
    await up();
    talkers.pendingInteractions.set('coder', ASKED);
    h.provider.pendingInteractions.set('mayor', { ...ASKED, request_id: 'q2', prompt: 'Trust?' });
    const { items, unknown } = await h.settled(h.api.questions());
    expect(items.map(({ session, request_id: id }) => [session, id])).toEqual(
      expect.arrayContaining([
        ['coder', 'q1'],
        ['mayor', 'q2'],
      ]),
    );
    expect(unknown).toEqual([]);
    const answers = await h.settled(
      Promise.allSettled([
        h.api.answer('coder', { action: 'yes, al', request_id: 'q1' }),
        h.api.answer('coder', { action: '3', request_id: 'q1' }),
      ]),
    );
    expect(answers).toMatchObject([
      { status: 'fulfilled', value: { session: 'coder', request_id: 'q1', choice: 'Yes, always' } },
      { status: 'rejected', reason: { code: 'already-answered' } },
    ]);
    expect(talkers.responses.get('coder')).toEqual([{ request_id: 'q1', action: '2' }]);
    const [told] = (await h.city.db.events.list({ type: 'session.updated', actor: 'human' })).slice(-1);
    expect(told).toMatchObject({ subject: 'coder', message: 'answered "Bash: touch x …": Yes, always' });
    const numbered = await h.settled(h.api.answer('mayor', { action: '1' }));
    expect(numbered.choice).toBe('Yes');
    expect(h.provider.responses.get('mayor')).toMatchObject([{ action: '1' }]);
  });

  it('that is not there, or has no such answer, is said with what to do', async () => {
    await up();
    const answer = (action: string) => h.settled(h.api.answer('coder', { action }));
    await expect(answer('1')).rejects.toMatchObject({ code: 'session-no-pending' });
    talkers.pendingInteractions.set('coder', ASKED);
    await expect(answer('4')).rejects.toMatchObject({
      code: 'unknown-action',
      next: 'answer one of: 1 Yes, 2 Yes, always, 3 No',
    });
    await expect(answer(' ')).rejects.toMatchObject({ code: 'unknown-action' });
    expect(talkers.responses.size).toBe(0);
  });

  it('that could not be looked for is not no question', async () => {
    await up();
    Object.assign(talkers, { pending: () => Promise.reject(new Error('the host is busy')) });
    const { items, unknown } = await h.settled(h.api.questions());
    expect([items, unknown]).toEqual([[], [{ session: 'coder', reason: 'the host is busy' }]]);
  });

  it('and its turn are its own word on the board', async () => {
    await up();
    h.provider.waitForIdleErrors.set('mayor', undefined);
    talkers.busyUntil.set('coder', Number.MAX_SAFE_INTEGER);
    await h.pass(5_000);
    expect((await viewOf('coder')).condition).toBe('working');
    talkers.pendingInteractions.set('coder', ASKED);
    await h.pass(2_000);
    const seen = await viewOf('coder');
    expect(seen).toMatchObject({ condition: 'waits', detail: expect.stringContaining('Bash: touch x') });
    const { helps } = await h.settled(h.api.explain('coder'));
    expect(helps[0]?.command).toBe('gc session pending coder');
  });
});

describe('images that agents name', () => {
  it('are looked at once, before anything is started', async () => {
    const env = (image: string) => `env: { GC_DOCKER_IMAGE: "${image}" }`;
    h = new CityHarness(
      [
        'workspace: { name: test }',
        'agents:',
        ...['one', 'one', '', 'two'].map(
          (image, i) => `  - { name: a${i}, start_command: run, ${env(image)} }`,
        ),
        'named_sessions: [{ template: a0, mode: always }]',
        '',
      ].join('\n'),
    );
    const asked: string[] = [];
    const checkImage = async (image: string) => {
      asked.push(image);
      if (image === 'two') throw new Error('no such image: two');
    };
    Object.assign(h.provider, { checkImage });
    await expect(h.settled(h.up())).rejects.toThrow('image pre-check: no such image: two');
    expect([asked, h.starts()]).toEqual([['one', 'two'], 0]);
  });
});
