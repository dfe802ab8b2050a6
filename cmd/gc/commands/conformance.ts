import { ABILITIES, type Ability } from '../../../conformance/provider/abilities.ts';
import type { ProviderCase, ProviderSubject } from '../../../conformance/provider/case.ts';
import { type CaseReport, type RunOptions, runSuite } from '../../../conformance/provider/run.ts';
import { PROVIDER_CASES } from '../../../conformance/provider/suite.ts';
import { writeFileAtomic } from '../../../internal/platform/atomic-file.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import { abilitiesIn, askedProvider } from '../conformance/asked-provider.ts';
import { type JunitTarget, junitTarget } from '../conformance/junit.ts';
import {
  caseLines,
  counts,
  failedLines,
  GROUP_TITLES,
  junitOf,
  type LackReasons,
  reportData,
  summaryLine,
} from '../conformance/provider-report.ts';
import { openSubject } from '../conformance/subjects.ts';
import type { Context } from '../context.ts';

/** Cases know nothing of each other, and most of their time is waiting. */
const CASES_AT_ONCE = 4;
const REPORT_MODE = 0o644;
const ENDING = 'Ending what was started ...\n';

/** Exit code 1 when a case fails; what a provider does not offer is not a failure. */
export const runConformanceProvider: CommandRun = async (context, input) => {
  const asked = askedProvider(input.arg('provider'));
  const cases = casesOf(input, asked.shown);
  if (input.flag('list')) return printList(context, cases);
  const atOnce = input.count('at-once', 1) ?? CASES_AT_ONCE;
  const junit = junitTarget(context.cwd, input.text('junit'));
  const without = abilitiesIn(input.text('without'));
  const required = abilitiesIn(input.text('requires'));
  const opened = await openSubject(asked, context);
  context.signal.addEventListener('abort', () => context.err.write(ENDING), { once: true });
  try {
    const subject = withLess(opened.subject, without);
    const lacks = { ...opened.lacks, ...Object.fromEntries(without.map((each) => [each, 'left out'])) };
    assertOffers(subject, required, lacks);
    const judge = opened.judge?.(new Set(required));
    return await runAndReport(context, { cases, subject, lacks, judge, atOnce, junit });
  } finally {
    await opened.close();
  }
};

interface Run {
  readonly cases: readonly ProviderCase[];
  readonly subject: ProviderSubject;
  readonly lacks: LackReasons;
  readonly judge: RunOptions['judge'];
  readonly atOnce: number;
  readonly junit: JunitTarget | undefined;
}

async function runAndReport(context: Context, run: Run): Promise<number> {
  const { cases, subject, lacks, judge, atOnce, junit } = run;
  const { clock, signal, out, json } = context;
  const toStdout = junit?.kind === 'stdout';
  const forPeople = !json && !toStdout;
  const began = clock.monotonic();
  let group: ProviderCase['group'] | undefined;
  const onReport = (report: CaseReport) => {
    if (!forPeople) return;
    if (report.test.group !== group) {
      group = report.test.group;
      out.write(`\n${out.style.bold(GROUP_TITLES[group])}\n`);
    }
    out.write(caseLines(report, lacks, out.style));
  };
  if (forPeople) out.write(`${subject.title}   ${cases.length} cases, in ${subject.scratch}\n`);
  const reports = await runSuite(cases, subject, {
    atOnce,
    clock,
    signal,
    onReport,
    ...(judge ? { judge } : {}),
  });
  const ms = Math.round(clock.monotonic() - began);
  if (junit) {
    const xml = junitOf(subject.title, reports, lacks);
    if (junit.kind === 'stdout') out.write(xml);
    else await writeFileAtomic(junit.file, xml, REPORT_MODE);
  }
  if (json && !toStdout)
    out.write(`${JSON.stringify(reportData(subject.title, reports, lacks, ms), null, 2)}\n`);
  else if (forPeople) out.write(`\n${summaryLine(reports, ms)}\n${failedLines(subject.title, reports)}`);
  return counts(reports).failed > 0 ? 1 : 0;
}

function withLess(subject: ProviderSubject, without: readonly Ability[]): ProviderSubject {
  if (without.length === 0) return subject;
  return { ...subject, offers: new Set([...subject.offers].filter((each) => !without.includes(each))) };
}

function assertOffers(subject: ProviderSubject, required: readonly Ability[], lacks: LackReasons): void {
  const missing = required.filter((each) => !subject.offers.has(each));
  if (missing.length === 0) return;
  const named = missing.map((each) => `${each} (${lacks[each] ?? ABILITIES[each]})`).join('; ');
  throw new GcError('not-offered', `${subject.title} does not offer ${named}`);
}

function casesOf(input: Input, provider: string): readonly ProviderCase[] {
  const only = input.text('only') ?? '';
  const cases = PROVIDER_CASES.filter(({ name }) => name.toLowerCase().includes(only.toLowerCase()));
  if (cases.length > 0) return cases;
  throw new UsageError(`no case has "${only}" in its name`, `gc conformance provider ${provider} --list`);
}

function printList(context: Context, cases: readonly ProviderCase[]): number {
  const data = cases.map(({ name, group, needs, proves }) => ({ name, group, needs, proves }));
  context.out.write(
    context.json
      ? `${JSON.stringify(data, null, 2)}\n`
      : data.map(({ name, needs, proves }) => `${name}${wants(needs)}\n    ${proves}\n`).join(''),
  );
  return 0;
}

const wants = (needs: readonly Ability[]): string => (needs.length === 0 ? '' : `  (${needs.join(', ')})`);
