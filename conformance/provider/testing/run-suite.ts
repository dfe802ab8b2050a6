import { afterAll, describe, expect, it } from 'vitest';
import { findOnPath } from '../../../internal/platform/executable.ts';
import {
  canContinueStart,
  canInteract,
  canMeasure,
  canObserve,
  canWaitForIdle,
  canWatch,
} from '../../../internal/runtime/provider.ts';
import { type Ability, ALL_ABILITIES } from '../abilities.ts';
import type { ProviderCase } from '../case.ts';
import { PROVIDER_CASES } from '../suite.ts';
import { runCase } from '../trial.ts';
import type { OpenSubject } from './subjects.ts';

export interface SuiteOptions {
  /** A program that the provider needs. */
  readonly program?: string;
  /** What this provider is known not to offer: cases that need it are not run, every other one is. */
  readonly lacks: readonly Ability[];
  /** Public reports that a case is the proof of here, by the case's name. */
  readonly reports?: Readonly<Record<string, string>>;
  /** Those that run; default: every one. */
  readonly cases?: readonly ProviderCase[];
}

/** Declares one test per case of the provider contract. Cases know nothing of each other, so they run side by side. */
export function testProvider(title: string, open: () => OpenSubject, options: SuiteOptions): void {
  const available = options.program === undefined || has(options.program);
  describe.concurrent(`provider conformance: ${title}`, () => {
    let opened: OpenSubject | undefined;
    afterAll(async () => opened?.close());

    it.runIf(available)('offers exactly what it is known to offer', () => {
      opened ??= open();
      const { subject } = opened;
      expect([...subject.offers].sort()).toEqual(
        ALL_ABILITIES.filter((each) => !options.lacks.includes(each)).sort(),
      );
      const { provider, offers } = subject;
      const methods: Partial<Record<Ability, boolean>> = {
        observe: canObserve(provider),
        watch: canWatch(provider),
        idle: canWaitForIdle(provider),
        questions: canInteract(provider),
        continues: canContinueStart(provider),
        usage: canMeasure(provider),
      };
      // A provider may have a method that its script or its double does not fill with life; never the other way round.
      expect(ALL_ABILITIES.filter((each) => offers.has(each) && methods[each] === false)).toEqual([]);
    });

    for (const test of options.cases ?? PROVIDER_CASES) {
      if (test.needs.some((need) => options.lacks.includes(need))) continue;
      it.runIf(available)(
        `${reportOf(test.name, options)}${test.name}${available ? '' : ` (skipped: ${options.program} is not installed)`}`,
        async () => {
          opened ??= open();
          const result = await runCase(test, opened.subject);
          expect(result.kind, result.kind === 'failed' ? result.reason : undefined).toBe('passed');
        },
      );
    }
  });
}

function reportOf(name: string, { reports = {} }: SuiteOptions): string {
  const report = reports[name];
  return report === undefined ? '' : `${report} `;
}

function has(program: string): boolean {
  return findOnPath(process.env['PATH'] ?? '', program) !== undefined;
}
