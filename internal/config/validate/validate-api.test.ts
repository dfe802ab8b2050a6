import { describe, expect, it } from 'vitest';
import { brief, loadBad, loadOk } from '../testing/scratch-city.ts';

const city = (api: string) => ({ 'city.yaml': `api: {${api}}\nagents:\n  - {name: a, start_command: sh}\n` });

describe('where the services of a city listen', () => {
  it('is taken as it is written; nowhere unless it is', async () => {
    expect((await loadOk(city('grpc: "127.0.0.1:8080", registry: "127.0.0.1:8081"'))).api).toMatchObject({
      grpc: '127.0.0.1:8080',
      registry: '127.0.0.1:8081',
    });
    expect((await loadOk(city('grpc: "0.0.0.0:8080", token_file: token'))).api).toMatchObject({
      tokenFile: 'token',
    });
    expect((await loadOk(city('grpc: ""'))).api).not.toHaveProperty('grpc');
  });

  it.each<[string, string]>([
    ['grpc: "8080"', '1:13 bad-value: api.grpc is not an address: "8080"'],
    ['grpc: "0.0.0.0:8080"', '1:13 bad-value: api.grpc "0.0.0.0:8080" can be reached from other machines'],
    ['registry: "localhost:1"', '1:17 bad-value: api.registry "localhost:1" is not a loopback IP address'],
    [
      'grpc: "127.0.0.1:1", registry: "127.0.0.1:1"',
      '1:38 bad-value: api.registry needs another port than api.grpc (1)',
    ],
  ])('%s is refused, with its place', async (api, problem) => {
    expect(brief(await loadBad(city(api)))).toEqual([expect.stringContaining(problem)]);
  });
});
