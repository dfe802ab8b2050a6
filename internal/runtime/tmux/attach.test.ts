import { type ChildProcess, spawn } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { attachPlan } from './attach.ts';
import { recorder } from './testing/agents.ts';
import { eventually, hasTmux, PrivateServer, TRANSPORTS, tmuxNote } from './testing/private-server.ts';

const never = new AbortController().signal;
const SERVER = {
  tmuxPath: 'tmux',
  socketName: 'town',
  env: { TMUX_TMPDIR: '/run/x' },
  onSpawn: () => undefined,
};
const SOCKET = `/run/x/tmux-${process.getuid?.()}/town`;
const KEYS = {
  prefix: 'C-b',
  bindings: [
    'bind-key    -T prefix       C-b                  send-prefix',
    'bind-key    -T prefix       L                    switch-client -l',
    'bind-key    -T prefix       d                    detach-client',
  ].join('\n'),
};

const ATTACH = [
  'tmux',
  '-u',
  '-L',
  'town',
  'attach-session',
  '-t',
  '=mayor',
  ';',
  'display-message',
  '-d',
  '6000',
];

describe('the attach plan', () => {
  it('attaches to the exact session and says how to leave', () => {
    const plan = attachPlan(SERVER, 'mayor', { PATH: '/bin', TERM: 'xterm', NOTHING: undefined }, KEYS);
    expect(plan).toEqual({
      kind: 'spawn',
      argv: [...ATTACH, 'leave with Ctrl-b d'],
      env: { PATH: '/bin', TERM: 'xterm' },
      leave: 'Ctrl-b d',
    });
  });

  it('TMX-12 switches the client inside the same server, and nests on purpose in another', () => {
    const same = attachPlan(SERVER, 'mayor', { TMUX: `${SOCKET},123,0` }, KEYS);
    expect(same).toMatchObject({
      argv: ['tmux', '-u', '-L', 'town', 'switch-client', '-t', '=mayor'],
      env: { TMUX: `${SOCKET},123,0` },
      leave: 'Ctrl-b L (back to your session)',
    });
    const other = attachPlan(SERVER, 'mayor', { TMUX: '/tmp/tmux-0/default,123,0' }, KEYS);
    expect(other).toMatchObject({
      argv: [...ATTACH, 'leave with Ctrl-b Ctrl-b d (tmux inside tmux)'],
      env: { TMUX: '' },
      leave: 'Ctrl-b Ctrl-b d (tmux inside tmux)',
    });
  });

  it("reads a person's own prefix and detach key", () => {
    const keys = {
      prefix: 'M-a',
      bindings: 'bind-key -T prefix C-q detach-client\nbind-key -T prefix \\; detach-client',
    };
    expect(attachPlan(SERVER, 'a', {}, keys).leave).toBe('Alt-a Ctrl-q');
  });
});

describe.skipIf(!hasTmux).each(TRANSPORTS)(`attaching over %s${tmuxNote}`, (transport) => {
  let server: PrivateServer;
  const people: ChildProcess[] = [];
  beforeEach(() => {
    server = new PrivateServer();
  });
  afterEach(async () => {
    for (const person of people.splice(0)) person.kill('SIGKILL');
    await server.dispose();
  });

  it('TMX-13 the plan connects a real terminal, also inside another tmux, and its keys leave', async () => {
    const env = { ...server.env, TERM: 'xterm-256color', TMUX: '/tmp/elsewhere,1,0' };
    const backend = server.backend(transport, { env });
    await backend.create('desk', server.launch(recorder(server.path('log'))), never);
    const plan = await backend.attach('desk');
    if (plan.kind !== 'spawn') throw new Error('not a command');
    expect(plan.leave).toBe('Ctrl-b Ctrl-b d (tmux inside tmux)');
    const person = spawn('script', ['-qfc', plan.argv.map((word) => `'${word}'`).join(' '), '/dev/null'], {
      env: plan.env,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    people.push(person);
    const attached = async () => {
      const found = await backend.inspect('desk');
      return found.kind === 'present' ? found.session.attached : -1;
    };
    await eventually('the person is there', async () => (await attached()) === 1);
    person.stdin?.write('\x02d');
    await eventually('the person left', async () => (await attached()) === 0);
    const found = await backend.inspect('desk');
    expect(found.kind === 'present' && found.session.state.kind).toBe('alive');
  });
});
