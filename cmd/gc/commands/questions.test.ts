import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OpenQuestion } from '../../../internal/controller/question-api.ts';
import { rfc3339, systemClock } from '../../../internal/platform/clock.ts';
import { type FakeCity, fakeCity } from '../testing/fake-city.ts';
import { aSession } from '../testing/status-fixtures.ts';

let city: FakeCity;
beforeAll(async () => {
  city = await fakeCity();
});
afterAll(() => city.close());
beforeEach(() => {
  city.api.answers.length = 0;
  city.api.questionsNow = { items: [question()], unknown: [] };
});

const MAYOR = aSession('mayor').id;
const question = (over: Partial<OpenQuestion> = {}): OpenQuestion => ({
  id: 'q7',
  session: 'mayor',
  session_id: MAYOR,
  session_name: 'mayor',
  request_id: 'tmux-abc',
  kind: 'approval',
  prompt: 'Bash: touch permitted.txt\nin \u001b[31m~/city',
  options: ['Yes', 'Yes, always in this project', 'No'],
  metadata: {},
  source: 'screen',
  tool: 'Bash',
  input: 'touch permitted.txt',
  asked_at: rfc3339(systemClock.now() - 121_000),
  ...over,
});

describe('gc pending', () => {
  it('shows who asks what, the choices and the command that answers', async () => {
    const { out, code } = await city.run(['pending'], { isTTY: true });
    expect([code, out]).toEqual([
      0,
      [
        'q7  mayor    2m   Bash: touch permitted.txt',
        '      in \\x1b[31m~/city',
        '      1 Yes   2 Yes, always in this project   3 No',
        '      gc session respond q7 <number>',
        '',
      ].join('\n'),
    ]);
    expect((await city.run(['session', 'pending', 'mayor'])).out).toBe(out);
  });

  it('says so when nobody asks anything, and never when it could not look', async () => {
    city.api.questionsNow = { items: [], unknown: [] };
    expect(await city.run(['pending'])).toMatchObject({ code: 0, out: 'No agent asks anything.\n' });
    city.api.questionsNow = { items: [], unknown: [{ session: 'mayor', reason: 'the host is gone' }] };
    expect(await city.run(['pending'])).toMatchObject({
      code: 1,
      err: 'gc: mayor could not be looked at: the host is gone\n',
    });
    const { out } = await city.run(['pending', '--json']);
    expect(JSON.parse(out)).toEqual(city.api.questionsNow);
  });

  it('cuts what is too long for the list', async () => {
    const prompt = ['write a file', ...Array.from({ length: 9 }, (_, i) => `+ line ${i}`)].join('\n');
    city.api.questionsNow = { items: [question({ prompt, options: [] })], unknown: [] };
    const { out } = await city.run(['pending']);
    expect(out).toContain('... 3 more lines: gc session pending mayor\n');
    expect(out).toContain('gc session respond q7 <answer>');
  });

  it('names the tool where the question does not, and when it is answered by itself', async () => {
    const soon = { tool: 'execute', prompt: 'ls', expires_at: rfc3339(systemClock.now() + 3_599_000) };
    const options = ['Allow once', `Allow ${'for a long time '.repeat(5)}`, 'Reject'];
    city.api.questionsNow = { items: [question({ ...soon, options })], unknown: [] };
    const { out } = await city.run(['pending'], { isTTY: true });
    expect(out).toContain('execute: ls\n');
    expect(out).toContain('      1 Allow once\n      2 Allow for a long time');
    expect(out).toMatch(/respond q7 <number> {3}answered by itself (in )?59m|1h/);
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });
});

describe('gc session respond', () => {
  it('answers the question by its id, or whatever a session asks', async () => {
    expect(await city.run(['session', 'respond', 'q7', '1'])).toMatchObject({
      code: 0,
      out: 'mayor was answered: 1 (once, by you)\n',
    });
    await city.run(['session', 'respond', 'mayor', 'yes,', 'always', '--text', 'and hurry']);
    expect(city.api.answers).toEqual([
      { target: 'q7', request: { action: '1', channel: 'cli' } },
      { target: 'mayor', request: { action: 'yes, always', channel: 'cli', text: 'and hurry' } },
    ]);
  });

  it('for longer makes a rule, which is named', async () => {
    const { out } = await city.run(['session', 'respond', 'q7', 'yes', '--for', 'session']);
    expect(out).toMatch(
      /^mayor was answered: yes \(in this conversation of the session, rule r\d, by you\)\n$/,
    );
    const wrong = await city.run(['session', 'respond', 'q7', 'yes', '--for', 'ever']);
    expect(wrong.err).toContain('--for takes once, session, project, city, always, not "ever"');
  });

  it('is for people: nothing is answered from inside a session', async () => {
    const env = { GC_SESSION_ID: 'gc-1' };
    const refused = await city.run(['session', 'respond', 'mayor', '1'], { env });
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('an agent cannot answer its own question');
    expect(city.api.answers).toEqual([]);
  });

  it('without a question or an answer says what is missing', async () => {
    city.api.questionsNow = { items: [], unknown: [] };
    expect((await city.run(['session', 'respond', 'mayor', '1'])).err).toContain(
      'has no pending interaction',
    );
    expect((await city.run(['session', 'respond', 'nobody', '1'])).err).toContain(
      'session not found: "nobody"',
    );
    expect((await city.run(['session', 'respond', 'mayor'])).err).toContain(
      "missing required argument 'choice'",
    );
  });
});
