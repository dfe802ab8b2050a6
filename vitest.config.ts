import { defineConfig } from 'vitest/config';

/**
 * Real agent programs, and what takes long and is told by little else: these run with `npm run test:whole`, and in CI, and
 * not beside all the others, whose time they would double on a small machine.
 */
const WITH_WHOLE_SUITES = [
  'conformance/provider/acp-opencode.test.ts',
  'conformance/provider/exec-minimal.test.ts',
  'internal/session/turn/command/real-agents.test.ts',
  'test/acp-agents.test.ts',
  'test/agent-hooks.test.ts',
  'test/claude-code.test.ts',
  'test/config-change.test.ts',
  'test/k8s-city.test.ts',
  'test/neighbours.test.ts',
  'test/reports.test.ts',
  'test/session-log.test.ts',
  'test/sessions-claude.test.ts',
  'test/upgrade.test.ts',
];
const whole = process.env['GC_SUITES'] === 'whole' || process.env['GC_CAMPAIGN'] === 'whole';

export default defineConfig({
  test: {
    include: ['internal/**/*.test.ts', 'cmd/**/*.test.ts', 'conformance/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['node_modules/**', ...(whole ? [] : WITH_WHOLE_SUITES)],
    pool: 'forks',
    maxWorkers: 2,
    maxConcurrency: 4,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
  },
});
