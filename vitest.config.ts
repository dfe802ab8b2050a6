import { defineConfig } from 'vitest/config';
import { WHOLE_SUITES } from './internal/platform/testing/campaign.ts';

/**
 * Real agent programs, and what takes long and is told by little else: these run with `npm run test:whole`, and in CI, and
 * not beside all the others, whose time they would double on a small machine.
 */
const WITH_WHOLE_SUITES = [
  'conformance/provider/acp-opencode.test.ts',
  'conformance/provider/exec-minimal.test.ts',
  'internal/session/turn/command/real-agents.test.ts',
  'test/acceptance/agents.test.ts',
  'test/acceptance/built-words.test.ts',
  'test/acceptance/gastown.test.ts',
  'test/acceptance/imports.test.ts',
  'test/acceptance/life.test.ts',
  'test/acp-agents.test.ts',
  'test/agent-hooks.test.ts',
  'test/claude-code.test.ts',
  'test/config-change.test.ts',
  'test/example-work.test.ts',
  'test/k8s-city.test.ts',
  'test/neighbours.test.ts',
  'test/pools.test.ts',
  'test/questions.test.ts',
  'test/real-permissions.test.ts',
  'test/real-presets.test.ts',
  'test/real-waits.test.ts',
  'test/reports.test.ts',
  'test/serve.test.ts',
  'test/session-log.test.ts',
  'test/session-verbs.test.ts',
  'test/sessions-claude.test.ts',
  'test/sessions-service.test.ts',
  'test/submit-claude.test.ts',
  'test/upgrade.test.ts',
];
/** What these files run a share of with the others, they run whole with those. */
const WHOLE = ['conformance/provider/*.test.ts', 'test/quickstart.test.ts'];
const ALL = ['internal/**/*.test.ts', 'cmd/**/*.test.ts', 'conformance/**/*.test.ts', 'test/**/*.test.ts'];

export default defineConfig({
  test: {
    include: process.env['GC_SUITES'] === 'whole' ? [...WHOLE, ...WITH_WHOLE_SUITES] : ALL,
    exclude: ['node_modules/**', ...(WHOLE_SUITES ? [] : WITH_WHOLE_SUITES)],
    pool: 'forks',
    maxWorkers: 2,
    maxConcurrency: 4,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
  },
});
