import { describe, expect, it } from 'vitest';
import { cityOf, imports, pack } from '../testing/scratch-packs.ts';

const RIG = (more = '', name = 'r') => `[[rigs]]\nname = "${name}"\npath = "."\n${more}`;
const OWN = (name: string, more = '') => `[[agent]]\nname = "${name}"\nstart_command = "s"\n${more}`;
const BOTH = (sources: string) => `[workspace]\nincludes = ${sources}\n`;

describe('system packs', () => {
  const system = (name: string, manifest = '') => pack(`.gc/system/packs/${name}`, manifest);
  const ALL = {
    ...system('core'),
    ...system('maintenance'),
    ...system('bd', imports('dolt', '../dolt', 'export = true\n')),
    ...system('dolt'),
  };
  const names = (city: { packs: readonly { name: string; via: string }[] }) =>
    city.packs.map(({ name, via }) => `${name} ${via}`);

  it('come after includes, as far as they are wanted and written out', async () => {
    expect(names(await cityOf(OWN('a')))).toEqual([]);
    expect(names(await cityOf(OWN('a'), ALL))).toEqual(['core system', 'maintenance system']);
    const bd = ['core system', 'maintenance system', 'dolt import', 'bd system'];
    expect(names(await cityOf(OWN('a'), ALL, { GC_BEADS: 'bd' }))).toEqual(bd);
    expect(names(await cityOf(`[beads]\nprovider = "bd"\n${OWN('a')}`, ALL))).toEqual(bd);
    expect(names(await cityOf(`[beads]\nprovider = "bd"\n${OWN('a')}`, ALL, { GC_BEADS: 'file' }))).toEqual(
      bd.slice(0, 2),
    );
    expect(names(await cityOf(OWN('a'), ALL, { GC_BEADS: 'exec:/x/gc-beads-bd.sh' }))).toEqual([
      ...bd.slice(0, 2),
      'dolt system',
    ]);
  });

  it('give way to a pack of their name that the city reaches, not to one of a rig', async () => {
    const files = {
      ...ALL,
      ...pack('mine', imports('m', '../other/maintenance')),
      ...pack('other/maintenance'),
    };
    expect(names(await cityOf(imports('x', 'mine'), files))).toEqual([
      'core system',
      'maintenance import',
      'mine import',
    ]);
    expect(names(await cityOf(BOTH('["mine"]'), files))).toEqual([
      'maintenance import',
      'mine include',
      'core system',
    ]);
    expect(names(await cityOf(RIG('includes = ["mine"]\n'), files))).toEqual([
      'core system',
      'maintenance system',
      'maintenance import',
      'mine include',
    ]);
  });
});
