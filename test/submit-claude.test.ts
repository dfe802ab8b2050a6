import { existsSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
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
const QUIET =
  'IS_SANDBOX: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_TELEMETRY: "1", DISABLE_AUTOUPDATER: "1"';
const CITY = [
  'workspace: { name: submit, provider: claude }',
  'session: { startup_timeout: 90s }',
  'agents:',
  `  - { name: mayor, env: { ${QUIET} } }`,
  'named_sessions: [{ template: mayor, mode: always }]',
  '',
].join('\n');

let world: World;
let model: ScriptedModel;
afterEach(async () => {
  await world?.dispose();
  await model?.close();
});

it.runIf(INSTALLED)(
  `real Claude Code leaves its turn for what is submitted now, and does what follows after a turn${INSTALLED ? '' : ' (skipped: Claude Code is not installed)'}`,
  async () => {
    model = await startScriptedModel();
    world = new World('subprocess', {
      ANTHROPIC_BASE_URL: model.url,
      ANTHROPIC_API_KEY: 'sk-ant-scripted-scripted',
    });
    const env = { PATH: `${dirname(CLAUDE)}${delimiter}${world.env['PATH']}` };
    const settings = { hasCompletedOnboarding: true, theme: 'dark' };
    writeFileSync(join(world.home, '.claude.json'), JSON.stringify(settings));
    const city = world.city('submit', {
      'city.yaml': CITY,
      'agents/mayor/prompt.template.md': 'Say hello and wait.\n',
    });
    const gc = (...args: readonly string[]): Promise<string> =>
      world.ok(['--city', city, ...args], { env, timeoutMs: 120_000 });
    const shows = (text: string): Promise<boolean> =>
      until(
        `"${text}" on its screen`,
        async () => (await gc('session', 'peek', 'mayor')).includes(text),
        TURN_LIMIT_MS,
      );
    await gc('start');
    await until('the first turn', () => model.turns[0], TURN_LIMIT_MS);
    await shows(answerTo(model.turns[0]?.text ?? ''));

    expect(await gc('session', 'submit', 'mayor', 'RUN: sleep 600')).toBe('Submitted to mayor\n');
    await shows('sleep 600');
    const later = await gc('session', 'submit', 'mayor', 'after that', '--intent', 'follow_up');
    expect(later).toBe('Queued follow-up for mayor\n');
    const now = await gc('session', 'submit', 'mayor', 'stop and look here', '--intent', 'interrupt_now');
    expect(now).toBe('Interrupted and submitted to mayor\n');
    await shows(answerTo('stop and look here'));
    // At its terminal, or by its hook as a reminder of the next turn.
    const heard = () => model.turns.some(({ whole }) => whole.includes('after that'));
    await until('the follow-up', heard, TURN_LIMIT_MS);
    const [session] = (await world.status(city)).sessions;
    expect(session).toMatchObject({ display_name: 'mayor', restarts: 0 });
  },
  240_000,
);
