import { resolve } from 'node:path';
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
import { junitReport } from '../conformance/junit.ts';
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
  const checked = await openChecked(context, input);
  const reports: ServiceReport[] = [];
  try {
    if (!context.json) context.out.write(`${checked.title}\n`);
    for (const each of cases) {
      context.signal.throwIfAborted();
      const began = context.clock.monotonic();
      const outcome = await runServiceCase(each, checked.subject);
      const took = Math.round(context.clock.monotonic() - began);
      const why = outcome.kind === 'not-applicable' ? reasonOf(outcome.missing, checked.missing) : '';
      const report = { name: each.name, proves: each.proves, outcome, took, why };
      reports.push(report);
      if (!context.json) context.out.write(caseText(report));
    }
  } finally {
    await checked.close();
  }
  const file = input.text('junit');
  if (file !== undefined) {
    await writeFileAtomic(resolve(context.cwd, file), junitReport('agentsessions.v1', reports), REPORT_MODE);
  }
  return conclude(context, checked.title, reports);
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

function conclude({ out, json }: Context, server: string, reports: readonly ServiceReport[]): number {
  const of = (kind: CaseOutcome['kind']) => reports.filter(({ outcome }) => outcome.kind === kind).length;
  const [passed, failed, other] = [of('passed'), of('failed'), of('not-applicable')];
  if (json) {
    const cases = reports.map(({ name, proves, outcome, took, why }) => ({
      name,
      proves,
      ms: took,
      result: outcome.kind,
      ...(outcome.kind === 'failed' ? { reason: outcome.reason } : {}),
      ...(outcome.kind === 'not-applicable' ? { missing: outcome.missing, reason: why } : {}),
    }));
    out.write(`${JSON.stringify({ server, passed, failed, not_applicable: other, cases }, null, 2)}\n`);
  } else out.write(`\n${passed} passed, ${failed} failed, ${other} not applicable\n`);
  return failed > 0 ? 1 : 0;
}
