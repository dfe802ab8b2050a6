import { describe, expect, it } from 'vitest';
import { type CityHolder, clusterCityId } from './cluster-city-id.ts';

const machine = (identity: string): CityHolder => ({ kind: 'machine', identity });
const lease = (namespace: string, name: string): CityHolder => ({ kind: 'lease', namespace, name });

describe('the mark of a city on its pods', () => {
  it('is a label value, and the same again for the same folder and holder', () => {
    const id = clusterCityId('/city', machine('a'));
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    expect(clusterCityId('/city', machine('a'))).toBe(id);
    expect(clusterCityId('/city', lease('gc', 'l'))).toBe(clusterCityId('/city', lease('gc', 'l')));
  });

  it('differs where another folder, machine, lease or namespace is meant', () => {
    const ids = [
      clusterCityId('/city', machine('a')),
      clusterCityId('/city', machine('b')),
      clusterCityId('/other', machine('a')),
      clusterCityId('/city', lease('gc', 'a')),
      clusterCityId('/city', lease('gc', 'b')),
      clusterCityId('/city', lease('other', 'a')),
      clusterCityId('/other', lease('gc', 'a')),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });
});
