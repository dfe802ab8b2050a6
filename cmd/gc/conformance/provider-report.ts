import type { Ability } from '../../../conformance/provider/abilities.ts';
import type { ProviderCase } from '../../../conformance/provider/case.ts';
import type { CaseReport } from '../../../conformance/provider/run.ts';
import type { CaseResult } from '../../../conformance/provider/trial.ts';
import { onePlainLine } from '../output/plain.ts';
import type { Style } from '../output/style.ts';
import { cutTo, padTo } from '../output/width.ts';
import { type JunitCase, junitReport } from './junit.ts';

export type LackReasons = Readonly<Partial<Record<Ability, string>>>;

export const GROUP_TITLES: Readonly<Record<ProviderCase['group'], string>> = {
  lifecycle: 'start, stop, list',
  session: 'one running session',
  beyond: 'what cities rely on beyond that',
};

const NAME_COLUMNS = 42;
const REASON_COLUMNS = 400;

/** One case as lines for a person. */
export function caseLines({ test, result, ms }: CaseReport, lacks: LackReasons, style: Style): string {
  const name = padTo(test.name, NAME_COLUMNS);
  switch (result.kind) {
    case 'passed':
      return `  ${style.good('✓')} ${name} ${took(ms)}\n`;
    case 'failed':
      return `  ${style.bad('✗')} ${name} ${took(ms)}\n      ${cutTo(onePlainLine(result.reason), REASON_COLUMNS)}\n      not proven: ${test.proves}\n`;
    case 'not-applicable':
      return `  ${style.dim('-')} ${test.name}\n      not applicable: ${whyNot(result, lacks)}\n`;
  }
}

/** `78 cases: 70 passed, 1 failed, 7 not applicable   24s`. */
export function summaryLine(reports: readonly CaseReport[], ms: number): string {
  const { passed, failed, other } = counts(reports);
  return `${passed} passed, ${failed} failed, ${other} not applicable   ${took(ms)}`;
}

const NAMED = 5;

/** What failed, where no line has scrolled by yet, and how it is tried again. `''`: nothing failed. */
export function failedLines(provider: string, reports: readonly CaseReport[]): string {
  const failed = reports.filter(({ result }) => result.kind === 'failed').map(({ test }) => test.name);
  const [first] = failed;
  if (first === undefined) return '';
  const more = failed.length > NAMED ? ` and ${failed.length - NAMED} more` : '';
  const names = failed.slice(0, NAMED).join(', ');
  return `failed: ${names}${more}\n  next: gc conformance provider ${provider} --only ${first}\n`;
}

export function counts(reports: readonly CaseReport[]) {
  const of = (kind: CaseResult['kind']) => reports.filter(({ result }) => result.kind === kind).length;
  return { passed: of('passed'), failed: of('failed'), other: of('not-applicable') };
}

/** The whole run as data. */
export function reportData(provider: string, reports: readonly CaseReport[], lacks: LackReasons, ms: number) {
  const { passed, failed, other } = counts(reports);
  const cases = reports.map(({ test, result, ms: spent }) => ({
    name: test.name,
    group: test.group,
    needs: test.needs,
    proves: test.proves,
    ms: spent,
    result,
    ...(result.kind === 'not-applicable' ? { why: whyNot(result, lacks) } : {}),
  }));
  return { provider, passed, failed, not_applicable: other, ms, lacks, cases };
}

export function junitOf(provider: string, reports: readonly CaseReport[], lacks: LackReasons): string {
  const cases = reports.map(({ test, result, ms }): JunitCase => {
    const why = result.kind === 'not-applicable' ? whyNot(result, lacks) : '';
    return { name: test.name, outcome: result, took: ms, why };
  });
  return junitReport(`provider ${provider}`, cases);
}

/** `attach (there is no screen to sit down at); keys`, and what was seen where it was tried. */
function whyNot(
  { missing, seen }: Extract<CaseResult, { kind: 'not-applicable' }>,
  lacks: LackReasons,
): string {
  const reasons: Readonly<Record<string, string | undefined>> = lacks;
  const named = missing.map((each) => (reasons[each] === undefined ? each : `${each} (${reasons[each]})`));
  const tried = seen === undefined ? '' : `: ${cutTo(onePlainLine(seen), REASON_COLUMNS)}`;
  return `${named.join('; ')}${tried}`;
}

const took = (ms: number): string => (ms < 1_000 ? `${ms}ms` : `${(ms / 1_000).toFixed(1)}s`);
