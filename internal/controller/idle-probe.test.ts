import { expect, it } from 'vitest';
import { EMPTY_RUNTIME_CONFIG } from '../runtime/runtime-config.ts';
import type { ScriptedProgram, ScriptedTerminal } from '../runtime/terminal/scripted-backend.ts';
import { startOptions, TEST_SESSION, testBench } from '../runtime/terminal/testing.ts';
import { IDLE_PROBE_MS } from './drain-operation.ts';

/** Shows a line, and nothing that looks like a prompt. */
class Plain implements ScriptedProgram {
  begin(terminal: ScriptedTerminal): void {
    terminal.draw(['ready']);
  }
  key(): void {}
  paste(): void {}
}

it('one look for idleness is long enough for an agent whose prompt nobody knows', async () => {
  const bench = testBench({ program: new Plain() });
  await bench.run(
    bench.provider.start(TEST_SESSION, { ...EMPTY_RUNTIME_CONFIG, command: 'agent' }, startOptions()),
  );
  expect(await bench.run(bench.provider.waitForIdle(TEST_SESSION, IDLE_PROBE_MS))).toBe(true);
});
