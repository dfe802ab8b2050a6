import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LocalCityApi } from './local-city-api.ts';
import { CityHarness } from './testing/city-harness.ts';

/** A pack that a rig takes in under a name of its own, an agent of the city, and one name that two rigs have. */
const CITY = [
  'workspace: { name: test }',
  'agents:',
  '  - { name: mayor, start_command: run-mayor }',
  '  - { name: twin, dir: R, start_command: run-twin }',
  '  - { name: twin, dir: S, start_command: run-twin }',
  'rigs:',
  '  - { name: R, path: R, imports: { x: { source: ./packs/p } } }',
  '  - { name: S, path: S }',
  'named_sessions:',
  '  - { template: mayor, mode: always }',
  '  - { template: mayor, name: deputy, mode: always }',
  '  - { template: twin, dir: R, mode: always }',
  '  - { template: twin, dir: S, mode: always }',
  '',
].join('\n');
const PACK = [
  '[pack]',
  'name = "p"',
  'schema = 2',
  '[[agent]]',
  'name = "polecat"',
  'scope = "rig"',
  'start_command = "run-polecat"',
  '[[named_session]]',
  'template = "polecat"',
  'scope = "rig"',
  'mode = "always"',
  '',
].join('\n');

let h: CityHarness;
beforeAll(async () => {
  h = new CityHarness(CITY);
  mkdirSync(join(h.dir, 'packs', 'p'), { recursive: true });
  writeFileSync(join(h.dir, 'packs', 'p', 'pack.toml'), PACK);
  await h.up();
  await h.running(5);
});
afterAll(() => h.end());

const codeOf = async (work: Promise<unknown>) =>
  (await h.settled(
    work.then(
      () => ({}),
      (error: unknown) => error,
    ),
  )) as { code?: string; message?: string; next?: string };

/** Runtime session to all that a person may call it. */
const NAMES: readonly (readonly [session: string, names: readonly string[]])[] = [
  ['mayor', ['mayor']],
  ['deputy', ['deputy']],
  ['R--twin', ['R/twin', 'R--twin']],
  ['S--twin', ['S/twin', 'S--twin']],
  ['R--x__polecat', ['R/x.polecat', 'R--x__polecat', 'x.polecat', 'R/polecat', 'polecat']],
];

/** Every way to name a session, and what shows which one was taken. */
const PLACES: readonly (readonly [
  place: string,
  ask: (api: LocalCityApi, name: string) => Promise<string | undefined>,
])[] = [
  ['session', async (api, name) => (await api.session(name)).session_name],
  ['explain', async (api, name) => (await api.explain(name)).session.session_name],
  ['peek', (api, name) => api.peek(name, 10)],
  [
    'nudge',
    async (api, name) => {
      const before = h.provider.log.calls.length;
      await api.nudge(name, { text: 'hello', wait_idle_ms: 1_000 });
      return h.provider.log.calls.slice(before).find((call) => call.method === 'Nudge')?.name;
    },
  ],
  ['rename', async (api, name) => (await api.rename(name, 'a title')).session_name],
  ['wake', async (api, name) => (await api.wake(name)).session_name],
];

describe('NAM-06 a name means one session, whatever is done with it', () => {
  it.each(PLACES)('%s', async (_, ask) => {
    for (const [session, names] of NAMES) {
      h.provider.peekOutput.set(session, session);
      for (const name of names) expect(await h.settled(ask(h.api, name)), name).toBe(session);
    }
  });

  it('is refused everywhere alike when it may mean two', async () => {
    for (const [place, ask] of PLACES)
      expect(await codeOf(ask(h.api, 'twin')), place).toMatchObject({ code: 'ambiguous-session' });
    expect(await codeOf(h.api.setAgentSuspended('twin', true))).toMatchObject({
      code: 'ambiguous-agent',
      message: 'agent "twin" is ambiguous: R/twin, S/twin',
    });
  });

  it('is the one that the session itself is told, and that all listings print', async () => {
    const env = h.provider.log.lastStartConfig('R--x__polecat')?.env;
    expect(env).toMatchObject({
      GC_SESSION_NAME: 'R--x__polecat',
      GC_ALIAS: 'R/x.polecat',
      GC_AGENT: 'R/x.polecat',
      GC_TEMPLATE: 'R/x.polecat',
      GC_RIG: 'R',
    });
    const status = await h.settled(h.api.status());
    for (const [session, [name]] of NAMES) {
      expect(status.sessions.find((s) => s.session_name === session)?.display_name).toBe(name);
    }
    expect(status.agents.find((agent) => agent.qualified_name === 'R/x.polecat')).toMatchObject({
      running: true,
    });
    for (const template of ['R/x.polecat', 'x.polecat', 'R/polecat', 'polecat', 'R--x__polecat']) {
      const listed = await h.settled(h.api.sessions({ template }));
      expect(
        listed.map((s) => s.session_name),
        template,
      ).toEqual(['R--x__polecat']);
    }
  });
});

describe('NAM-06 a name means one agent', () => {
  const file = () => readFileSync(join(h.dir, 'city.yaml'), 'utf8');

  it.each([
    ['mayor', 'mayor'],
    ['R/twin', 'R/twin'],
    ['S--twin', 'S/twin'],
  ])('suspend and resume %s', async (name, expected) => {
    const before = file();
    await h.settled(h.api.setAgentSuspended(name, true));
    const { agents } = await h.settled(h.api.status());
    expect(agents.filter((agent) => agent.suspended).map((agent) => agent.qualified_name)).toEqual([
      expected,
    ]);
    await h.settled(h.api.setAgentSuspended(name, false));
    expect(file()).toBe(before);
  });

  it.each(['R/x.polecat', 'x.polecat', 'R/polecat', 'polecat', 'R--x__polecat'])(
    'a pack is not edited for %s: what overrides it is told, and works',
    async (name) => {
      const before = file();
      const pack = readFileSync(join(h.dir, 'packs', 'p', 'pack.toml'), 'utf8');
      await h.settled(h.api.setAgentSuspended(name, false));
      const error = await codeOf(h.api.setAgentSuspended(name, true));
      expect(error).toMatchObject({
        code: 'agent-in-pack',
        message: 'agent "R/x.polecat" is defined by a pack — use [[patches]] to override',
      });
      const [first, ...lines] = (error.next ?? '').split('\n');
      expect(first).toBe(`add to ${join(h.dir, 'city.yaml')}:`);
      expect([file(), readFileSync(join(h.dir, 'packs', 'p', 'pack.toml'), 'utf8')]).toEqual([before, pack]);
      h.writeConfig(`${CITY}${lines.map((line) => line.slice(4)).join('\n')}\n`);
      expect(await h.settled(h.api.reload())).toMatchObject({ kind: 'applied' });
      const { agents } = await h.settled(h.api.status());
      expect(agents.filter((agent) => agent.suspended).map((agent) => agent.qualified_name)).toEqual([
        'R/x.polecat',
      ]);
      h.writeConfig(CITY);
      await h.settled(h.api.reload());
    },
  );

  it('does not take one session of several for the agent', async () => {
    expect(await codeOf(h.api.setAgentSuspended('deputy', true))).toMatchObject({
      code: 'not-an-agent',
      message: '"deputy" is a session of agent "mayor"',
    });
  });
});
