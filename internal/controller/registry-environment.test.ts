import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { lastingEnvironment, readStartEnvironment, saveStartEnvironment } from './registry-environment.ts';
import { scratch } from './testing/supervising.ts';

let place: ReturnType<typeof scratch>;

beforeEach(() => {
  place = scratch();
  mkdirSync(join(place.dir, '.gc'));
});
afterEach(() => place.dispose());

it('passes on an environment without what belongs to the caller’s own session', () => {
  const passed = lastingEnvironment({
    PATH: '/bin',
    GC_HOME: 'relative/gc',
    GC_SESSION: 'tmux',
    GC_SESSION_NAME: 's-mayor',
    GC_INSTANCE_TOKEN: 'token',
    TMUX: '/tmp/tmux-1/default,1,0',
    UNSET: undefined,
  });
  expect(passed).toEqual({ PATH: '/bin', GC_SESSION: 'tmux', GC_HOME: join(process.cwd(), 'relative/gc') });
});

it('is left owner-only for the one who runs the city, and read back', async () => {
  expect(readStartEnvironment(place.dir)).toBeUndefined();
  await saveStartEnvironment(place.dir, { PATH: '/bin', API_KEY: 'k', TMUX: 'x' });
  expect(readStartEnvironment(place.dir)).toEqual({ PATH: '/bin', API_KEY: 'k' });
  const file = join(place.dir, '.gc', 'start-environment.json');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  writeFileSync(file, '{"PATH": 7, "HOME": "/h"}');
  expect(readStartEnvironment(place.dir)).toEqual({ HOME: '/h' });
  writeFileSync(file, 'broken');
  expect(readStartEnvironment(place.dir)).toBeUndefined();
});
