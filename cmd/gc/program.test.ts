import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FakeCity, fakeCity, runIn } from './testing/fake-city.ts';

let city: FakeCity;
beforeAll(async () => {
  city = await fakeCity();
});
afterAll(() => city.close());

describe('--json', () => {
  it.each([
    'status --json',
    'cities --json',
    'session list --json',
    'session peek mayor --json',
    'session logs mayor --json',
    'session new mayor --json',
    'session nudge mayor hi --json',
    'nudge mayor hi --json',
    'explain mayor --json',
    'events --json',
    'agent list --json',
    'config show --json',
    'config explain --json',
    'doctor --json',
    'version --json',
  ])('gc %s is valid JSON and nothing else', async (line) => {
    const ran = await city.run(line.split(' '));
    expect(ran.err).toBe('');
    expect(() => JSON.parse(ran.out)).not.toThrow();
  });

  it('of supervisor status is valid JSON with exit code 1 when none runs', async () => {
    const ran = await city.run(['supervisor', 'status', '--json']);
    expect([JSON.parse(ran.out).running, ran.code]).toEqual([false, 1]);
  });

  it('makes errors JSON too, also those of the command line', async () => {
    const ran = await city.run(['nudge', 'mayr', 'hi', '--json']);
    expect(ran).toMatchObject({ code: 1, out: '' });
    expect(JSON.parse(ran.err).error).toMatchObject({
      code: 'session-not-found',
      command: 'nudge',
      next: 'gc session list',
    });
    const usage = await city.run(['status', '--jsonn', '--json']);
    expect(JSON.parse(usage.err).error.code).toBe('usage');
  });
});

describe('errors', () => {
  it('go to stderr with the command, the next step and exit code 1', async () => {
    expect(await city.run(['session', 'kill', 'mayr'])).toEqual({
      code: 1,
      out: '',
      err: 'gc session kill: session not found: "mayr"; did you mean "mayor"?\n  next: gc session list\n',
    });
  });

  it('say where a city was looked for', async () => {
    const ran = await runIn(['status'], { cwd: city.home, env: { HOME: city.home, GC_HOME: city.home } });
    expect(ran.code).toBe(1);
    expect(ran.err).toContain('gc status: not in a city directory (no city.yaml, city.toml or .gc/ found)\n');
  });

  it('name an unknown command', async () => {
    expect((await city.run(['statsu'])).err).toContain(
      'gc: unknown command "statsu"; did you mean "status"?\n',
    );
  });
});

describe('nudge', () => {
  it('delivers the words as one message', async () => {
    expect(await city.run(['nudge', 'mayor', 'two', 'words'])).toEqual({
      code: 0,
      out: 'Nudged mayor\n',
      err: '',
    });
    expect(city.api.nudges.at(-1)).toEqual({
      target: 'mayor',
      request: {
        text: 'two words',
        wait_idle_ms: 30_000,
        delivery: 'wait-idle',
        id: expect.stringMatching(/^nudge-[0-9a-f]{12}$/),
        sender: 'human',
      },
    });
  });

  it('reads megabytes from stdin', async () => {
    const text = 'é\n'.repeat(700_000);
    await city.run(['session', 'nudge', 'mayor', '-', '--delivery', 'immediate'], { stdin: text });
    expect(city.api.nudges.at(-1)?.request).toMatchObject({
      text: text.slice(0, -1),
      wait_idle_ms: 0,
      delivery: 'immediate',
    });
  });

  it('refuses an empty message and an unknown mode', async () => {
    expect((await city.run(['nudge', 'mayor', '-'], { stdin: '\n' })).err).toContain('the message is empty');
    expect((await city.run(['session', 'nudge', 'mayor', 'x', '--delivery', 'later'])).err).toContain(
      'unknown delivery mode "later" (want immediate, wait-idle, or queue)',
    );
  });

  it('tells a person that it was taken', async () => {
    expect((await city.run(['nudge', 'mayor', 'hi'], { isTTY: true })).out).toBe(
      'mayor took it (submitted in 0.7s)\n',
    );
  });
});

describe('status', () => {
  it('NAM-04 prints names that every command accepts', async () => {
    const status = JSON.parse((await city.run(['status', '--json'])).out);
    for (const { display_name: name } of status.sessions) {
      for (const command of [
        ['session', 'peek', name],
        ['nudge', name, 'x'],
        ['explain', name],
      ]) {
        expect((await city.run(command)).code, command.join(' ')).toBe(0);
      }
    }
  });

  it('is a board at a terminal and plain lines in a pipe', async () => {
    expect((await city.run(['status'])).out).toContain('  Controller: supervisor (PID 4121)\n');
    expect((await city.run(['status'], { isTTY: true })).out).toContain('2 of 2 running');
  });

  it('takes a path and --city', async () => {
    for (const argv of [
      ['status', city.root],
      ['status', '--city', city.root],
      ['--city', city.root, 'status'],
    ]) {
      expect((await city.run(argv, { cwd: '/' })).code).toBe(0);
    }
  });
});

describe('events', () => {
  it('finds the newest number', async () => {
    expect((await city.run(['events', '--seq'])).out).toBe('130\n');
  });

  it('follows as JSON lines until nobody reads, which is no error', async () => {
    const ran = await city.run(['events', '--follow', '--after', '126'], { readerLeavesAfter: 3 });
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect(
      ran.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).seq),
    ).toEqual([127, 128, 129]);
  });

  it('starts a follow at the end', async () => {
    const ran = await city.run(['events', '-f'], { readerLeavesAfter: 1 });
    expect(JSON.parse(ran.out).seq).toBe(131);
  });

  it('watches for the first matching ones', async () => {
    const ran = await city.run([
      'events',
      '--watch',
      '--type',
      'session.stopped',
      '--payload-match',
      'code=0',
      '--after',
      '5',
    ]);
    expect(ran.code).toBe(0);
    for (const line of ran.out.trim().split('\n')) {
      expect(JSON.parse(line)).toMatchObject({ type: 'session.stopped', payload: { code: 0 } });
    }
  });

  it('ends a watch that saw nothing as a success without output', async () => {
    expect(await city.run(['events', '--watch', '--type', 'none', '--timeout', '150ms'])).toEqual({
      code: 0,
      out: '',
      err: '',
    });
  });

  it('refuses a match that is none', async () => {
    expect((await city.run(['events', '--payload-match', 'x'])).err).toContain(
      '--payload-match wants key=value',
    );
  });
});

describe('peek', () => {
  it('prints 60 MB whole and ends them with a line end', async () => {
    city.api.peeked = `${'0123456789abcdef'.repeat(3_932_160)}end`;
    const { out } = await city.run(['session', 'peek', 'mayor', '--lines', '0']);
    expect(out.length).toBe(city.api.peeked.length + 1);
    expect(out.endsWith('end\n')).toBe(true);
    city.api.peeked = 'last line';
  });
});

describe('attach', () => {
  it('needs a terminal and says what works without one', async () => {
    const ran = await city.run(['session', 'attach', 'mayor']);
    expect(ran.err).toContain('gc session attach: attach needs a terminal');
    expect(ran.err).toContain('next: gc session peek');
  });
});

describe('session verbs', () => {
  it.each([
    [['kill', 'mayor'], 'Session gc-mayor killed.\n'],
    [['suspend', 'mayor'], 'Session gc-mayor suspended. Resume with: gc session wake mayor\n'],
    [['wake', 'mayor'], 'Session gc-mayor: wake requested.\n'],
    [['close', 'mayor'], 'Session gc-mayor closed.\n'],
    [['rename', 'mayor', 'a', 'b'], 'Session gc-mayor renamed to "a b".\n'],
    [
      ['new', 'mayor', '--no-attach'],
      'Session gc-mayor created from template "mayor" (reconciler will start it).\n',
    ],
  ])('gc session %j', async (words, out) => {
    expect(await city.run(['session', ...words])).toEqual({ code: 0, out, err: '' });
  });
});

describe('completion', () => {
  it('offers living names', async () => {
    expect((await city.run(['__complete', '--', 'session', 'attach', 'ma'])).out).toBe('mayor\t\n');
  });

  it('offers nothing, without a word, where there is no city', async () => {
    const ran = await runIn(['__complete', '--', 'session', 'attach', ''], {
      cwd: '/',
      env: { GC_HOME: city.home },
    });
    expect(ran).toEqual({ code: 0, out: '', err: '' });
  });

  it.each(['bash', 'zsh', 'fish'])('prints a script for %s', async (shell) => {
    expect((await city.run(['completion', shell])).out).toContain('__complete');
  });

  it('refuses another shell', async () => {
    expect((await city.run(['completion', 'tcsh'])).err).toContain('expected one of: bash, zsh, fish');
  });
});

describe('conformance', () => {
  it('runs the provider contract and says what failed', async () => {
    const ran = await city.run(['conformance', 'provider', 'fake', '--only', 'meta', '--json']);
    expect(ran).toMatchObject({ code: 0, err: '' });
    const { passed, failed, cases } = JSON.parse(ran.out);
    expect([passed > 3, failed]).toEqual([true, 0]);
    expect(cases.every(({ name }: { name: string }) => /meta/i.test(name))).toBe(true);
  });

  it('lists cases and refuses names', async () => {
    expect((await city.run(['conformance', 'provider', 'tmux', '--list'])).out).toContain(
      'Start_DuplicateReturnsError\n',
    );
    expect((await city.run(['conformance', 'provider', 'tmuxx'])).err).toContain(
      'expected one of: tmux, subprocess, acp, k8s, exec:<script>, fake',
    );
    expect((await city.run(['conformance', 'provider', 'fake', '--only', 'zzz'])).err).toContain(
      'no case has "zzz"',
    );
  });
});

describe('Ctrl-C', () => {
  it('is how a follow ends: a success', async () => {
    const interrupt = new AbortController();
    city.api.onFollow = () => interrupt.abort(new Error('SIGINT'));
    const ran = await city.run(['events', '--follow', '--after', '200'], { signal: interrupt.signal });
    expect(ran).toEqual({ code: 0, out: '', err: '' });
  });

  it('ends a command that waits with the exit code of an interrupt', async () => {
    const interrupt = new AbortController();
    let answer: () => void = () => undefined;
    city.api.onPeek = () => {
      interrupt.abort(new Error('SIGINT'));
      return new Promise((resolve) => {
        answer = resolve;
      });
    };
    const ran = await city.run(['session', 'peek', 'mayor'], { signal: interrupt.signal });
    expect(ran).toEqual({ code: 130, out: '', err: '' });
    answer();
  });
});
