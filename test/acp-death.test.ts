import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { AcpFixture } from '../internal/runtime/acp/testing/acp-fixture.ts';
import { until } from './support/program.ts';

const CONTROLLER = fileURLToPath(new URL('support/acp-controller.ts', import.meta.url));
const TSX = createRequire(import.meta.url).resolve('tsx');
const NAME = 'worker';

let acp: AcpFixture;
let controller: ChildProcess | undefined;
afterEach(async () => {
  controller?.kill('SIGKILL');
  await acp?.dispose();
});

/** One turn: a text in many pieces, a permission question in its middle, and what was answered. */
const TURN = [
  { say: 'alpha beta gamma delta epsilon\n', chunks: 9 },
  { ask: { title: 'touch file.txt' } },
  { say: 'zeta eta theta iota kappa\n', chunks: 9 },
];

it('a kill of the controller ends no turn: the question stays open, the text is whole, a message arrives once', async () => {
  acp = new AcpFixture();
  const config = acp.config(NAME, { prompts: [{ when: 'work', steps: TURN }] });
  const told = await startController(JSON.stringify(config));
  expect(told).toBe('told');
  const before = await until('the question', () => acp.provider.pending(NAME));

  const ended = new Promise((resolve) => controller?.once('exit', (_code, signal) => resolve(signal)));
  controller?.kill('SIGKILL');
  expect(await ended).toBe('SIGKILL');

  expect(await acp.provider.isRunning(NAME)).toBe('yes');
  const after = await acp.provider.pending(NAME);
  expect(after).toEqual(before);
  const waiting = acp.provider.nudge(NAME, [{ type: 'text', text: 'and then this' }]);
  await acp.provider.respond(NAME, { request_id: before.request_id, action: 'approve' });
  expect(await waiting).toMatchObject({ kind: 'delivered' });
  expect(await acp.provider.waitForIdle(NAME, 5_000)).toBe(true);

  expect(acp.prompts(NAME)).toEqual(['work', 'and then this']);
  const shown = await acp.provider.peek(NAME, 0);
  expect(shown).toContain('alpha beta gamma delta epsilon');
  expect(shown).toContain('{"outcome":"selected","optionId":"yes"}');
  expect(shown).toContain('zeta eta theta iota kappa');
  expect(shown.split('[permission]')).toHaveLength(2);
});

/** The first line that it prints. */
function startController(config: string): Promise<string> {
  const args = ['--import', TSX, CONTROLLER, acp.dir, NAME, config, 'work'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  controller = child;
  return new Promise((resolve, reject) => {
    child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString('utf8').trim()));
    child.once('exit', (code) => reject(new Error(`the controller ended with ${code}`)));
  });
}
