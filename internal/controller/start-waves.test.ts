import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { startWaves, stopWaves, type WaveItem, withTransitiveNeeds } from './start-waves.ts';

const item = (template: string, ...dependsOn: string[]): WaveItem => ({
  name: `${template}-1`,
  template,
  dependsOn,
});

describe('startWaves', () => {
  it('puts everything into the first wave in which all it needs came before', () => {
    const { waves, cyclic } = startWaves([item('c', 'b'), item('a'), item('b', 'a'), item('d')]);
    expect(waves).toEqual([['a-1', 'd-1'], ['b-1'], ['c-1']]);
    expect(cyclic).toEqual([]);
  });

  it('takes what is up already, or is nowhere, for no obstacle', () => {
    expect(startWaves([item('b', 'a', 'ghost'), item('a')], new Set(['a'])).waves).toEqual([['b-1', 'a-1']]);
  });

  it('does a ring one by one, at the end', () => {
    const { waves, cyclic } = startWaves([item('a', 'b'), item('b', 'a'), item('c')]);
    expect(waves).toEqual([['c-1'], ['a-1'], ['b-1']]);
    expect(cyclic).toEqual(['a', 'b']);
  });

  it('keeps sessions of one template together', () => {
    const two = [item('a'), { ...item('a'), name: 'a-2' }, item('b', 'a')];
    expect(startWaves(two).waves).toEqual([['a-1', 'a-2'], ['b-1']]);
  });

  it('names everything once, and nothing before what it needs', () => {
    const templates = ['a', 'b', 'c', 'd', 'e', 'f'];
    const acyclic = fc.tuple(
      ...templates.map((template, i) =>
        fc.subarray(templates.slice(0, i)).map((needs) => item(template, ...needs)),
      ),
    );
    fc.assert(
      fc.property(acyclic, (items) => {
        const { waves } = startWaves(items.toReversed());
        const place = new Map(waves.flatMap((wave, at) => wave.map((name) => [name, at] as const)));
        expect(waves.flat().toSorted()).toEqual(items.map((i) => i.name).toSorted());
        for (const { name, dependsOn } of items) {
          for (const need of dependsOn) expect(place.get(`${need}-1`)).toBeLessThan(place.get(name) ?? -1);
        }
      }),
    );
  });
});

describe('stopWaves', () => {
  it('stops dependents first, also through sessions that are not among those to stop', () => {
    const graph = new Map([
      ['a', []],
      ['b', ['a']],
      ['c', ['b']],
    ]);
    expect(stopWaves(withTransitiveNeeds([item('a'), item('c', 'b')], graph))).toEqual([['c-1'], ['a-1']]);
  });
});
