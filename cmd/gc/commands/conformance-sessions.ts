import {
  type CaseOutcome,
  runServiceCase,
  type ServiceCase,
  type ServiceNeed,
  type ServiceSubject,
} from '../../../conformance/sessions-service/case.ts';
import { SERVICE_CASES } from '../../../conformance/sessions-service/suite.ts';
import { writeFileAtomic } from '../../../internal/platform/atomic-file.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import { openFarService } from '../conformance/far-service.ts';
import { junitReport, junitTarget } from '../conformance/junit.ts';
import { openOwnService } from '../conformance/own-service.ts';
import type { Context } from '../context.ts';
import { onePlainLine } from '../output/plain.ts';
import { addressOf, connection } from '../sessions/server.ts';

const REPORT_MODE = 0o644;

interface ServiceReport {
  readonly name: string;
  readonly proves: string;
  readonly outcome: CaseOutcome;
  /** Milliseconds. */
  readonly took: number;
  /** Of a case that is not applicable. */
  readonly why: string;
}

interface Checked {
  readonly title: string;
  readonly subject: ServiceSubject;
  /** Why it does not offer what it does not. */
  readonly missing: ReadonlyMap<ServiceNeed, string>;
  close(): Promise<void>;
}

/** Exit code 1 when a case fails; what a server does not offer is not a failure. */
export const runConformanceSessions: CommandRun = async (context, input) => {
  const cases = casesOf(input);
  if (input.flag('list')) return printList(context, cases);
  const junit = junitTarget(context.cwd, input.text('junit'));
  const forPeople = !context.json && junit?.kind !== 'stdout';
  const checked = await openChecked(context, input);
  const reports: ServiceReport[] = [];
  try {
    if (forPeople) context.out.write(`${checked.title}\n`);
    for (const each of cases) {
      context.signal.throwIfAborted();
      const began = context.clock.monotonic();
      const outcome = await runServiceCase(each, checked.subject);
      const took = Math.round(context.clock.monotonic() - began);
      const why = outcome.kind === 'not-applicable' ? reasonOf(outcome.missing, checked.missing) : '';
      const report = { name: each.name, proves: each.proves, outcome, took, why };
      reports.push(report);
      if (forPeople) context.out.write(caseText(report));
    }
  } finally {
    await checked.close();
  }
  const xml = junitReport('agentsessions.v1', reports);
  if (junit?.kind === 'file') await writeFileAtomic(junit.file, xml, REPORT_MODE);
  const { out } = context;
  if (junit?.kind === 'stdout') out.write(xml);
  else if (context.json) out.write(dataText(checked.title, reports));
  else out.write(numbersText(reports));
  return countOf(reports, 'failed') > 0 ? 1 : 0;
};

function casesOf(input: Input): readonly ServiceCase[] {
  const only = input.text('only') ?? '';
  const cases = SERVICE_CASES.filter(({ name }) => name.toLowerCase().includes(only.toLowerCase()));
  if (cases.length > 0) return cases;
  throw new UsageError(`no case has "${only}" in its name`, 'gc conformance sessions --list');
}

function printList({ out, json }: Context, cases: readonly ServiceCase[]): number {
  const data = cases.map(({ name, needs, proves }) => ({ name, needs, proves }));
  out.write(
    json
      ? `${JSON.stringify(data, null, 2)}\n`
      : data
          .map(({ name, needs, proves }) => {
            const wants = needs.length === 0 ? '' : `  (${needs.join(', ')})`;
            return `${name}${wants}\n    ${proves}\n`;
          })
          .join(''),
  );
  return 0;
}

async function openChecked(context: Context, input: Input): Promise<Checked> {
  const { clock, cwd, signal } = context;
  const [server, registry] = [input.text('server'), input.text('registry')];
  if (server === undefined) {
    if (registry !== undefined) throw new UsageError('--registry without --server');
    const own = await openOwnService(clock, signal);
    return {
      title: 'our own server, for this run',
      subject: own.subject,
      missing: new Map(),
      close: () => own.close(),
    };
  }
  const at = addressOf(server, cwd);
  const operators = registry === undefined ? undefined : addressOf(registry, cwd);
  const far = await openFarService(at, operators, connection(context, input), signal);
  return { ...far, title: `${server}${registry === undefined ? '' : `, registry ${registry}`}` };
}

function caseText({ name, proves, outcome, took, why }: ServiceReport): string {
  const time = took < 1_000 ? `${took}ms` : `${(took / 1_000).toFixed(1)}s`;
  switch (outcome.kind) {
    case 'passed':
      return `  ✓ ${name}  ${time}\n`;
    case 'failed':
      return `  ✗ ${name}  ${time}\n      ${onePlainLine(outcome.reason)}\n      not proven: ${proves}\n`;
    case 'not-applicable':
      return `  - ${name}\n      not applicable: ${why}\n`;
  }
}

function reasonOf(missing: readonly ServiceNeed[], reasons: Checked['missing']): string {
  return missing.map((need) => reasons.get(need) ?? `needs ${need}`).join('; ');
}

const countOf = (reports: readonly ServiceReport[], kind: CaseOutcome['kind']): number =>
  reports.filter(({ outcome }) => outcome.kind === kind).length;

function numbersText(reports: readonly ServiceReport[]): string {
  const count = (kind: CaseOutcome['kind']) => countOf(reports, kind);
  return `\n${count('passed')} passed, ${count('failed')} failed, ${count('not-applicable')} not applicable\n`;
}

function dataText(server: string, reports: readonly ServiceReport[]): string {
  const count = (kind: CaseOutcome['kind']) => countOf(reports, kind);
  const cases = reports.map(({ name, proves, outcome, took, why }) => ({
    name,
    proves,
    ms: took,
    result: outcome.kind,
    ...(outcome.kind === 'failed' ? { reason: outcome.reason } : {}),
    ...(outcome.kind === 'not-applicable' ? { missing: outcome.missing, reason: why } : {}),
  }));
  const numbers = {
    passed: count('passed'),
    failed: count('failed'),
    not_applicable: count('not-applicable'),
  };
  return `${JSON.stringify({ server, ...numbers, cases }, null, 2)}\n`;
}
