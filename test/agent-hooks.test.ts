import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { until, World } from './support/program.ts';
import { type ScriptedModel, startScriptedModel } from './support/scripted-messages.ts';

const CLAUDE =
  process.env['GC_TEST_CLAUDE'] ??
  join(
    process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
    'gas-city-agents/claude/node_modules/.bin/claude',
  );
const INSTALLED = existsSync(CLAUDE);
const TURN_LIMIT_MS = 60_000;
const PROMPT = 'You are mayor. The password is heliotrope.';

let world: World;
let model: ScriptedModel;
afterEach(async () => {
  await world?.dispose();
  await model?.close();
});

const CITY = `
workspace: { name: hooked, provider: claude }
session: { startup_timeout: 90s }
agents:
  - name: mayor
    env: { IS_SANDBOX: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_TELEMETRY: "1", DISABLE_AUTOUPDATER: "1" }
    work_query: "cat \\"$GC_CITY_PATH/work.json\\""
named_sessions: [{ template: mayor, mode: always }]
`;

/** What Claude Code wrote down of its conversations. */
function transcript(home: string): string {
  const projects = join(home, '.claude', 'projects');
  if (!existsSync(projects)) return '';
  return readdirSync(projects)
    .flatMap((dir) => readdirSync(join(projects, dir)).map((file) => join(projects, dir, file)))
    .filter((file) => file.endsWith('.jsonl'))
    .map((file) => readFileSync(file, 'utf8'))
    .join('');
}

describe('real Claude Code with the hooks of a city', () => {
  it.runIf(INSTALLED)(
    `is told its prompt once by its start hook, starts nothing for a silent turn, and is kept at work that waits${
      INSTALLED ? '' : ' (skipped: Claude Code is not installed)'
    }`,
    async () => {
      model = await startScriptedModel();
      world = new World('subprocess', {
        ANTHROPIC_BASE_URL: model.url,
        ANTHROPIC_API_KEY: 'sk-ant-scripted-scripted',
      });
      const env = { PATH: `${dirname(CLAUDE)}${delimiter}${world.env['PATH']}` };
      writeFileSync(
        join(world.home, '.claude.json'),
        JSON.stringify({ hasCompletedOnboarding: true, theme: 'dark' }),
      );
      const city = world.city('hooked', {
        'city.yaml': CITY,
        'agents/mayor/prompt.template.md': `${PROMPT}\n`,
        'work.json': '[]',
      });
      const started = await world.gc(['--city', city, 'start'], { env, timeoutMs: 120_000 });
      expect(started.code, started.stdout + started.stderr).toBe(0);

      const first = await until('the first turn', () => model.turns[0], TURN_LIMIT_MS);
      expect(first.text).toMatch(/^\[hooked\] mayor • \d{4}-[^\n]*$/);
      await until('the prompt', () => first.whole.includes('heliotrope'), TURN_LIMIT_MS);
      expect(first.whole.split('heliotrope')).toHaveLength(2);
      expect(readFileSync(join(city, '.runtime', 'session_id'), 'utf8').trim()).toMatch(/^\S+$/);

      const flag = join(city, '.gc', 'runtime', 'turns', 'mayor');
      expect(existsSync(flag)).toBe(false);
      writeFileSync(join(city, 'work.json'), '[{"id":"t-1","title":"paint the bridge"}]');
      const silent = await world.gc(['nudge', 'mayor', 'quiet turn'], { cwd: city, env, timeoutMs: 90_000 });
      expect(silent.code, silent.stdout + silent.stderr).toBe(0);
      await until('the silent turn', () => model.turns.length >= 2, TURN_LIMIT_MS);
      await world.ok(['nudge', 'mayor', 'another one'], { cwd: city, env, timeoutMs: 90_000 });
      await until('the next turn', () => model.turns.length >= 3, TURN_LIMIT_MS);
      expect(model.turns.map((turn) => turn.whole).join()).not.toContain('paint the bridge');

      mkdirSync(flag, { recursive: true });
      writeFileSync(join(flag, 'work'), '');
      await world.ok(['nudge', 'mayor', 'and now'], { cwd: city, env, timeoutMs: 90_000 });
      await until(
        'the reminder',
        () => model.turns.some((turn) => turn.whole.includes('paint the bridge')),
        TURN_LIMIT_MS,
      );
      await until('rest', async () => transcript(world.home).includes('paint the bridge'), TURN_LIMIT_MS);
      const told = model.turns.length;
      await world.ok(['nudge', 'mayor', 'once more'], { cwd: city, env, timeoutMs: 90_000 });
      await until('the last turn', () => model.turns.length > told, TURN_LIMIT_MS);
      expect(model.turns.length).toBe(told + 1);

      writeFileSync(join(city, 'work.json'), '[]');
      await world.ok(['nudge', 'mayor', 'done'], { cwd: city, env, timeoutMs: 90_000 });
      await until('the flag to go', () => !existsSync(flag), TURN_LIMIT_MS);
      await world.ok(['stop'], { cwd: city, env });
    },
    300_000,
  );
});
