import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { HttpCityApi } from './city-client.ts';
import type { CityServer } from './city-server.ts';
import { call } from './http-request.ts';
import { CityDouble } from './testing/city-double.ts';
import { memoryLog, scratch, serve } from './testing/serving.ts';
import { paths } from './wire.ts';

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

it('carries everything that is said about a message, and everything about the queue', async () => {
  const request = {
    text: 'hi',
    wait_idle_ms: 5,
    delivery: 'queue',
    id: 'nudge-1',
    sender: 'mayor',
    source: 'mail',
  } as const;
  const name = 'proj/worker 1';
  await client.nudge(name, request);
  const { items } = await client.takeNudges(name);
  expect(items).toMatchObject([{ id: 'nudge-1', fence: 3, message: 'hello' }]);
  await client.acknowledgeNudges(name, [{ id: 'nudge-1', fence: 3 }]);
  expect(await client.deliverNudges(name)).toMatchObject({ session: `s-${name}`, waiting: 0 });
  expect(await client.nudgeQueues()).toMatchObject([{ session: 'mayor' }]);
  expect(await client.nudgeQueues(name)).toMatchObject([{ session: name }]);
  expect(city.calls.map(({ method, args }) => [method, ...args])).toEqual([
    ['nudge', name, request],
    ['takeNudges', name],
    ['acknowledgeNudges', name, [{ id: 'nudge-1', fence: 3 }]],
    ['deliverNudges', name],
    ['nudgeQueues', undefined],
    ['nudgeQueues', name],
  ]);
});

it.each([
  [
    'messages',
    { message: 'hi', delivery: 'later' },
    'unknown delivery mode "later" (want immediate, wait-idle, or queue)',
  ],
  ['nudges/acknowledge', { taken: 'all' }, '"taken" must be a list'],
  ['nudges/acknowledge', { taken: [{ id: '', fence: 1 }] }, '"id" is required'],
])('refuses %s with %j', async (action, body, message) => {
  const path = paths.sessionAction('mayor', action);
  const asked = call({ socketPath, method: 'POST', path, body, timeoutMs: 5_000, clock: systemClock });
  await expect(asked).rejects.toMatchObject({ code: 'invalid-request', message });
  expect(city.calls).toEqual([]);
});
