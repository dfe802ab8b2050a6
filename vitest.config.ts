import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['internal/**/*.test.ts', 'cmd/**/*.test.ts', 'conformance/**/*.test.ts', 'test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    maxConcurrency: 4,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
  },
});
