import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { HttpCityApi } from '../internal/api/http/city-client.ts';
import { apiSocketPath } from '../internal/controller/control-socket-client.ts';
import { systemClock } from '../internal/platform/clock.ts';
import { mainly } from './support/cities.ts';
import { until, World } from './support/program.ts';
import { type ScriptedModel, startScriptedModel } from './support/scripted-messages.ts';

const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gas-city-agents');
const TURN_LIMIT_MS = 60_000;
/** What Claude Code tells its model of a denied call. Gemini CLI forgets that it asked. */
const REJECTED = /doesn't want to proceed/;

interface Asking {
  readonly title: string;
  readonly program: string;
  /** The program's word for the tool that runs commands. */
  readonly tool: string;
  /** A provider of the city file, set to ask before each command. */
  readonly provider: string;
  env(modelUrl: string): Readonly<Record<string, string>>;
  settle(home: string): void;
}

const put = (home: string, file: string, content: object): void => {
  mkdirSync(dirname(join(home, file)), { recursive: true });
  writeFileSync(join(home, file), JSON.stringify(content));
};

const CLAUDE: Asking = {
  title: 'Claude Code',
  program: process.env['GC_TEST_CLAUDE'] ?? join(CACHE, 'claude/node_modules/.bin/claude'),
  tool: 'Bash',
  provider: `
    command: claude
    options_schema:
      - key: permission_mode
        label: Permission mode
        type: select
        default: ask
        choices: [{ value: ask, label: Ask, flag_args: [--permission-mode, default] }]
      - key: effort
        label: Effort
        type: select
        default: max
        choices: [{ value: max, label: Max, flag_args: [--effort, max] }]
    option_defaults: { permission_mode: ask }`,
  env: (url) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'sk-ant-scripted-scripted',
    IS_SANDBOX: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
  }),
  settle: (home) => put(home, '.claude.json', { hasCompletedOnboarding: true, theme: 'dark' }),
};

const GEMINI: Asking = {
  title: 'Gemini CLI',
  program: process.env['GC_TEST_GEMINI'] ?? join(CACHE, 'gemini/node_modules/.bin/gemini'),
  tool: 'Shell',
  provider: `
    command: gemini
    option_defaults: { permission_mode: default, model: gemini-2.5-pro }`,
  env: (url) => ({ GEMINI_API_KEY: 'scripted', GOOGLE_GEMINI_BASE_URL: url }),
  settle: (home) =>
    put(home, '.gemini/settings.json', {
      security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
      telemetry: { enabled: false },
      privacy: { usageStatisticsEnabled: false },
      general: { disableAutoUpdate: true, disableUpdateNag: true },
    }),
};

let world: World;
let model: ScriptedModel;
afterEach(async () => {
  await world?.dispose();
  await model?.close();
});

const cityYaml = ({ provider }: Asking, env: Readonly<Record<string, string>>): string => `
workspace: { name: asking }
session: { startup_timeout: 90s }
providers:
  asking:${provider}
agents:
  - name: coder
    provider: asking
    env: ${JSON.stringify(env)}
named_sessions: [{ template: coder, mode: always }]
`;

/** One of them on the embedded terminal: what is read from a screen is the same there. */
const RUNS = mainly('tmux').flatMap((host) =>
  (host.provider === 'tmux' ? [CLAUDE, GEMINI] : [CLAUDE]).map((agent) => ({ ...host, agent })),
);

describe.each(RUNS)('real $agent.title on $provider', ({ provider, available, agent }) => {
  const installed = existsSync(agent.program);
  const reason = installed
    ? available
      ? ''
      : ' (skipped: tmux is not installed)'
    : ` (skipped: ${agent.title} is not installed)`;

  it.runIf(installed && available)(
    `asks before it acts, is answered once, by a person or by a rule, and is told of a denial${reason}`,
    async () => {
      model = await startScriptedModel();
      world = new World(provider);
      agent.settle(world.home);
      const env = { PATH: `${dirname(agent.program)}${delimiter}${world.env['PATH']}` };
      const city = world.city('asking', { 'city.yaml': cityYaml(agent, agent.env(model.url)) });
      const started = await world.gc(['--city', city, 'start'], { env, timeoutMs: 150_000 });
      expect(started.code, started.stdout + started.stderr).toBe(0);
      const gc = (...args: string[]) => world.ok(args, { cwd: city, env, timeoutMs: 90_000 });
      const api = new HttpCityApi(apiSocketPath(city, world.env), systemClock);
      const question = (command: string) =>
        until(
          `a question about ${command}`,
          async () => (await api.questions('coder')).items.find(({ prompt }) => prompt.includes(command)),
          TURN_LIMIT_MS,
        );
      const effects = () => {
        const file = join(city, 'effect.txt');
        return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
      };
      const tell = (text: string) => gc('nudge', 'coder', text, '--wait', '60s');
      const results = (count: number) =>
        until(`result ${count}`, () => model.toolResults.length >= count, TURN_LIMIT_MS);

      /** The model has the words; where the program keeps the denied call, it has its result before them. */
      const toldOf = (denials: number, words: string) =>
        until(
          words,
          async () => {
            const isKept = model.toolResults.filter((text) => REJECTED.test(text)).length >= denials;
            const isSaid = model.turns.some(({ text }) => text.includes(words));
            return (isKept || isSaid) && (await api.peek('coder', 0)).includes(words);
          },
          TURN_LIMIT_MS,
        );

      await tell('RUN: echo first >> effect.txt');
      const first = await question('echo first');
      expect(first).toMatchObject({ tool: agent.tool, input: 'echo first >> effect.txt', source: 'screen' });
      expect(await gc('pending')).toContain(`${first.id}  coder`);
      expect(effects()).toEqual([]);
      expect(await gc('session', 'respond', first.id, 'yes')).toContain('coder was answered');
      await results(1);
      expect(effects()).toEqual(['first']);
      const late = await world.gc(['session', 'respond', first.id, 'no'], { cwd: city, env });
      expect([late.code, late.stderr]).toEqual([1, expect.stringMatching(/answered already: .*, by human/)]);

      await gc('rule', 'allow', '--tool', agent.tool, '--input', 'echo ruled >> *');
      await tell('RUN: echo ruled >> effect.txt');
      await results(2);
      expect(effects()).toEqual(['first', 'ruled']);
      expect(await gc('explain', 'coder')).toContain('rule r1 answered');

      await tell('RUN: echo denied >> effect.txt');
      const denied = await question('echo denied');
      await gc('session', 'respond', denied.id, 'no', '--text', 'leave that file alone');
      await toldOf(1, 'leave that file alone');
      expect(effects()).toEqual(['first', 'ruled']);

      await gc('rule', 'deny', '--tool', '*', '--input', '*never*');
      await tell('RUN: echo never >> effect.txt');
      await toldOf(2, 'This was not allowed:');
      expect(effects()).toEqual(['first', 'ruled']);
      expect(await gc('pending')).toBe('No agent asks anything.\n');
      await gc('stop');
    },
    300_000,
  );
});
