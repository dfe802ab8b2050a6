import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HttpCityApi } from '../internal/api/http/city-client.ts';
import { openCityDatabase } from '../internal/beads/sqlite/city-database.ts';
import { apiSocketPath } from '../internal/controller/control-socket-client.ts';
import { systemClock } from '../internal/platform/clock.ts';
import { identityOf, isSameProcess } from '../internal/platform/process-identity.ts';
import { scriptedAgent } from '../internal/runtime/acp/testing/scripted-agent.ts';
import { InteractionStore } from '../internal/session/interaction-store.ts';
import { until, World } from './support/program.ts';

let world: World;
let city: string;

const toolCall = (command: string) => ({
  toolCallId: command,
  title: command,
  kind: 'execute',
  rawInput: { command },
});

/** Every agent asks once per message, and says aloud what it was answered. */
const AGENT = scriptedAgent({
  prompts: [
    { when: 'push', steps: [{ ask: { toolCall: toolCall('git push') } }] },
    { when: 'status', steps: [{ ask: { toolCall: toolCall('git status -s') } }] },
    { when: 'work', steps: [{ ask: { toolCall: toolCall('touch file.txt') } }] },
  ],
});

/** Each test has sessions of its own. */
const CITY = `
workspace: { name: asking }
providers:
  scripted:
    command: ${AGENT.argv[0]}
    args: ${JSON.stringify(AGENT.argv.slice(1))}
    supports_acp: true
    env: ${JSON.stringify(AGENT.env)}
agents:
  - { name: asker, provider: scripted, session: acp, prompt_mode: none }
  - { name: other, provider: scripted, session: acp, prompt_mode: none }
  - { name: ruled, provider: scripted, session: acp, prompt_mode: none }
  - { name: lasting, provider: scripted, session: acp, prompt_mode: none }
  - { name: orphan, provider: scripted, session: acp, prompt_mode: none }
named_sessions:
  - { template: asker, mode: always }
  - { template: other, mode: always }
  - { template: ruled, mode: always }
  - { template: lasting, mode: always }
  - { template: orphan, mode: always }
`;

beforeAll(async () => {
  world = new World('subprocess');
  city = world.city('asking', { 'city.yaml': CITY });
  await gc('start');
});
afterAll(() => world.dispose());

const gc = (...args: string[]) => world.ok(args, { cwd: city });
const failed = async (...args: string[]) => {
  const ran = await world.gc(args, { cwd: city });
  expect(ran.code, ran.stdout).not.toBe(0);
  return ran.stderr;
};

/** What polls asks the controller itself: a process for each would take long. */
const api = () => new HttpCityApi(apiSocketPath(city, world.env), systemClock);
const asked = (session: string) =>
  until(`a question of ${session}`, async () => (await api().questions(session)).items[0]);
const answers = async (session: string) => (await api().peek(session, 0)).match(/\[permission\] .*/g) ?? [];
const answered = (session: string, count: number) =>
  until(`answer ${count} of ${session}`, async () => {
    const found = await answers(session);
    return found.length >= count && found;
  });
const tell = (session: string, text: string) =>
  api().nudge(session, { text, wait_idle_ms: 0, delivery: 'queue' });

describe('gc pending and gc session respond', () => {
  it('show what is asked with its command, answer it once, and say who was first', async () => {
    await Promise.all([tell('asker', 'work'), tell('other', 'work')]);
    const mine = await asked('asker');
    await asked('other');
    expect(mine).toMatchObject({ tool: 'execute', input: 'touch file.txt' });
    expect(await gc('pending')).toMatch(
      new RegExp(
        `^${mine.id} +asker +\\d+s +execute: touch file.txt\\n +1 Allow once +2 Always allow +3 Reject\\n`,
        'm',
      ),
    );
    const status = await world.status(city);
    expect(status.sessions.find(({ display_name: name }) => name === 'asker')).toMatchObject({
      condition: 'waits',
      detail: 'permission: execute(touch file.txt)',
    });

    const inside = await world.gc(['session', 'respond', mine.id, 'yes'], {
      cwd: city,
      env: { GC_SESSION_ID: 'gc-1' },
    });
    expect([inside.code, inside.stderr]).toEqual([
      1,
      expect.stringContaining('cannot answer its own question'),
    ]);
    expect(await failed('session', 'respond', 'q99', 'yes')).toContain('no question q99 was asked');
    expect(await failed('session', 'respond', mine.id, 'perhaps')).toContain('answer one of: 1 Allow once');

    expect(await gc('session', 'respond', mine.id, 'yes')).toBe(
      'asker was answered: Allow once (once, by you)\n',
    );
    expect(await failed('session', 'respond', mine.id, 'no')).toMatch(
      /answered already: Allow once, by human/,
    );
    expect(await answered('asker', 1)).toEqual([expect.stringContaining('"optionId":"yes"')]);

    expect(await gc('session', 'respond', 'other', '3')).toContain('other was answered: Reject');
    expect(await answered('other', 1)).toEqual([expect.stringContaining('"optionId":"no"')]);
    expect((await api().questions('asker')).items).toEqual([]);
    const log = await gc('log', 'show', 'asker');
    expect(log).toContain('touch file.txt');
  });
});

describe('a rule', () => {
  it('answers without a person, and is seen to have done it', async () => {
    await gc('rule', 'allow', '--agent', 'ruled', '--tool', 'execute', '--input', 'git status*');
    await gc('rule', 'deny', '--tool', 'execute', '--input', 'git push*', '--scope', 'always');
    expect(await failed('rule', 'allow', '--agent', 'nobody', '--tool', 'x')).toContain('nobody');
    expect(await gc('rule', 'list')).toMatch(/^u1 +deny .*\nr1 +allow +execute: git status\*/);
    expect(readFileSync(join(world.home, '.gc', 'permission-rules.json'), 'utf8')).toContain('git push*');
    await tell('ruled', 'status');
    expect(await answered('ruled', 1)).toEqual([expect.stringContaining('"optionId":"yes"')]);
    await tell('ruled', 'push');
    expect((await answered('ruled', 2))[1]).toContain('"optionId":"no"');
    const explained = await gc('explain', 'ruled');
    expect(explained).toContain('rule u1 answered "git push"');
    const [, first = ''] = /asks (q\d+): git status -s/.exec(explained) ?? [];
    expect(await failed('session', 'respond', first, 'no')).toMatch(
      /answered already: Allow once, by rule r1/,
    );

    await tell('lasting', 'status');
    const { id } = await asked('lasting');
    const made = await gc('session', 'respond', id, 'yes', '--for', 'session');
    expect(made).toMatch(
      /lasting was answered: Allow once \(in this conversation of lasting, rule r2, by you\)/,
    );
    await tell('lasting', 'status');
    expect(await answered('lasting', 2)).toHaveLength(2);
    expect(await failed('rule', 'remove', 'r9')).toContain('there is no rule r9');
  });
});

describe('a controller that is killed between a decision and its delivery', () => {
  it('has the next one deliver it, once', async () => {
    await tell('orphan', 'work');
    const { id } = await asked('orphan');
    const { controller } = await world.status(city);
    const identity = identityOf(controller.pid ?? 0);
    if (!identity) throw new Error('no controller runs');
    process.kill(identity.pid, 'SIGKILL');
    await until('the end of the controller', () => !isSameProcess(identity));

    const db = openCityDatabase(join(city, '.gc', 'city.db'), systemClock);
    const by = { kind: 'user', id: 'human', channel: 'cli' } as const;
    const resolution = {
      action: '1',
      label: 'Yes',
      verdict: 'allow',
      cause: 'user',
      scope: 'once',
      text: '',
    } as const;
    await new InteractionStore(db).resolve(Number(id.slice(1)), { ...resolution, by });
    db.close();
    await gc('start');
    expect(await answered('orphan', 1)).toEqual([expect.stringContaining('"optionId":"yes"')]);
    expect(await failed('session', 'respond', id, 'no')).toContain('answered already: Yes, by human');
    expect(await answers('orphan')).toHaveLength(1);
  });
});
