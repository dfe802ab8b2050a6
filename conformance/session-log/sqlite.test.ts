import { describe, it } from 'vitest';
import { SESSION_LOG_CASES } from './suite.ts';
import { sqliteSubject } from './testing/subjects.ts';

describe('session log in SQLite', () => {
  for (const { name, run } of SESSION_LOG_CASES) {
    it(name, async () => {
      const { subject, close } = await sqliteSubject();
      try {
        await run(subject);
      } finally {
        await close();
      }
    });
  }
});
