import { existsSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { PROVIDERS } from './support/cities.ts';
import { until, World } from './support/program.ts';
import { answerTo, type ScriptedModel, startScriptedModel } from './support/scripted-messages.ts';

const CLAUDE =
  process.env['GC_TEST_CLAUDE'] ??
  join(
    process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
    'gas-city-agents/claude/node_modules/.bin/claude',
  );
const INSTALLED = existsSync(CLAUDE);
const TURN_LIMIT_MS = 60_000;

let world: World;
let model: ScriptedModel;
afterEach(async () => {
  await world?.dispose();
  await model?.close();
});

const CITY = `
workspace: { name: claude-city, provider: claude }
session: { startup_timeout: 90s }
agents:
  - name: mayor
    env: { IS_SANDBOX: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_TELEMETRY: "1", DISABLE_AUTOUPDATER: "1" }
named_sessions: [{ template: mayor, mode: always }]
`;

describe.each(PROVIDERS)('real Claude Code on $provider', ({ provider, available }) => {
  const reason = INSTALLED
    ? available
      ? ''
      : ' (skipped: tmux is not installed)'
    : ' (skipped: Claude Code is not installed)';
  it.runIf(INSTALLED && available)(
    `answers its questions, takes its prompt once and every nudge whole, and its conversation can be read${reason}`,
    async () => {
      model = await startScriptedModel();
      world = new World(provider, {
        ANTHROPIC_BASE_URL: model.url,
        ANTHROPIC_API_KEY: 'sk-ant-scripted-scripted',
      });
      const env = { PATH: `${dirname(CLAUDE)}${delimiter}${world.env['PATH']}` };
      writeFileSync(
        join(world.home, '.claude.json'),
        JSON.stringify({ hasCompletedOnboarding: true, theme: 'dark' }),
      );
      const city = world.city('claude-city', {
        'city.yaml': CITY,
        'agents/mayor/prompt.template.md': 'You are {{.AgentName}}. Say hello and wait.\n',
      });
      const started = await world.gc(['--city', city, 'start'], { env, timeoutMs: 120_000 });
      expect(started.code, started.stdout + started.stderr).toBe(0);
      const status = await world.status(city);
      expect(status.sessions[0]).toMatchObject({ display_name: 'mayor', restarts: 0 });
      expect(JSON.stringify(status.sessions[0])).toMatch(/trust.*key|key.*trust/);

      const first = await until('the first turn', () => model.turns[0], TURN_LIMIT_MS);
      expect(first.text).toMatch(/^\[claude-city\] mayor • \d{4}-/);
      expect(first.whole.split('You are mayor. Say hello and wait.')).toHaveLength(2);

      const bodies = [
        'one line',
        'first line\nsecond line\nthird line',
        `start ${'0123456789'.repeat(2_000)} end`,
      ];
      for (const [index, body] of bodies.entries()) {
        const nudged = await world.gc(['nudge', 'mayor', '-'], {
          cwd: city,
          env,
          input: body,
          timeoutMs: 90_000,
        });
        expect(nudged.code, nudged.stdout + nudged.stderr).toBe(0);
        await until(`turn ${index + 2}`, () => model.turns.length >= index + 2, TURN_LIMIT_MS);
        const expected = answerTo(model.turns[index + 1]?.text ?? '');
        await until(
          'the answer',
          async () => (await world.ok(['session', 'peek', 'mayor'], { cwd: city })).includes(expected),
          TURN_LIMIT_MS,
        );
      }
      expect(model.turns.map((t) => t.text).slice(1)).toEqual(bodies);

      const logs = await world.ok(['session', 'logs', 'mayor', '--tail', '0'], { cwd: city, env });
      expect(logs).toContain('second line');
      expect(logs).toContain(answerTo('one line'));
      await world.ok(['stop'], { cwd: city, env });
    },
    240_000,
  );
});
