import { afterEach, describe, expect, it } from 'vitest';
import { GcError } from '../platform/errors.ts';
import type { Verb } from '../session/verb-table.ts';
import type { LocalCityApi } from './local-city-api.ts';
import { CityHarness, cityYaml } from './testing/city-harness.ts';

const CITY = cityYaml(['mayor'], 'daemon: { max_restarts: 0, shutdown_timeout: 1s }')
  .replace('named_sessions:', '  - { name: helper, start_command: run-helper }\nnamed_sessions:')
  .concat('  - { template: helper, mode: on_demand }\n');
const WAIT = {
  on_beads: [],
  on_sessions: [],
  for_ms: 1_000,
  mode: 'all',
  note: 'n',
  sleep: false,
  created_by: 'human',
} as const;
const PERSON = { by: 'other', from: 'human', subject: 's', body: 'b' } as const;

/** Every verb, and what else brings something up or ends it. Attaching wakes first, and then starts nothing. */
const ASKED: Readonly<
  Record<Exclude<Verb, 'attach'> | 'handoff' | 'new', (api: LocalCityApi, name: string) => Promise<unknown>>
> = {
  submit: (api, name) => api.upkeep.submit(name, { message: 'hello' }),
  nudge: (api, name) => api.nudge(name, { text: 'hello', wait_idle_ms: 0, delivery: 'immediate' }),
  peek: (api, name) => api.peek(name, 5),
  logs: (api, name) => api.session(name),
  wake: (api, name) => api.wake(name),
  suspend: (api, name) => api.suspend(name),
  pin: (api, name) => api.upkeep.pin(name),
  unpin: (api, name) => api.upkeep.unpin(name),
  reset: (api, name) => api.upkeep.reset(name),
  kill: (api, name) => api.kill(name),
  drain: (api, name) => api.drain(name),
  undrain: (api, name) => api.undrain(name),
  'drain-ack': (api, name) => api.acknowledgeDrain(name),
  restart: (api, name) => api.requestRestart(name),
  close: (api, name) => api.close(name),
  rename: (api, name) => api.rename(name, 'title'),
  respond: (api, name) => api.answer(name, { action: 'yes' }),
  interrupt: (api, name) => api.interrupt(name),
  prune: (api) => api.upkeep.prune({ before_ms: 1 }),
  wait: (api, name) => api.waits.register(name, WAIT),
  handoff: (api, name) => api.handoff(name, PERSON),
  new: (api) => api.newSession({ template: 'helper' }),
};

/** What the session is when the look tells nothing. */
const SCENES: Readonly<Record<string, (h: CityHarness) => Promise<string>>> = {
  'one that runs': async () => 'mayor',
  'one that never was': async () => 'helper',
  'one that is held': async (h) => {
    await h.settled(h.api.suspend('mayor'));
    return 'mayor';
  },
  'one that is being ended': async (h) => {
    const record = (await h.records()).find(({ sessionName }) => sessionName === 'mayor');
    await h.city.store.apply(record?.id ?? '', { stop_intent: 'killed by a person' });
    return 'mayor';
  },
};

const codeOf = (error: unknown): string => (error instanceof GcError ? error.code : String(error));

let h: CityHarness;
afterEach(() => h.end());

/** What reached the provider so far that changes what runs. */
const effects = (): readonly number[] =>
  (['Start', 'ContinueStart', 'Stop', 'Interrupt'] as const).map((method) => h.provider.log.count(method));

const isVerb = (word: string): word is keyof typeof ASKED => word in ASKED;

describe('without a controller, on a look that tells nothing', () => {
  it.each(Object.entries(SCENES))('no verb starts or ends %s', async (_, scene) => {
    h = new CityHarness(CITY);
    await h.up();
    await h.running(1);
    const name = await scene(h);
    await h.down();
    const api = await h.visitor();
    h.provider.unknownSurveys = Number.POSITIVE_INFINITY;
    const before = effects();
    const refused: string[] = [];
    for (const verb of Object.keys(ASKED).filter(isVerb)) {
      const code = await h.settled(ASKED[verb](api, name).then(() => '', codeOf));
      if (code === 'runtime-unknown') refused.push(verb);
      expect(effects(), verb).toEqual(before);
    }
    expect(refused).toEqual(expect.arrayContaining(['wake', 'new']));
  });
});
