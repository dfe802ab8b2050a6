import { describe, expect, it } from 'vitest';
import { agentNames, cityOf, inCity, pack, sessionNames } from '../testing/scratch-packs.ts';

const RIG = (more = '', name = 'r') => `[[rigs]]\nname = "${name}"\npath = "."\n${more}`;
const OWN = (name: string, more = '') => `[[agent]]\nname = "${name}"\nstart_command = "s"\n${more}`;

describe('implicit agents', () => {
  it('are one per configured provider at the city and in each rig, where nobody has the name', async () => {
    const city = await cityOf(
      `[workspace]\nprovider = "codex"\n[providers.zeta]\ncommand = "z"\n[providers.alpha]\ncommand = "a"\n[providers.claude]\nargs = ["x"]\n[agent_defaults]\ndefault_sling_formula = "mine"\n${RIG()}${OWN('alpha', 'dir = "r"\n')}`,
    );
    expect(city.agents.map(({ qualifiedName }) => qualifiedName)).toEqual([
      'r/alpha',
      'claude',
      'r/claude',
      'codex',
      'r/codex',
      'alpha',
      'zeta',
      'r/zeta',
    ]);
    expect(city.agents[1]).toMatchObject({
      implicit: true,
      provider: 'claude',
      defaultSlingFormula: 'mine',
      minActiveSessions: 0,
      maxActiveSessions: undefined,
      promptTemplate: '',
      source: { file: city.file, line: 7, column: 1 },
    });
    expect((await cityOf('[workspace]\nprovider = "claude"\n')).agents[0]?.defaultSlingFormula).toBe(
      'mol-do-work',
    );
    expect(
      (await cityOf(OWN('a', 'provider = "claude"\n').replace('start_command = "s"\n', ''))).agents,
    ).toHaveLength(1);
  });

  it('work by the prompt of the core pack once that is there', async () => {
    const core = {
      ...pack('.gc/system/packs/core'),
      '.gc/system/packs/core/assets/prompts/pool-worker.md': 'p',
    };
    const city = await cityOf('[workspace]\nprovider = "claude"\n', core);
    expect(inCity(city, [city.agents[0]?.promptTemplate ?? ''])).toEqual([
      '.gc/system/packs/core/assets/prompts/pool-worker.md',
    ]);
  });

  it('formula_v2 adds the dispatcher, kept down, at the city and in each rig', async () => {
    const city = await cityOf(`[daemon]\nformula_v2 = true\n${RIG()}`);
    expect(
      city.agents.map(({ qualifiedName, suspended, maxActiveSessions }) => [
        qualifiedName,
        suspended,
        maxActiveSessions,
      ]),
    ).toEqual([
      ['control-dispatcher', true, 1],
      ['r/control-dispatcher', true, 1],
    ]);
    expect(sessionNames(city)).toEqual(['control-dispatcher always', 'r/control-dispatcher always']);
    const old = await cityOf(`[daemon]\ngraph_workflows = true\n${OWN('control-dispatcher')}`);
    expect([agentNames(old), sessionNames(old)]).toEqual([['control-dispatcher'], []]);
  });
});
