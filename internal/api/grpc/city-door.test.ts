import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sessionsSocketPath } from '../../controller/control-socket-client.ts';
import { systemClock } from '../../platform/clock.ts';
import { systemIds } from '../../platform/ids.ts';
import { textMessage } from '../../protocol/events.ts';
import {
  CreateSessionRequestSchema,
  ExecRequestSchema,
  ListSessionsRequestSchema,
} from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { create } from '../../protocol/protobuf.ts';
import { type CityDoor, type CitySessionsPlan, openCityDoor } from './city-door.ts';
import { connectRegistry, connectSessions } from './connect-sessions.ts';
import { bindListener } from './listener.ts';
import { eventually, LOOPBACK, recordingLog } from './testing/serving.ts';

const never = new AbortController().signal;
const env = { GC_HOME: '/tmp/gc-none' };
let dir: string;
let root: string;
let printed: string[];
const closing: (() => unknown)[] = [];

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'gc-door-')));
  root = join(dir, 'city');
  mkdirSync(join(root, '.gc'), { recursive: true, mode: 0o700 });
  printed = [];
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  rmSync(dir, { recursive: true });
});

async function open(plan: Partial<CitySessionsPlan> = {}): Promise<CityDoor> {
  const door = await openCityDoor({
    root,
    env,
    plan: { project: 'bright-lights', ...plan },
    clock: systemClock,
    ids: systemIds,
    log: recordingLog(),
    print: (line) => printed.push(line),
  });
  closing.push(() => door.close());
  return door;
}

function client(address: Parameters<typeof connectSessions>[0], token?: string) {
  const sessions = connectSessions(address, {
    clock: systemClock,
    cwd: '/',
    ...(token === undefined ? {} : { token }),
  });
  closing.push(() => sessions.close());
  return sessions;
}

describe('the sessions of a running city', () => {
  it('are served on an owner-only socket, in the project of the city, and turns run there', async () => {
    await open();
    const path = sessionsSocketPath(root, env);
    expect(path).toBe(join(root, '.gc', 'sessions.sock'));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const sessions = client(`unix:${path}`);
    const made = await sessions.createSession(create(CreateSessionRequestSchema, {}), never);
    expect(made.metadata?.project).toBe('bright-lights');
    const request = create(ExecRequestSchema, {
      session: made.metadata?.uid ?? '',
      inputs: [textMessage('user', 'hi')],
    });
    const kinds = [];
    for await (const { update } of sessions.exec(request, never)) kinds.push(update.case);
    expect(kinds).toEqual(['session', 'record', 'record', 'record', 'record', 'record']);
    const { sessions: listed } = await sessions.listSessions(create(ListSessionsRequestSchema), never);
    expect(listed.map(({ lastSeq }) => lastSeq)).toEqual([5n]);
  });

  it('cost nothing until somebody comes: no logs are opened, the RPC library is not loaded', async () => {
    await open();
    expect(existsSync(join(root, '.gc', 'sessions.db'))).toBe(false);
    const script = `
      import { openCityDoor } from '${join(import.meta.dirname, 'city-door.ts')}';
      console.log(typeof openCityDoor, process.moduleLoadList.filter((each) => /http2|sqlite/.test(each)).length);`;
    const out = execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    expect(out.trim()).toBe('function 0');
  });

  it('are served on a port too when the config says so, there with the token', async () => {
    const door = await open({ grpc: '127.0.0.1:0', registry: '127.0.0.1:0', token: 'sesame' });
    const [, grpc, registry] = door.addresses;
    if (!grpc || !registry) throw new Error('not bound');
    await expect(client(grpc).listSessions(create(ListSessionsRequestSchema), never)).rejects.toMatchObject({
      code: 'sessions-unauthenticated',
      next: expect.stringContaining('GC_SERVE_TOKEN'),
    });
    const { sessions } = await client(grpc, 'sesame').listSessions(create(ListSessionsRequestSchema), never);
    expect(sessions).toEqual([]);
    const operator = connectRegistry(registry, { clock: systemClock, cwd: '/' });
    closing.push(() => operator.close());
    const { harnesses } = await operator.listHarnesses({ pageSize: 0 } as never, never);
    expect(harnesses.map(({ metadata }) => metadata?.name)).toContain('echo');
    await expect(
      client(registry).listSessions(create(ListSessionsRequestSchema), never),
    ).rejects.toMatchObject({ status: 'UNIMPLEMENTED' });
  });

  it('an address that is taken, or not allowed, is told; the rest is served', async () => {
    const taken = await bindListener(LOOPBACK, systemIds);
    closing.push(() => taken.close());
    if (taken.address.kind !== 'tcp') throw new Error('no port');
    const door = await open({ grpc: `127.0.0.1:${taken.address.port}`, registry: '0.0.0.0:0' });
    expect(door.addresses).toHaveLength(1);
    expect(printed).toEqual([
      expect.stringContaining('something else listens there'),
      expect.stringContaining('loopback addresses only'),
    ]);
    const { sessions } = await client(`unix:${sessionsSocketPath(root, env)}`).listSessions(
      create(ListSessionsRequestSchema),
      never,
    );
    expect(sessions).toEqual([]);
  });

  it('end with the city, whoever is connected, and the socket goes', async () => {
    const door = await open();
    const path = sessionsSocketPath(root, env);
    const silent = connect({ path });
    silent.on('error', () => undefined);
    await new Promise((resolve) => silent.once('connect', resolve));
    const sessions = client(`unix:${path}`);
    await sessions.listSessions(create(ListSessionsRequestSchema), never);
    const gone = new Promise((resolve) => silent.once('close', resolve));
    await door.close();
    await gone;
    expect(existsSync(path)).toBe(false);
    await expect(sessions.listSessions(create(ListSessionsRequestSchema), never)).rejects.toMatchObject({
      status: 'UNAVAILABLE',
    });
  });

  it('logs that cannot be opened close the connection, and the next caller tries again', async () => {
    await open();
    const path = sessionsSocketPath(root, env);
    mkdirSync(join(root, '.gc', 'sessions.db'));
    const sessions = client(`unix:${path}`);
    await expect(sessions.listSessions(create(ListSessionsRequestSchema), never)).rejects.toMatchObject({
      status: expect.stringMatching(/UNAVAILABLE|INTERNAL|CANCELLED|ABORTED/),
    });
    rmSync(join(root, '.gc', 'sessions.db'), { recursive: true });
    let listed: unknown;
    await eventually(() => {
      sessions.listSessions(create(ListSessionsRequestSchema), never).then(
        ({ sessions: all }) => {
          listed = all;
        },
        () => undefined,
      );
      return listed !== undefined;
    }, 'it is served');
  });
});
