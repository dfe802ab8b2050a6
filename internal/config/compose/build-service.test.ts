import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cityOf, imports, pack, problemsOf } from '../testing/scratch-packs.ts';

describe('services', () => {
  const service = (name: string, more = '') =>
    `[[service]]\nname = "${name}"\n${more}[service.workflow]\ncontract = "gc.healthz.v1"\n`;

  it('come from packs with their folder; names and state are their own', async () => {
    const city = await cityOf(
      `${imports('p', 'p')}${service('own', 'publish_mode = "direct"\n')}`,
      pack('p', service('s')),
    );
    expect(
      city.services.map(({ name, sourceDir, stateRoot, publication }) => [
        name,
        sourceDir,
        stateRoot,
        publication.visibility,
      ]),
    ).toEqual([
      ['own', city.root, '.gc/services/own', 'public'],
      ['s', join(city.root, 'p'), '.gc/services/s', 'private'],
    ]);
    expect(await problemsOf(imports('p', 'p'), pack('p', service('s', 'publish_mode = "direct"\n')))).toEqual(
      ['p/pack.toml:6:16 service-direct: service "s": packs may not set publish_mode=direct'],
    );
    expect(
      await problemsOf(imports('p', 'p') + imports('q', 'q'), {
        ...pack('p', service('s')),
        ...pack('q', service('s')),
      }),
    ).toEqual(['q/pack.toml:5:8 duplicate-service: service "s": duplicate name (from "p" and "q")']);
  });

  it.each([
    ['state_root = "x"\n', '3:14 bad-value: service "s": state_root "x" is not below .gc/services/'],
    [
      'state_root = ".gc/services/../x"\n',
      '3:14 bad-value: service "s": state_root ".gc/services/../x" is not below .gc/services/',
    ],
    [
      'state_root = ".gc/services/"\n',
      '3:14 bad-value: service "s": state_root ".gc/services/" is not below .gc/services/',
    ],
    ['kind = "proxy_process"\n', '3:8 missing-key: service "s": a proxy_process needs process.command'],
    [
      'publish_mode = "direct"\npublication = { visibility = "private" }\n',
      '4:30 bad-value: service "s": publish_mode "direct" is public',
    ],
    [
      'publication = { hostname = "a.b" }\n',
      '3:28 bad-value: service[0].publication.hostname (s) is not a DNS label',
    ],
  ])('%j is refused', async (more, expected) => {
    expect(await problemsOf(service('s', more))).toEqual([`city.toml:${expected}`]);
  });

  it('a state_root is shared within one pack only; contracts are known ones', async () => {
    const at = (name: string) => service(name, 'state_root = ".gc/services/x"\n');
    const both = { ...pack('p', at('a') + at('b')), ...pack('q', at('c')) };
    expect((await cityOf(imports('p', 'p'), both)).services).toHaveLength(2);
    expect(await problemsOf(imports('p', 'p') + imports('q', 'q'), both)).toEqual([
      'q/pack.toml:6:14 bad-value: service "c": state_root ".gc/services/x" is the one of service "b" of another pack',
    ]);
    expect(
      await problemsOf(
        '[[service]]\nname = "s"\n[service.workflow]\ncontract = "x"\n[[service]]\nname = "t"\n',
      ),
    ).toEqual([
      'city.toml:4:12 bad-value: service "s": unknown contract "x"',
      'city.toml:5:3 missing-key: service "t": a workflow needs workflow.contract',
    ]);
  });
});
