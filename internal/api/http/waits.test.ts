import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { codeOf } from '../../platform/errors.ts';
import { HttpCityApi } from './city-client.ts';
import { CityRequests } from './city-requests.ts';
import type { CityServer } from './city-server.ts';
import { CityDouble } from './testing/city-double.ts';
import { memoryLog, scratch, serve } from './testing/serving.ts';
import { aWait } from './testing/wait-double.ts';

let place: ReturnType<typeof scratch>;
let city: CityDouble;
let server: CityServer;
let socket: string;

beforeEach(async () => {
  place = scratch();
  socket = join(place.dir, 'api.sock');
  city = new CityDouble('mayor');
  server = await serve(city, socket, memoryLog());
});
afterEach(async () => {
  await server.close();
  place.dispose();
});

describe('waits through the socket', () => {
  it('arrive as they were asked for, and come back as they are', async () => {
    const client = new HttpCityApi(socket);
    const request = {
      on_beads: ['p-1', 'p-2'],
      on_sessions: ['rig/worker-1'],
      until: '2030-01-01T00:00:00Z',
      expires_in_ms: 5_000,
      mode: 'any',
      note: 'two\nlines',
      sleep: true,
      created_by: 'gc-1',
    } as const;
    const reply = await client.waits.register('rig/mayor', request);
    expect(city.waits.registered).toEqual([{ target: 'rig/mayor', request }]);
    expect(reply).toMatchObject({ sleeps: true, wait: { dep_mode: 'any', note: 'two\nlines' } });
    expect(await client.waits.list({ state: 'pending', session: 'rig/mayor' })).toEqual(city.waits.waits);
    expect(city.waits.filters).toEqual([{ state: 'pending', session: 'rig/mayor' }]);
    expect(await client.waits.inspect(reply.wait.id)).toEqual(reply.wait);
    expect(await client.waits.cancel(reply.wait.id)).toMatchObject({ state: 'canceled' });
    city.waits.waits = [aWait('gc-8', { nudge_id: 'n', state: 'closed' })];
    expect(await client.waits.ready('gc-8')).toMatchObject({ retried: 'gc-8', wait: { id: 'gc-99' } });
  });

  it('that are none are told by code and status', async () => {
    const client = new HttpCityApi(socket);
    for (const ask of [
      () => client.waits.inspect('nope'),
      () => client.waits.cancel('a/b'),
      () => client.waits.ready('nope'),
    ]) {
      const code = await ask().then(
        () => 'done',
        (error: unknown) => codeOf(error),
      );
      expect(code).toBe('wait-not-found');
    }
  });

  it.each([
    [{ on_beads: 'p-1' }, 'on_beads'],
    [{ on_beads: [1] }, 'on_beads'],
    [{ mode: 'some' }, 'mode'],
    [{ for_ms: -1 }, 'for_ms'],
    [{ expires_in_ms: 'soon' }, 'expires_in_ms'],
    [{ sleep: 'yes' }, 'sleep'],
  ])('refuses %j', async (body, field) => {
    const requests = new CityRequests(socket, systemClock, '');
    const says = await requests.post('/v0/session/mayor/wait', body, 5_000).then(String, String);
    expect(says).toContain(`"${field}" must be`);
    expect(city.waits.registered).toEqual([]);
  });
});
