import { describe, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { FakeProvider } from '../fake.ts';
import { type Provider, unseenAnswer } from '../provider.ts';
import { EMPTY_RUNTIME_CONFIG } from '../runtime-config.ts';
import { HybridProvider } from './hybrid-provider.ts';

function bench(remoteMatch = 'polecat') {
  const local = new FakeProvider(systemClock, 'tmux');
  const remote = new FakeProvider(systemClock, 'k8s');
  return {
    local,
    remote,
    hybrid: new HybridProvider({ local, remote, remoteMatch, clock: systemClock }),
  };
}

const start = (provider: Provider, name: string) =>
  provider.start(name, EMPTY_RUNTIME_CONFIG, { signal: new AbortController().signal });

describe('a session of a hybrid city', () => {
  it('is remote when its name contains the pattern, as it is written', async () => {
    const { hybrid, local, remote } = bench('p-l');
    for (const name of ['mayor', 'rig-p-l-1', 'rig-pol-2']) await start(hybrid, name);
    expect([...remote.sessions.keys()]).toEqual(['rig-p-l-1']);
    expect([...local.sessions.keys()]).toEqual(['mayor', 'rig-pol-2']);
  });

  it('is local without a pattern', async () => {
    const { hybrid, remote } = bench('');
    await start(hybrid, 'polecat-1');
    expect(remote.sessions.size).toBe(0);
  });

  it('is found and ended where it is, after the pattern changed', async () => {
    const { local, remote } = bench();
    await start(remote, 'worker-1');
    const hybrid = new HybridProvider({ local, remote, remoteMatch: '', clock: systemClock });
    expect(await hybrid.isRunning('worker-1')).toBe('yes');
    await expect(start(hybrid, 'worker-1')).rejects.toMatchObject({ code: 'session-exists' });
    await hybrid.stop('worker-1');
    expect(remote.sessions.size).toBe(0);
  });
});

describe('when the cluster cannot be asked', () => {
  it('a list is no list of all, and only remote sessions are unknown', async () => {
    const { hybrid, remote } = bench();
    await start(hybrid, 'mayor');
    await start(hybrid, 'polecat-1');
    remote.broken = true;
    await expect(hybrid.listRunning('')).rejects.toThrow(
      'k8s backend: session unavailable (local results included)',
    );
    const survey = await hybrid.observe();
    if (survey.kind !== 'seen') throw new Error(survey.kind);
    expect(survey.sessions.get('mayor')?.liveness.kind).toBe('running');
    expect(unseenAnswer(survey, 'polecat-1')?.kind).toBe('unknown');
    expect(unseenAnswer(survey, 'polecat-9')?.kind).toBe('unknown');
    expect(unseenAnswer(survey, 'deputy')).toBeUndefined();
    expect([await hybrid.isRunning('mayor'), await hybrid.isRunning('polecat-1')]).toEqual([
      'yes',
      'unknown',
    ]);
    expect(await hybrid.isRunning('deputy')).toBe('no');
    await expect(hybrid.stop('polecat-1')).rejects.toMatchObject({ code: 'runtime-unavailable' });
    await hybrid.stop('mayor');
  });
});

describe('what a hybrid city can do', () => {
  it('is what both can, and what one of them measures', async () => {
    const { hybrid, remote } = bench();
    remote.capabilities = () => ({ canReportAttachment: false, canReportActivity: true });
    expect(hybrid.capabilities()).toEqual({ canReportAttachment: false, canReportActivity: true });
    const used = { memoryBytes: 5, cpuMs: undefined, cpuShare: 0.5 };
    Object.assign(remote, { usage: async () => new Map([['polecat-1', used]]) });
    expect(await hybrid.usage()).toEqual(new Map([['polecat-1', used]]));
    const failing = async () => Promise.reject(new Error('no metrics'));
    Object.assign(remote, { usage: failing, checkImage: failing });
    await expect(hybrid.usage()).rejects.toThrow('no metrics');
    await expect(hybrid.checkImage('agent:1')).rejects.toThrow('no metrics');
  });
});
