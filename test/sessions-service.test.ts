import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cutLogFile } from '../cmd/gc/conformance/cut-log.ts';
import { type OwnService, openOwnService } from '../cmd/gc/conformance/own-service.ts';
import { registryCaller, scriptedPeer, sessionsCaller } from '../cmd/gc/conformance/service-subject.ts';
import {
  runServiceCase,
  type ServiceCase,
  type ServiceSubject,
} from '../conformance/sessions-service/case.ts';
import { hangs, speaks } from '../conformance/sessions-service/peer-scripts.ts';
import { logOf, say, textsOf, withPeer } from '../conformance/sessions-service/steps.ts';
import { SERVICE_CASES } from '../conformance/sessions-service/suite.ts';
import { systemClock } from '../internal/platform/clock.ts';
import { sleepers } from './support/cities.ts';
import { until, World } from './support/program.ts';
import { ServedProgram, startEchoingModel } from './support/served.ts';
import { SERVICE_MUTANTS } from './support/service-mutants.ts';

const NEVER = new AbortController().signal;
const cutsLogs = ({ needs }: ServiceCase): boolean => needs.includes('journal');

function caseOf(start: string): ServiceCase {
  const found = SERVICE_CASES.find(({ name }) => name.startsWith(start));
  if (!found) throw new Error(`no case begins with "${start}"`);
  return found;
}

async function holds(each: ServiceCase, subject: ServiceSubject): Promise<void> {
  const outcome = await runServiceCase(each, subject);
  if (outcome.kind === 'passed') return;
  throw new Error(outcome.kind === 'failed' ? outcome.reason : `missing ${outcome.missing.join(', ')}`);
}

describe('our service over gRPC', () => {
  it('has no two cases of one name', () => {
    const names = SERVICE_CASES.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  describe('while it runs', () => {
    let own: OwnService;
    beforeAll(async () => {
      own = await openOwnService(systemClock, NEVER);
    });
    afterAll(() => own.close());
    for (const each of SERVICE_CASES.filter((found) => !cutsLogs(found)))
      it.concurrent(each.name, () => holds(each, own.subject));
  });

  describe('after crashes', () => {
    let own: OwnService;
    beforeAll(async () => {
      own = await openOwnService(systemClock, NEVER);
    });
    afterAll(() => own.close());
    for (const each of SERVICE_CASES.filter(cutsLogs)) it(each.name, () => holds(each, own.subject));
  });
});

describe('the suite', () => {
  let own: OwnService;
  beforeAll(async () => {
    own = await openOwnService(systemClock, NEVER);
  });
  afterAll(() => own.close());

  for (const { name, caughtBy, change } of SERVICE_MUTANTS) {
    it(`catches a service that ${name}`, async () => {
      const host = own.host();
      const wrong = { ...host, ...change(host) };
      const subject = { ...own.subject, sessions: sessionsCaller(() => wrong, NEVER) };
      const outcome = await runServiceCase(caseOf(caughtBy), subject);
      expect(outcome.kind, caughtBy).toBe('failed');
    });
  }
});

/** One of each kind: what the transport, the process and the file add to the service is what is tried here. */
const OF_A_PROCESS = [
  'an echo turn is five records',
  'a stale expectation loses',
  'Replay gives the same bytes',
  'a fork shares the prefix',
  'a registered harness runs turns',
  'a denial is a receipt',
  'a client that goes away',
  'a question outlives the server',
  'a fork of a turn that was cut',
  'a finished log is the same after a restart',
];

describe('gc serve, killed and started again', () => {
  let world: World;
  let model: Awaited<ReturnType<typeof startEchoingModel>>;
  let served: ServedProgram;
  let subject: ServiceSubject;
  beforeAll(async () => {
    world = new World();
    model = await startEchoingModel();
    served = new ServedProgram(world, ['--model=m', `--model-base-url=${model.url}`]);
    await served.start();
    subject = {
      echoes: true,
      sessions: sessionsCaller(served.sessions, NEVER),
      registry: registryCaller(served.registry, NEVER),
      servePeer: () => scriptedPeer(systemClock),
      async cutLog(uid, keep) {
        await served.kill();
        cutLogFile(served.file, uid, keep);
        await served.start();
      },
    };
  });
  afterAll(async () => {
    await served.kill();
    await model.close();
    await world.dispose();
  });

  for (const name of OF_A_PROCESS) {
    const each = caseOf(name);
    it(each.name, () => holds(each, subject));
  }

  it('tells a client that it is gone, whose turn is then gone on with', async () => {
    await withPeer(subject, hangs, async ({ uid, peer }) => {
      let began: () => void = () => undefined;
      const started = new Promise<void>((resolve) => {
        began = resolve;
      });
      const turn = subject.sessions.exec(
        { session: uid, inputs: [say('go')] },
        { seen: ({ update }) => update.case === 'record' && update.value.seq === 2n && began() },
      );
      await started;
      await served.kill();
      expect((await turn).failure).toMatchObject({ status: 'UNAVAILABLE' });
      await served.start();
      peer.play(speaks('here again'));
      await subject.sessions.resume(uid);
      expect(textsOf(await logOf(subject.sessions, uid))).toEqual(['here again']);
    });
  });
});

describe('gc sessions in a city', () => {
  it('uses the city that runs, and the logs of one that does not', async () => {
    const world = new World();
    try {
      const city = world.city('own', { 'city.yaml': sleepers(1) });
      await world.ok(['start'], { cwd: city });
      const uid = (await world.ok(['sessions', 'create', '--name', 'mine'], { cwd: city })).trim();
      expect(await world.ok(['sessions', 'exec', uid, 'hi'], { cwd: city })).toContain(
        'assistant: echo:hi\n',
      );
      const own = await until('the log of the agent', async () => {
        const listed = await world.ok(['sessions', 'list'], { cwd: city });
        return /^(sess-\S+)\t.*harness=gascity\tname=a1$/m.exec(listed)?.[1];
      });
      const refused = await world.gc(['sessions', 'exec', own, 'hi'], { cwd: city });
      expect([refused.code, refused.stdout]).toEqual([1, '']);
      expect(refused.stderr).toContain('gc nudge');
      await world.ok(['stop'], { cwd: city });
      expect(await world.ok(['sessions', 'list'], { cwd: city })).toMatch(/name=mine$/m);
      expect(await world.ok(['sessions', 'verify', own], { cwd: city })).toContain('  ok  ');
    } finally {
      await world.dispose();
    }
  });
});
