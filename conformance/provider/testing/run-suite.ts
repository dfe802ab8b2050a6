import { execFileSync } from 'node:child_process';
import { afterAll, describe, expect, it } from 'vitest';
import type { Ability } from '../case.ts';
import { PROVIDER_CASES } from '../suite.ts';
import { runCase } from '../trial.ts';
import type { OpenSubject } from './subjects.ts';

export interface SuiteOptions {
  /** A program that the provider needs. */
  readonly program?: string;
  /** What this provider is known not to offer: cases that need it are not run, every other one is. */
  readonly lacks: readonly Ability[];
}

/** Declares one test per case of the provider contract. Cases know nothing of each other, so they run side by side. */
export function testProvider(title: string, open: () => OpenSubject, options: SuiteOptions): void {
  const available = options.program === undefined || has(options.program);
  describe.concurrent(`provider conformance: ${title}`, () => {
    let opened: OpenSubject | undefined;
    afterAll(async () => opened?.close());

    for (const test of PROVIDER_CASES) {
      if (test.needs.some((need) => options.lacks.includes(need))) continue;
      it.runIf(available)(
        `${test.name}${available ? '' : ` (skipped: ${options.program} is not installed)`}`,
        async () => {
          opened ??= open();
          const result = await runCase(test, opened.subject);
          expect(result.kind, result.kind === 'failed' ? result.reason : undefined).toBe('passed');
        },
      );
    }
  });
}

function has(program: string): boolean {
  try {
    execFileSync(program, ['-V'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
