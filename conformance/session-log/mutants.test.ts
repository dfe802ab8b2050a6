import { describe, expect, it } from 'vitest';
import type { LogSubject } from './case.ts';
import { SESSION_LOG_CASES } from './suite.ts';
import { MUTANTS } from './testing/mutants.ts';
import { sqliteSubject } from './testing/subjects.ts';

/** A case that waits for what a broken store never does has found it after this. */
const PATIENCE_MS = 1_500;

const caught = async (subject: LogSubject, name: string): Promise<boolean> => {
  const found = SESSION_LOG_CASES.find((c) => c.name === name);
  if (!found) throw new Error(`no case ${name}`);
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), PATIENCE_MS);
  });
  const ran = found.run(subject).then(
    () => false,
    () => true,
  );
  return Promise.race([ran, tooLong]).finally(() => clearTimeout(timer));
};

describe.concurrent('a store that is broken in one way', () => {
  for (const { name, breaks, mutate } of MUTANTS) {
    it(`is caught: ${name}`, async () => {
      const { subject, close } = await sqliteSubject();
      try {
        expect(await caught({ ...subject, ...mutate(subject) }, breaks)).toBe(true);
      } finally {
        await close();
      }
    });
  }
});
