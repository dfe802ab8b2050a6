import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import { FakeClock } from '../../../platform/fake-clock.ts';
import { type ExecRequest, execInPod } from './exec-in-pod.ts';
import {
  type ScriptedConnection,
  type ScriptedServer,
  type ScriptOptions,
  scriptedServer,
} from './testing/scripted-channels.ts';

let server: ScriptedServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const REQUEST: ExecRequest = {
  namespace: 'gc',
  pod: 'mayor',
  container: 'agent',
  argv: ['ls', '-l', 'a b'],
  timeoutMs: 5_000,
};

async function exec(
  script: (connection: ScriptedConnection) => void,
  request: Partial<ExecRequest> = {},
  options: ScriptOptions = {},
) {
  server = await scriptedServer(script, options);
  return execInPod(server.access, { ...REQUEST, ...request }, systemClock);
}

/** A call whose connection stands, with time that the test moves. */
async function opened(
  clock: FakeClock,
  script: (connection: ScriptedConnection) => void,
  options: ScriptOptions = {},
) {
  let connected: () => void = () => undefined;
  const standing = new Promise<void>((resolve) => {
    connected = resolve;
  });
  server = await scriptedServer((connection) => {
    script(connection);
    connected();
  }, options);
  const call = execInPod(server.access, { ...REQUEST, timeoutMs: 600_000 }, clock);
  await standing;
  // What was said has to come over the wire.
  await pause(50);
  return { call };
}

async function advancing(clock: FakeClock, call: Promise<unknown>): Promise<void> {
  let over = false;
  const end = () => {
    over = true;
  };
  call.then(end, end);
  while (!over && clock.monotonic() < 600_000) {
    await clock.advance(1_000);
    await pause(2);
  }
}

const pause = (ms: number) => systemClock.sleep(ms);

describe('a command in a pod', () => {
  it('asks for the container and each word of the command by itself', async () => {
    let url = new URL('http://x');
    const result = await exec((c) => {
      url = c.url;
      c.say(1, '');
      c.say(1, 'out');
      c.say(2, 'err');
      c.status(0);
      c.socket.close();
    });
    expect(result).toEqual({ exit: 0, stdout: Buffer.from('out'), stderrTail: 'err' });
    expect(url.pathname).toBe('/api/v1/namespaces/gc/pods/mayor/exec');
    expect(url.searchParams.getAll('command')).toEqual(['ls', '-l', 'a b']);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      container: 'agent',
      stdin: 'false',
      stdout: 'true',
      tty: 'false',
    });
  });

  it.each([0, 50, 500])('K8S-02 output, status and close %i ms apart are all heard', async (ms) => {
    const result = await exec(async (c) => {
      c.say(1, 'a');
      await pause(ms);
      c.status(3);
      c.say(1, 'b');
      await pause(ms);
      c.socket.close();
    });
    expect([result.exit, result.stdout.toString()]).toEqual([3, 'ab']);
  });

  it('K8S-02 a status without a close ends it too', async () => {
    const clock = new FakeClock();
    const { call } = await opened(clock, (c) => {
      c.say(1, 'a');
      c.status(0);
    });
    await advancing(clock, call);
    expect(clock.monotonic()).toBeLessThan(60_000);
    expect((await call).stdout.toString()).toBe('a');
  });

  it.each(['close', 'terminate'] as const)('K8S-02 a %s without a status is never success', async (how) => {
    const call = exec((c) => {
      c.say(1, 'all there');
      setImmediate(() => c.socket[how]());
    });
    await expect(call).rejects.toMatchObject({
      code: 'k8s-lost',
      message: expect.stringContaining('it may have run or not'),
    });
  });

  it('K8S-03 returns when the command ended, not when it began', async () => {
    let ended = false;
    const result = await exec(async (c) => {
      c.say(1, 'begun');
      await pause(100);
      ended = true;
      c.status(0);
      c.socket.close();
    });
    expect([ended, result.exit]).toEqual([true, 0]);
  });

  it('K8S-04 the older protocol: the other side is told how much there is to read', async () => {
    let words: string[] = [];
    const input = Buffer.alloc(100_000, 'x');
    const result = await exec(
      (c) => {
        words = c.url.searchParams.getAll('command');
        c.socket.on('message', () => {
          const bytes = c.received.filter((m) => m.channel === 0).reduce((sum, m) => sum + m.bytes.length, 0);
          if (bytes < input.length) return;
          c.say(1, String(bytes));
          c.status(0);
          c.socket.close();
        });
      },
      { argv: ['tar', 'xf', '-'], stdin: input },
      { protocols: ['v4.channel.k8s.io'] },
    );
    expect(words).toEqual(['sh', '-c', 'head -c "$0" | "$@"', '100000', 'tar', 'xf', '-']);
    expect(result.stdout.toString()).toBe('100000');
  });

  it('K8S-04 the newer protocol: the end of the input is told, and output after it is still heard', async () => {
    const result = await exec(
      (c) => {
        c.socket.on('message', async () => {
          const last = c.received.at(-1);
          if (last?.channel !== 255) return;
          await pause(20);
          c.say(1, `closed ${last.bytes[0]}`);
          c.status(0);
          c.socket.close();
        });
      },
      {
        stdin: { bytes: 'self-ending', chunks: [Buffer.from('one'), Buffer.from('two')] },
      },
    );
    expect(result.stdout.toString()).toBe('closed 0');
  });

  it('tells apart what keeps it from running', async () => {
    const refused = (status: number, message: string) =>
      exec(() => undefined, {}, { refuse: () => ({ status, body: JSON.stringify({ message }) }) });
    await expect(refused(404, 'pods "mayor" not found')).rejects.toMatchObject({ code: 'k8s-not-found' });
    await server?.close();
    await expect(refused(403, 'pods "mayor" is forbidden')).rejects.toMatchObject({
      code: 'k8s-forbidden',
      next: expect.stringContaining('pods/exec'),
    });
    await server?.close();
    await expect(refused(401, 'Unauthorized')).rejects.toMatchObject({ code: 'k8s-unauthorized' });
    await server?.close();
    await expect(refused(400, 'container agent is not valid for pod mayor')).rejects.toMatchObject({
      code: 'k8s-not-found',
    });
    await server?.close();
    await expect(refused(500, 'etcd is on fire')).rejects.toMatchObject({
      code: 'k8s-refused',
      message: expect.stringContaining('etcd is on fire (HTTP 500)'),
    });
  });

  it('reads its credentials again when they were refused, once', async () => {
    const result = await exec(
      (c) => {
        c.status(0);
        c.socket.close();
      },
      {},
      { refuse: (n) => (n === 0 ? { status: 401, body: 'Unauthorized' } : undefined) },
    );
    expect([result.exit, server?.renewals()]).toEqual([0, 1]);
  });

  it('a command that cannot be run is an error in the cluster’s words', async () => {
    const call = exec((c) => {
      c.say(3, JSON.stringify({ status: 'Failure', reason: 'InternalError', message: 'no such file: ls' }));
      c.socket.close();
    });
    await expect(call).rejects.toMatchObject({
      code: 'k8s-exec-failed',
      message: expect.stringContaining('no such file: ls'),
    });
  });

  it('an unreadable status is an error, not success', async () => {
    const call = exec((c) => {
      c.say(3, 'ok');
      c.socket.close();
    });
    await expect(call).rejects.toMatchObject({ code: 'k8s-bad-status' });
  });

  it('is bounded in time, in output, and by its signal', async () => {
    await expect(exec(() => undefined, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'k8s-timeout' });
    await server?.close();
    const flood = exec((c) => c.say(1, 'x'.repeat(2_000)), { maxOutputBytes: 1_000 });
    await expect(flood).rejects.toMatchObject({ code: 'k8s-output-too-large' });
    await server?.close();
    const given = new AbortController();
    const call = exec((c) => c.say(1, 'x'), { signal: given.signal });
    setTimeout(() => given.abort(new Error('given up')), 30);
    await expect(call).rejects.toThrow('given up');
  });

  it('a half-open connection is found within 25 s', async () => {
    const clock = new FakeClock();
    const { call } = await opened(clock, (c) => c.say(1, 'x'), { autoPong: false });
    await advancing(clock, call);
    await expect(call).rejects.toMatchObject({
      code: 'k8s-lost',
      message: expect.stringContaining('nothing was heard for 20 s'),
    });
    expect(clock.monotonic()).toBeLessThanOrEqual(27_000);
  });

  it('nobody there: said so, within the time', async () => {
    server = await scriptedServer(() => undefined);
    const { access } = server;
    await server.close();
    await expect(execInPod(access, REQUEST, systemClock)).rejects.toMatchObject({ code: 'k8s-unavailable' });
  });
});
