import assert from 'node:assert/strict';
import {
  HarnessSource,
  HarnessState,
  RegisterOutcome,
} from '../../internal/protocol/generated/agentsessions/v1/harness_registry_pb.ts';
import type { RegistryCaller, ServiceCase, ServiceSubject } from './case.ts';
import { freshProject, refused, specOf } from './steps.ts';

const ADDRESS = '127.0.0.1:9';

const freshName = (): string =>
  `h-${freshProject()
    .replaceAll(/[^a-z0-9]/g, '')
    .slice(-24)}`;

const registryOf = (subject: ServiceSubject): RegistryCaller => {
  assert.ok(subject.registry);
  return subject.registry;
};

/** What an operator may tell a host about harnesses. */
export const REGISTRY_CASES: readonly ServiceCase[] = [
  {
    name: 'registering twice is one harness; another spec under its name is refused',
    needs: ['registry'],
    proves: 'a deployment may be repeated, a name is never silently turned over',
    async run(subject) {
      const registry = registryOf(subject);
      const name = freshName();
      const first = await registry.register({ name, spec: specOf(ADDRESS) });
      assert.equal(first.outcome, RegisterOutcome.CREATED);
      assert.match(first.harness?.metadata?.uid ?? '', /^harness-[0-9a-f]{24}$/);
      assert.match(first.harness?.specDigest ?? '', /^sha256:[0-9a-f]{64}$/);
      const second = await registry.register({ name, spec: specOf(ADDRESS) });
      assert.equal(second.outcome, RegisterOutcome.UNCHANGED);
      assert.equal(second.harness?.metadata?.uid, first.harness?.metadata?.uid);
      await refused(
        registry.register({ name, spec: specOf('127.0.0.1:10') }),
        'ALREADY_EXISTS',
        'another spec',
      );
      await registry.retire({ name, reason: 'over' });
    },
  },
  {
    name: 'the digest of a spec is that of its canonical form',
    needs: ['registry'],
    proves: 'two hosts agree whether two specs are the same',
    async run(subject) {
      const registry = registryOf(subject);
      const name = freshName();
      const spec = { ...specOf('127.0.0.1:9000'), descriptorId: 'echo' };
      const { harness } = await registry.register({ name, spec });
      await registry.retire({ name, reason: 'over' });
      assert.equal(
        harness?.specDigest,
        'sha256:f0c96c8b67d5dc75be557f64ccd59496eaf9cfb102754ee54e9d4c571eb2eafc',
      );
    },
  },
  {
    name: 'names and specs that make no sense are refused',
    needs: ['registry'],
    proves: 'nothing half-made is stored',
    async run(subject) {
      const registry = registryOf(subject);
      for (const name of ['', 'Upper', '-x', 'x-', 'a'.repeat(64), 'a.b', 'ä']) {
        await refused(
          registry.register({ name, spec: specOf(ADDRESS) }),
          'INVALID_ARGUMENT',
          `name ${JSON.stringify(name)}`,
        );
      }
      const name = freshName();
      await refused(registry.register({ name }), 'INVALID_ARGUMENT', 'no spec');
      await refused(registry.register({ name, spec: specOf('') }), 'INVALID_ARGUMENT', 'no address');
      await refused(
        registry.register({ name, spec: { ...specOf(ADDRESS), capabilities: {} } }),
        'INVALID_ARGUMENT',
        'no resumability',
      );
      await refused(
        registry.register({ name, spec: specOf(`127.0.0.1:9/${'a'.repeat(5_000)}`) }),
        ['INVALID_ARGUMENT', 'FAILED_PRECONDITION'],
        'a spec that is too long',
      );
      await refused(registry.get({ name }), 'NOT_FOUND', 'what was never stored');
    },
  },
  {
    name: 'names of built-in harnesses cannot be taken or retired',
    needs: ['registry'],
    proves: 'echo stays echo',
    async run(subject) {
      const registry = registryOf(subject);
      await refused(registry.register({ name: 'echo', spec: specOf(ADDRESS) }), 'ALREADY_EXISTS', 'echo');
      await refused(registry.retire({ name: 'echo' }), 'FAILED_PRECONDITION', 'retiring echo');
      const echo = await registry.get({ name: 'echo' });
      assert.deepEqual([echo.source, echo.state], [HarnessSource.STATIC, HarnessState.ACTIVE]);
    },
  },
  {
    name: 'a retired harness takes no new sessions, keeps the old ones, and comes back',
    needs: ['registry'],
    proves: 'a harness can be phased out without cutting anybody off',
    async run(subject) {
      const registry = registryOf(subject);
      const name = freshName();
      const { harness } = await registry.register({ name, spec: specOf(ADDRESS) });
      const project = freshProject();
      const session = await subject.sessions.create({ session: { metadata: { project }, harness: name } });
      const retired = await registry.retire({ name, reason: 'old' });
      assert.deepEqual([retired.state, retired.retireReason], [HarnessState.RETIRED, 'old']);
      assert.equal(
        (await registry.retire({ name, reason: 'older' })).retireReason,
        'old',
        'the first reason stays',
      );
      await refused(
        subject.sessions.create({ session: { metadata: { project }, harness: name } }),
        'FAILED_PRECONDITION',
        'a new session',
      );
      assert.equal(
        (await subject.sessions.suspend(session.metadata?.uid ?? '')).lastSeq,
        1n,
        'an old session goes on',
      );
      const back = await registry.register({ name, spec: specOf(ADDRESS) });
      assert.equal(back.outcome, RegisterOutcome.REACTIVATED);
      assert.equal(back.harness?.metadata?.uid, harness?.metadata?.uid);
      await registry.retire({ name, reason: 'over' });
      await refused(registry.retire({ name: freshName() }), 'NOT_FOUND', 'an unknown name');
      await refused(
        registry.retire({ name, reason: 'x'.repeat(1_025) }),
        'INVALID_ARGUMENT',
        'a reason that is too long',
      );
    },
  },
  {
    name: 'lists go by name, in pages, with the built-in ones and without the retired',
    needs: ['registry'],
    proves: 'an operator sees what is served',
    async run(subject) {
      const registry = registryOf(subject);
      const names = [freshName(), freshName()];
      for (const name of names) await registry.register({ name, spec: specOf(ADDRESS) });
      await registry.retire({ name: names[1] ?? '', reason: 'over' });
      const all = async (includeRetired: boolean): Promise<string[]> => {
        const seen: string[] = [];
        let pageToken = '';
        do {
          const page = await registry.list({ pageSize: 1, pageToken, includeRetired });
          seen.push(...page.harnesses.map(({ metadata }) => metadata?.name ?? ''));
          pageToken = page.nextPageToken;
        } while (pageToken !== '');
        return seen;
      };
      const active = await all(false);
      assert.ok(active.includes('echo') && active.includes(names[0] ?? ''));
      assert.ok(!active.includes(names[1] ?? ''));
      assert.ok((await all(true)).includes(names[1] ?? ''));
      assert.deepEqual(active, [...active].sort());
      await refused(registry.list({ pageSize: -1 }), 'INVALID_ARGUMENT', 'a size below 0');
      await refused(registry.list({ pageToken: '!' }), 'INVALID_ARGUMENT', 'a token that is none');
      await registry.retire({ name: names[0] ?? '', reason: 'over' });
    },
  },
  {
    name: 'observing tells what answers at the address, or why nothing does',
    needs: ['registry'],
    proves: 'a wrong address is seen before it is used',
    async run(subject) {
      const registry = registryOf(subject);
      const peer = await subject.servePeer?.();
      assert.ok(peer);
      const name = freshName();
      try {
        peer.describe({ id: 'conformance-peer', version: '7', capabilities: { resumability: 1 } });
        await registry.register({ name, spec: specOf(peer.address) });
        assert.equal((await registry.get({ name, observe: true })).observed?.version, '7');
      } finally {
        await peer.close();
      }
      const gone = await registry.get({ name, observe: true });
      assert.equal(gone.observed, undefined);
      assert.notEqual(gone.observeError, '');
      await registry.retire({ name, reason: 'over' });
    },
  },
];
