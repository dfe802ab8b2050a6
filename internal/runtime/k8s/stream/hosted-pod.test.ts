import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import type { HostEvent, WireLaunch } from '../../host/protocol.ts';
import { SessionHost } from '../../host/session-host.ts';
import type { ScriptedServer } from '../channel/testing/scripted-channels.ts';
import { FakePod, fakeCluster } from './testing/fake-pods.ts';

let dir: string;
let cluster: ScriptedServer;
let pod: FakePod;
let host: SessionHost;
let events: HostEvent[];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gc-pod-'));
  pod = new FakePod('mayor');
  cluster = await fakeCluster(new Map([['mayor', pod]]));
  writeFileSync(join(dir, 'kubeconfig'), kubeconfig(cluster.port));
  events = [];
  const onEvent = (event: HostEvent) => void events.push(event);
  host = new SessionHost(dir, quick, { onEvent, onEmpty: () => undefined, onLeave: () => undefined });
});
afterEach(async () => {
  for (const name of host.names) await host.kill(name, 0);
  await cluster.close();
  rmSync(dir, { recursive: true, force: true });
});

/** Waits before a connection is tried again are shortened. */
const quick = {
  ...systemClock,
  sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 50, signal),
};

const kubeconfig = (port: number) => `
apiVersion: v1
kind: Config
clusters: [{ name: c, cluster: { server: "http://127.0.0.1:${port}", insecure-skip-tls-verify: true } }]
users: [{ name: u, user: { token: t } }]
contexts: [{ name: x, context: { cluster: c, user: u } }]
current-context: x
`;

function launch(uid = pod.uid): WireLaunch {
  const target = {
    kubeconfig: join(dir, 'kubeconfig'),
    context: '',
    service: '',
    namespace: 'gc',
    pod: 'mayor',
    uid,
    container: 'agent',
  };
  const remote = { driver: 'kubernetes', target } as const;
  return { argv: [], cwd: '', env: {}, pty: true, columns: 80, rows: 24, remote };
}

const shown = async () => (await host.get('mayor').capture(0)).screen.lines.join('\n').trimEnd();

const until = async (what: () => boolean | Promise<boolean>) => {
  for (let tries = 0; !(await what()); tries += 1) {
    if (tries > 6_000) throw new Error('it does not come about');
    await systemClock.sleep(3);
  }
};

/** What asks a terminal where its cursor is, and what it is. */
const QUESTIONS = '\x1b[6n\x1b[c';

describe('a pod’s terminal in the session host', () => {
  it('a question in the log is not answered again, one that comes now is', async () => {
    pod.log = `old ${QUESTIONS}\r\n`;
    await host.create('mayor', launch());
    await until(async () => (await shown()) === 'old');
    expect(pod.typed).toBe('');
    pod.print('\x1b[6n');
    await until(() => pod.typed !== '');
    expect(pod.typed).toBe('\x1b[2;1R');
  });

  it('neither is one in a screen that was rebuilt after a break', async () => {
    await host.create('mayor', launch());
    await until(() => pod.connected === 1);
    pod.print(`first${QUESTIONS}\r\n`);
    await until(() => pod.typed.endsWith('c'));
    const answered = pod.typed;
    pod.log = `second ${QUESTIONS}\r\n`;
    pod.breakConnections();
    await until(async () => (await shown()) === 'second');
    pod.print('\x1b[6n');
    await until(() => pod.typed !== answered);
    expect(pod.typed).toBe(`${answered}\x1b[2;1R`);
  });

  it('people at it see the rebuilt screen', async () => {
    await host.create('mayor', launch());
    await until(() => pod.connected === 1);
    pod.print('first\r\n');
    await until(async () => (await shown()) === 'first');
    let seen = '';
    const sink = {
      send: (bytes: Buffer) => {
        seen += bytes;
      },
      queuedBytes: () => 0,
      end: () => undefined,
    };
    host.get('mayor').attach(sink, { columns: 80, rows: 24 });
    pod.log = 'second\r\n';
    pod.breakConnections();
    await until(() => seen.includes('second'));
    // A reset would undo what attaching did to the person's terminal.
    expect(seen).not.toContain('\x1bc');
  });

  it('is no process of this machine, is interrupted by a key, and is let go without harm to the pod', async () => {
    await host.create('mayor', launch());
    expect(host.inspect('mayor')).toMatchObject({ pid: 0, processNames: [] });
    host.get('mayor').interrupt();
    await until(() => pod.typed === '\x03');
    await host.kill('mayor', 0);
    await until(() => pod.connected === 0);
    expect([pod.state, host.names]).toEqual(['running', []]);
  });

  it('ends with its pod, and its name can be used for the next one', async () => {
    await host.create('mayor', launch());
    pod.print('last words\r\n');
    await until(async () => (await shown()) === 'last words');
    const old = pod.uid;
    pod.uid = 'the next';
    pod.breakConnections();
    await until(() => events.some((event) => event.kind === 'exited'));
    expect(host.inspect('mayor')).toMatchObject({ lastLines: 'last words' });
    await expect(host.get('mayor').input.paste('x')).rejects.toMatchObject({ code: 'session-not-found' });
    await host.kill('mayor', 0);
    await expect(host.create('mayor', launch(old))).rejects.toMatchObject({ code: 'k8s-pod-over' });
    expect(host.names).toEqual([]);
    await host.create('mayor', launch());
    expect(host.inspect('mayor')?.exit).toBeUndefined();
  });
});
