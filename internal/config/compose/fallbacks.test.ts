import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentNames, cityOf, imports, pack, problemsOf } from '../testing/scratch-packs.ts';

const RIG = (more = '', name = 'r') => `[[rigs]]\nname = "${name}"\npath = "."\n${more}`;
const OWN = (name: string, more = '') => `[[agent]]\nname = "${name}"\nstart_command = "s"\n${more}`;
const SESSION = (template: string, more = '') => `[[named_session]]\ntemplate = "${template}"\n${more}`;
const BOTH = (sources: string) => `[workspace]\nincludes = ${sources}\n`;

describe('fallback agents and duplicates', () => {
  const dog = (dir: string, fallback: boolean) => ({
    ...pack(dir),
    [`${dir}/agents/dog/agent.toml`]: `start_command = "${dir}"\n${fallback ? 'fallback = true\n' : ''}`,
  });
  const commands = async (file: string) =>
    (await cityOf(file, { ...dog('one', true), ...dog('two', true), ...dog('real', false) })).agents.map(
      ({ qualifiedName, startCommand }) => `${qualifiedName}=${startCommand}`,
    );

  it('a fallback gives way to another of its qualified name, the first of several stays', async () => {
    expect(await commands(BOTH('["one", "real"]'))).toEqual(['dog=real']);
    expect(await commands(BOTH('["real", "one"]'))).toEqual(['dog=real']);
    expect(await commands(BOTH('["two", "one"]'))).toEqual(['dog=two']);
    expect(await commands(`${BOTH('["one"]')}${OWN('dog')}`)).toEqual(['dog=s']);
    expect(await commands(`${RIG('includes = ["one"]\n')}${OWN('dog', 'dir = "r"\n')}`)).toEqual(['r/dog=s']);
    expect(await commands(`${BOTH('["one"]')}${imports('b', 'real')}`)).toEqual(['dog=one', 'b.dog=real']);
  });

  it('two that both mean it are an error, told once', async () => {
    const files = { ...dog('one', false), ...dog('two', false) };
    const named = SESSION('dog');
    expect(await problemsOf(`${BOTH('["one", "two"]')}${named}`, files)).toEqual([
      'two/agents/dog/agent.toml:1:1 duplicate-agent: city: packs define duplicate agent "dog": one, two',
    ]);
    expect(await problemsOf(RIG('includes = ["one", "two"]\n'), files)).toEqual([
      'two/agents/dog/agent.toml:1:1 duplicate-agent: rig: packs define duplicate agent "r/dog": one, two',
    ]);
    expect(await problemsOf(`${BOTH('["one"]')}${OWN('dog')}`, files)).toEqual([
      'city.toml:4:8 duplicate-agent: agent "dog": duplicate name (from "one/agents/dog/agent.toml:1:1" and "city.toml:4:8")',
    ]);
    expect(await problemsOf(imports('p', 'p'), pack('p', OWN('a') + OWN('a')))).toEqual([
      'p/pack.toml:8:8 duplicate-agent: agent "p.a": duplicate name (from "p/pack.toml:5:8" and "p/pack.toml:8:8")',
    ]);
  });

  it('an agent of the city beside an imported one of its name is told, unless that is meant', async () => {
    const file = (more: string) => `${OWN('a')}${imports('b', 'p', more)}`;
    expect(await problemsOf(file(''), pack('p', '', ['a']))).toEqual([
      'city.toml:2:8 shadowed-agent: city agent "a" shadows agent of the same name from import "b"',
    ]);
    const silent = await cityOf(file('shadow = "silent"\n'), pack('p', '', ['a']));
    expect([agentNames(silent), silent.warnings]).toEqual([['b.a', 'a'], []]);
  });

  it('a table of a pack stands over a folder of its name, which lends it the prompt', async () => {
    const city = await cityOf(imports('p', 'p'), {
      ...pack('p', OWN('a', 'nudge = "table"\n'), ['b']),
      'p/agents/a/agent.toml': 'nudge = "folder"\n',
      'p/agents/a/prompt.md': '',
    });
    expect(city.agents.map(({ qualifiedName, nudge }) => [qualifiedName, nudge])).toEqual([
      ['p.a', 'table'],
      ['p.b', ''],
    ]);
    expect(city.agents[0]?.promptTemplate).toBe(join(city.root, 'p/agents/a/prompt.md'));
  });
});
