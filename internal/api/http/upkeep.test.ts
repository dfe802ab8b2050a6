import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Place, placeNow } from '../../controller/acting.ts';
import { systemClock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import { HttpCityApi } from './city-client.ts';
import type { CityServer } from './city-server.ts';
import { call } from './http-request.ts';
import { CityDouble } from './testing/city-double.ts';
import { memoryLog, scratch, serve } from './testing/serving.ts';

let place: ReturnType<typeof scratch>;
let socketPath: string;
let city: CityDouble;
let server: CityServer;
let client: HttpCityApi;

beforeEach(async () => {
  place = scratch();
  socketPath = join(place.dir, 'api.sock');
  city = new CityDouble('mayor', 'proj/worker 1');
  server = await serve(city, socketPath, memoryLog());
  client = new HttpCityApi(socketPath);
});
afterEach(async () => {
  await server.close();
  place.dispose();
});

const ask = async (method: 'GET' | 'POST', path: string, body?: unknown): Promise<unknown> =>
  JSON.parse(await call({ socketPath, method, path, body, timeoutMs: 5_000, clock: systemClock }));

it('pins, unpins, resets and prunes', async () => {
  const name = 'proj/worker 1';
  for (const act of ['pin', 'unpin', 'reset'] as const) {
    expect((await client.upkeep[act](name)).display_name).toBe(name);
    expect(city.upkeep.told.at(-1)).toEqual({ what: act, target: name });
  }
  city.upkeep.pruned = [{ target: 'gc-1', name: 'old' }];
  expect(await client.upkeep.prune({ before_ms: 1_000 })).toEqual({ pruned: city.upkeep.pruned });
  expect(city.upkeep.told.at(-1)?.request).toEqual({ before_ms: 1_000 });
  expect(await client.upkeep.matching('proj/*')).toEqual([{ target: `gc-${name}`, name }]);
});

it('submits as Gas City does', async () => {
  const body = { message: 'go', intent: 'follow_up' };
  expect(await ask('POST', '/v0/session/mayor/submit', body)).toMatchObject({
    id: 'gc-mayor',
    intent: 'follow_up',
    queued: false,
    status: 'accepted',
  });
  const request = { message: 'now', intent: 'interrupt_now', id: 'nudge-1', sender: 'amy' };
  expect(await client.upkeep.submit('mayor', request)).toEqual({
    id: 'gc-mayor',
    session: 'mayor',
    intent: 'interrupt_now',
    queued: false,
    interrupted: true,
    outcome: city.upkeep.outcome,
  });
  expect(city.upkeep.told.at(-1)?.request).toEqual(request);
});

it.each([
  ['pending-interaction', 409],
  ['invalid-intent', 400],
  ['session-missing-config', 409],
  ['no-controller', 409],
])('tells %s with status %i', async (code, status) => {
  city.upkeep.refusals.set('mayor', new GcError(code, 'no', { next: 'something' }));
  await expect(client.upkeep.submit('mayor', { message: 'x' })).rejects.toMatchObject({
    code,
    next: 'something',
  });
  const reply = await fetchStatus('/v0/session/mayor/submit', { message: 'x' });
  expect(reply).toBe(status);
});

async function fetchStatus(path: string, body: unknown): Promise<number> {
  const { request } = await import('node:http');
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path, method: 'POST' }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.once('error', reject);
    sent.end(JSON.stringify(body));
  });
}

it('scales agents whose names have a folder', async () => {
  expect(await client.upkeep.scale('proj/worker', { min: 1, max: -1 })).toMatchObject({ min: 1, max: -1 });
  expect(city.upkeep.told.at(-1)).toEqual({
    what: 'scale',
    target: 'proj/worker',
    request: { min: 1, max: -1 },
  });
  await expect(ask('POST', '/v0/agent/worker/scale', { min: 'two' })).rejects.toMatchObject({
    code: 'invalid-request',
  });
});

it('knows where a request comes from, for reading too, and forgets it', async () => {
  const seen: (Place | undefined)[] = [];
  const session = city.session.bind(city);
  city.session = (target) => {
    seen.push(placeNow());
    return session(target);
  };
  const here = { dir: '/a b/ü\ud800', rig: 'proj' };
  await new HttpCityApi(socketPath, systemClock, '', here).session('mayor');
  await client.session('mayor');
  expect(seen).toEqual([{ dir: '/a b/ü\ufffd', rig: 'proj' }, undefined]);
});
