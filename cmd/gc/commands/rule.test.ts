import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FakeCity, fakeCity } from '../testing/fake-city.ts';

let city: FakeCity;
beforeAll(async () => {
  city = await fakeCity();
});
afterAll(() => city.close());
beforeEach(() => {
  city.api.rules.rules.length = 0;
});

describe('gc rule', () => {
  it('makes rules, lists denials first, and takes them back', async () => {
    expect((await city.run(['rule', 'list'])).out).toContain('No rules');
    const made = await city.run([
      'rule',
      'allow',
      '--agent',
      'worker',
      '--tool',
      'Bash',
      '--input',
      'git status*',
    ]);
    expect(made.out).toBe('r1  allow  Bash: git status*   agent worker, in this city   by human\n');
    await city.run(['rule', 'deny', '--tool', '*', '--scope', 'always']);
    await city.run(['rule', 'allow', '--tool', 'Read', '--project', '/src/proj']);
    expect((await city.run(['rule', 'list'])).out).toBe(
      [
        'r2  deny   *: anything   always, for you   by human',
        'r1  allow  Bash: git status*   agent worker, in this city   by human',
        'r3  allow  Read: anything   in /src/proj   by human',
        '',
      ].join('\n'),
    );
    expect((await city.run(['rule', 'remove', 'r2'])).out).toMatch(/^removed r2 {2}deny/);
    expect(await city.run(['rule', 'remove', 'r2'])).toMatchObject({ code: 1 });
    const { items } = JSON.parse((await city.run(['rule', 'list', '--json'])).out);
    expect(items).toHaveLength(2);
  });

  it('says what is missing or wrong', async () => {
    expect((await city.run(['rule', 'allow'])).err).toContain('--tool is needed');
    expect((await city.run(['rule', 'allow', '--tool', 'Bash', '--scope', 'moon'])).err).toContain(
      '--scope takes',
    );
    expect(city.api.rules.rules).toEqual([]);
  });

  it.each([
    [['rule', 'allow', '--tool', 'Bash']],
    [['rule', 'deny', '--tool', 'Bash']],
    [['rule', 'remove', 'r1']],
  ])('is for people: %j is refused inside a session', async (argv) => {
    await city.run(['rule', 'deny', '--tool', 'Bash']);
    const refused = await city.run(argv, { env: { GC_INSTANCE_TOKEN: 't' } });
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringContaining('an agent cannot answer its own question'),
    });
    expect(city.api.rules.rules).toHaveLength(1);
  });
});
