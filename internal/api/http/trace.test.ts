import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HttpCityApi } from './city-client.ts';
import type { CityServer } from './city-server.ts';
import { CityDouble } from './testing/city-double.ts';
import { memoryLog, scratch, serve } from './testing/serving.ts';

let place: ReturnType<typeof scratch>;
let city: CityDouble;
let server: CityServer;
let client: HttpCityApi;

beforeEach(async () => {
  place = scratch();
  const socket = join(place.dir, 'api.sock');
  city = new CityDouble('mayor');
  server = await serve(city, socket, memoryLog());
  client = new HttpCityApi(socket);
});
afterEach(async () => {
  await server.close();
  place.dispose();
});

describe('the trace through the socket', () => {
  it('is armed, shown and ended', async () => {
    const armed = await client.trace.arm({
      template: 'mayor',
      for_ms: 60_000,
      level: 'detail',
      source: 'auto',
    });
    expect(armed).toEqual(await city.trace.status());
    expect(armed.arms).toMatchObject([
      { template: 'mayor', level: 'detail', source: 'auto', expires_at: '2026-01-01T00:01:00.000Z' },
    ]);
    expect(await client.trace.status()).toEqual(armed);
    expect((await client.trace.disarm({ template: 'mayor', all: false })).arms).toHaveLength(1);
    expect((await client.trace.disarm({ template: 'mayor', all: true })).arms).toEqual([]);
    expect(await client.trace.records({})).toEqual(city.trace.written);
    expect(await client.trace.reasons({})).toEqual(await city.trace.reasons({}));
  });

  it('hands on every field of a filter, as it is', async () => {
    const filter = {
      template: 'a/b',
      session: 'a--b',
      trace_id: 'abcd-1',
      tick: 3,
      type: 'action',
      reason: 'backing off: "x & y"?',
      since_ms: 1_700_000_000_000,
      after_seq: 0,
      limit: 5,
      last: 2,
    };
    await client.trace.records(filter);
    await client.trace.reasons(filter);
    expect(city.trace.asked).toEqual([filter, filter]);
  });

  it('refuses what it cannot read', async () => {
    const arm = (fields: object) =>
      client.trace.arm({ template: 'mayor', for_ms: 1, level: 'detail', source: 'manual', ...fields });
    await expect(arm({ template: 'nobody' })).rejects.toMatchObject({ code: 'agent-not-found' });
    await expect(arm({ template: '' })).rejects.toMatchObject({ code: 'invalid-request' });
    await expect(arm({ level: 'all' })).rejects.toMatchObject({ code: 'invalid-request' });
    await expect(arm({ source: 'me' })).rejects.toMatchObject({ code: 'invalid-request' });
    await expect(arm({ for_ms: -1 })).rejects.toMatchObject({ code: 'invalid-request' });
  });
});
