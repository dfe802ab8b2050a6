import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface CitySize {
  readonly packs: number;
  readonly agents: number;
  readonly rigs: number;
}

/**
 * Writes a city of packs: half of the packs are imported by the city, half by rigs, every fourth imports its
 * neighbour; agents are folders with manifest and prompt, and their prompts call fragments.
 */
export function writeLargeCity(root: string, { packs, agents, rigs }: CitySize): void {
  const put = (name: string, text: string) => {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  };
  const perPack = agents / packs;
  const isOfRig = (pack: number) => pack % 2 === 1;
  for (let pack = 0; pack < packs; pack += 1) {
    const dir = `packs/p${pack}`;
    const neighbour =
      pack % 4 === 0 && pack + 2 < packs ? `[imports.next]\nsource = "../p${pack + 2}"\n` : '';
    put(`${dir}/pack.toml`, `[pack]\nname = "p${pack}"\nschema = 2\n${neighbour}`);
    put(
      `${dir}/template-fragments/f.template.md`,
      `{{ define "frag-${pack}" }}Rule ${pack} for {{ .AgentName }} in {{ .CityRoot }}.{{ end }}\n`,
    );
    for (let index = 0; index < perPack; index += 1) {
      const agent = `${dir}/agents/a${pack}x${index}`;
      put(
        `${agent}/agent.toml`,
        [
          `scope = "${isOfRig(pack) ? 'rig' : 'city'}"`,
          'start_command = "{{.ConfigDir}}/run.sh"',
          'nudge = "look at your hook"',
          'idle_timeout = "1h"',
          'max_active_sessions = 3',
          'pre_start = ["mkdir -p {{.WorkDir}}"]',
          '[env]',
          `ROLE = "worker-${index}"`,
          '',
        ].join('\n'),
      );
      put(
        `${agent}/prompt.template.md`,
        `# {{ basename .AgentName }}\n\nYou work in {{ .CityRoot }}.\n\n{{ template "frag-${pack}" . }}\n\n${'Do one thing well. '.repeat(40)}\n`,
      );
    }
  }
  const imports = range(packs).filter((pack) => !isOfRig(pack));
  const ofRigs = range(packs).filter(isOfRig);
  const sections = imports.map((pack) => `[imports.i${pack}]\nsource = "packs/p${pack}"\n`);
  for (let rig = 0; rig < rigs; rig += 1) {
    mkdirSync(join(root, `rigs/r${rig}`), { recursive: true });
    const own = ofRigs.filter((_, index) => index % rigs === rig);
    sections.push(
      `[[rigs]]\nname = "rig-n${rig}"\npath = "rigs/r${rig}"\nprefix = "q${rig}"\n${own
        .map((pack) => `[rigs.imports.i${pack}]\nsource = "packs/p${pack}"\n`)
        .join('')}`,
    );
  }
  put('city.toml', `[workspace]\nname = "large"\n\n${sections.join('\n')}`);
}

const range = (count: number) => Array.from({ length: count }, (_, index) => index);
