import {
  type Answer,
  type ScriptedConnection,
  type ScriptedServer,
  scriptedServer,
} from '../../channel/testing/scripted-channels.ts';

export type FakePodState = 'running' | 'waiting' | 'ended' | 'gone';

/** One pod with a terminal: what it prints goes to its log and to whoever is attached. */
export class FakePod {
  readonly name: string;
  uid: string;
  state: FakePodState = 'running';
  log = '';
  /** A log that is refused. */
  logStatus = 200;
  readonly attached: ScriptedConnection[] = [];

  constructor(name: string) {
    this.name = name;
    this.uid = `uid-of-${name}`;
  }

  print(text: string): void {
    this.log += text;
    for (const { socket, say } of this.attached) if (socket.readyState === socket.OPEN) say(1, text);
  }

  /** Everything that was typed, over all connections. */
  get typed(): string {
    return this.#received(0).join('');
  }

  get sizes(): readonly string[] {
    return this.#received(4);
  }

  get connected(): number {
    return this.attached.filter(({ socket }) => socket.readyState === socket.OPEN).length;
  }

  breakConnections(): void {
    for (const { socket } of this.attached) socket.terminate();
  }

  #received(channel: number): string[] {
    return this.attached.flatMap(({ received }) =>
      received.filter((each) => each.channel === channel).map((each) => each.bytes.toString('utf8')),
    );
  }
}

/** A cluster of such pods, by their name; namespace and container are not looked at. */
export function fakeCluster(pods: ReadonlyMap<string, FakePod>): Promise<ScriptedServer> {
  const podIn = (url: URL) => pods.get(url.pathname.split('/')[6] ?? '');
  return scriptedServer((connection) => podIn(connection.url)?.attached.push(connection), {
    answer: (url) => {
      const pod = podIn(url);
      if (!pod || pod.state === 'gone') return { status: 404, body: '{"message":"pods not found"}' };
      if (url.pathname.endsWith('/log')) return { status: pod.logStatus, body: pod.log };
      return described(pod);
    },
  });
}

function described({ name, uid, state }: FakePod): Answer {
  const states = {
    running: { running: {} },
    waiting: { waiting: { reason: 'ContainerCreating' } },
    ended: { terminated: { exitCode: 0 } },
    gone: {},
  };
  const status = { phase: 'Running', containerStatuses: [{ name: 'agent', state: states[state] }] };
  return { status: 200, body: JSON.stringify({ metadata: { name, uid }, status }) };
}
