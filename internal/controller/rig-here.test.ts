import { describe, expect, it } from 'vitest';
import { actingFor, actorNow, askedFrom, placeNow } from './acting.ts';
import { rigOfPlace } from './rig-here.ts';

const rig = (name: string, path: string) => ({ name, path });
const city = { rigs: [rig('outer', '/work/outer'), rig('inner', '/work/outer/inner'), rig('all', '/')] };
type Rigs = Parameters<typeof rigOfPlace>[0];
const of = (dir: string, own = '', rigs = city.rigs) =>
  rigOfPlace({ rigs } as unknown as Rigs, { dir, rig: own }, (path) => path.replace(/^\/link/, '/work'));

describe('the rig of a command', () => {
  it('is the innermost in whose folder it runs', () => {
    expect(of('/work/outer/src')).toBe('outer');
    expect(of('/work/outer')).toBe('outer');
    expect(of('/work/outer/inner/x')).toBe('inner');
    expect(of('/link/outer/inner')).toBe('inner');
    expect(of('/elsewhere')).toBe('all');
  });

  it('is never one whose name only begins alike', () => {
    expect(of('/work/outermost', '', [rig('outer', '/work/outer')])).toBe('');
  });

  it('is outside of all folders that of its session, when the city has it', () => {
    const rigs = [rig('outer', '/work/outer')];
    expect(of('/tmp/tree', 'outer', rigs)).toBe('outer');
    expect(of('/tmp/tree', 'gone', rigs)).toBe('');
    expect(of('/work/outer', 'other', [...rigs, rig('other', '/o')])).toBe('outer');
  });
});

describe('what a request is asked with', () => {
  it('lasts as long as its work, for all of it', async () => {
    const place = { dir: '/a', rig: '' };
    const seen = await actingFor('amy', () =>
      askedFrom(place, async () => {
        await Promise.resolve();
        return [actorNow(), placeNow()];
      }),
    );
    expect(seen).toEqual(['amy', place]);
    expect([actorNow(), placeNow()]).toEqual([undefined, undefined]);
  });
});
