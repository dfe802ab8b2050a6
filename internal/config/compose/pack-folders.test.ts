import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cityOf, imports, inCity, pack } from '../testing/scratch-packs.ts';

const RIG = (more = '', name = 'r') => `[[rigs]]\nname = "${name}"\npath = "."\n${more}`;
const OWN = (name: string, more = '') => `[[agent]]\nname = "${name}"\nstart_command = "s"\n${more}`;
const BOTH = (sources: string) => `[workspace]\nincludes = ${sources}\n`;

describe('folders of the city and its packs', () => {
  it('formulas: packs in their order, the city, then per rig its packs and its own', async () => {
    const city = await cityOf(
      `${BOTH('["p"]')}[formulas]\ndir = "mine"\n${RIG('includes = ["q"]\nformulas_dir = "rf"\n')}`,
      {
        ...pack('p', '[formulas]\ndir = "flows"\n', ['a']),
        'p/flows/x.toml': '',
        ...pack('q'),
        'q/formulas/x.toml': '',
        'mine/x.toml': '',
        'rf/x.toml': '',
        'overlay/x': '',
        'p/overlay/x': '',
      },
    );
    expect(inCity(city, city.layers.formulas.city)).toEqual(['p/flows', 'mine']);
    expect(inCity(city, city.layers.formulas.rigs['r'] ?? [])).toEqual([
      'p/flows',
      'mine',
      'q/formulas',
      'rf',
    ]);
    expect(inCity(city, city.layers.overlays.city)).toEqual(['p/overlay', 'overlay']);
  });

  it('commands: shallow ones first, then by words; of two of one name the first', async () => {
    const city = await cityOf(imports('p', 'p'), {
      ...pack('p', '[[commands]]\nname = "b"\nscript = "late.sh"\n'),
      'p/commands/b/run.sh': '',
      'p/commands/a/command.toml': 'run = "../x.sh"\ndescription = "does"\ncommand = ["z", "y"]\nextra = 1\n',
      'p/commands/x.sh': '',
      'p/commands/deep/down/run.sh': '',
      'p/commands/deep/command.toml': 'run = "missing.sh"\n',
      'p/commands/tpl/command.toml': 'run = "{{.CityRoot}}/x.sh"\n',
      'p/commands/tpl/sub/run.sh': '',
      'p/commands/_off/run.sh': '',
      'p/commands/b/help.md': '',
    });
    expect(
      city.commands.map(({ binding, words, run }) => [binding, words.join(' '), run.replace(city.root, '')]),
    ).toEqual([
      ['p', 'b', '/p/commands/b/run.sh'],
      ['p', 'tpl', '{{.CityRoot}}/x.sh'],
      ['p', 'deep down', '/p/commands/deep/down/run.sh'],
      ['p', 'z y', '/p/commands/x.sh'],
    ]);
    expect(city.commands[0]?.helpFile).toBe(join(city.root, 'p/commands/b/help.md'));
    expect(city.notes.map(({ message }) => message)).toEqual(['unknown key "extra" in command "a"']);
  });

  it('namepools of TOML agents start at the pack', async () => {
    const city = await cityOf(imports('p', 'p'), {
      ...pack('p', OWN('a', 'namepool = "n.txt"\n')),
      'p/n.txt': 'x\n',
      'n.txt': 'y\n',
    });
    expect(city.agents[0]?.namepoolNames).toEqual(['x']);
  });
});
