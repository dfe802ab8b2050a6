import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { WHOLE_SUITES } from '../internal/platform/testing/campaign.ts';
import { AcpFixture } from '../internal/runtime/acp/testing/acp-fixture.ts';
import { META_CONVERSATION } from '../internal/runtime/provider.ts';
import { EMPTY_RUNTIME_CONFIG, type RuntimeConfig } from '../internal/runtime/runtime-config.ts';
import { until } from './support/program.ts';
import { CLAUDE_ACP, CODEX_ACP, GEMINI, OPENCODE, type RealAcpAgent } from './support/real-acp-agents.ts';
import { answerTo, type ScriptedModel, startScriptedModel } from './support/scripted-messages.ts';

const START_LIMIT_MS = 90_000;
const TURN_LIMIT_MS = 60_000;
const NAME = 'worker';
const PROMPT = 'You are the worker. Say hello and wait.';

let acp: AcpFixture;
let model: ScriptedModel;
let scratch: string;
afterEach(async () => {
  await acp?.dispose();
  await model?.close();
  if (scratch) rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

async function prepare(agent: RealAcpAgent): Promise<RuntimeConfig> {
  acp = new AcpFixture();
  model = await startScriptedModel();
  scratch = mkdtempSync(join(tmpdir(), 'gc-acp-'));
  const [home, workDir] = [join(scratch, 'home'), join(scratch, 'work')];
  for (const dir of [home, workDir]) mkdirSync(dir);
  const hooks = installHooks(agent, workDir);
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, ...hooks, ...agent.settle(home, model.url) };
  return { ...EMPTY_RUNTIME_CONFIG, workDir, command: agent.command, env };
}

const hookCalls = () => join(scratch, 'hook-calls');

/** The hooks that the core pack gives this program; what they call is written down. */
function installHooks(agent: RealAcpAgent, workDir: string): Record<string, string> {
  if (agent.hooks !== undefined) cpSync(agent.hooks, workDir, { recursive: true });
  const recorder = join(scratch, 'gc');
  writeFileSync(recorder, `#!/bin/sh\necho "$*" >>'${hookCalls()}'\n`, { mode: 0o755 });
  writeFileSync(hookCalls(), '');
  return { GC_BIN: recorder };
}

const start = (config: RuntimeConfig) =>
  acp.provider.start(NAME, config, { signal: AbortSignal.timeout(START_LIMIT_MS) });

/** Says it, and waits until the agent has done all that follows from it. */
async function tell(text: string, meanwhile: () => Promise<void> = async () => undefined): Promise<void> {
  const outcome = await acp.provider.nudge(NAME, [{ type: 'text', text }]);
  expect(outcome).toMatchObject({ kind: 'delivered' });
  await meanwhile();
  expect(await acp.provider.waitForIdle(NAME, TURN_LIMIT_MS)).toBe(true);
}

async function answer(action: string): Promise<void> {
  const asked = await until('a question', () => acp.provider.pending(NAME), TURN_LIMIT_MS);
  expect(asked.prompt).toMatch(/effect\.txt/);
  await acp.provider.respond(NAME, { request_id: asked.request_id, action });
}

const shows = async (text: string) => {
  expect(await acp.provider.peek(NAME, 0)).toContain(text);
};
const asked = (text: string) => model.turns.filter((turn) => turn.text.includes(text));

/** Each takes seconds to begin: beside the other tests two of them. */
const AGENTS = WHOLE_SUITES ? [OPENCODE, GEMINI, CLAUDE_ACP, CODEX_ACP] : [GEMINI, CODEX_ACP];

describe.each(AGENTS)('real $title', (agent) => {
  const reason = agent.installed ? '' : ` (skipped: ${agent.title} is not installed)`;
  it.runIf(agent.installed)(
    `takes its prompt and messages once, asks before it acts, and goes on with its conversation${reason}`,
    async () => {
      const config = await prepare(agent);
      expect(await start({ ...config, nudge: PROMPT })).toMatchObject({ kind: 'ready' });
      expect(await acp.provider.waitForIdle(NAME, TURN_LIMIT_MS)).toBe(true);
      expect(asked(PROMPT)).toHaveLength(1);

      const message = 'first line\nsecond line "quoted" é 🙂';
      await tell(message);
      expect(asked(message)).toHaveLength(1);
      await shows(answerTo(asked(message)[0]?.text ?? ''));

      const effect = join(config.workDir, 'effect.txt');
      await tell('RUN: echo done >> effect.txt', () => answer('approve'));
      expect(readFileSync(effect, 'utf8')).toBe('done\n');
      expect(model.toolResults).toHaveLength(1);

      await tell('RUN: rm effect.txt', () => answer('deny'));
      expect(existsSync(effect)).toBe(true);

      const conversation = await acp.provider.getMeta(NAME, META_CONVERSATION);
      expect(acp.provider.sleepCapability(NAME)).toBe('full');
      await acp.provider.stop(NAME);
      agent.rest(join(scratch, 'home'));
      await start({ ...config, conversation });
      expect(await acp.provider.getMeta(NAME, META_CONVERSATION)).toBe(conversation);
      const before = model.turns.length;
      await tell('and now?');
      expect(model.turns.slice(before).map((turn) => turn.whole.includes(PROMPT))).toEqual([true]);
      // A handoff ends the session: one that a program runs on every turn would end it for ever.
      expect(readFileSync(hookCalls(), 'utf8')).not.toContain('handoff');
      await acp.provider.stop(NAME);
    },
    START_LIMIT_MS * 2,
  );
});
